"""Small jobs for the tests of the worker and of what drives it."""

import os
import signal
import sys
import time

from roteq_core.jobs import Report
from roteq_core.serving.worker import inbox


def count(steps, pause=0.0):
    for step in range(steps):
        time.sleep(pause)
        yield Report(step + 1, steps, f"step {step + 1}", {"step": step})
    return steps


def count_fast(steps):
    for step in range(steps):
        yield Report(step + 1, steps)
    return steps


def count_until_stopped():
    step = 0
    try:
        while True:
            step += 1
            yield Report(step, 0)
            time.sleep(0.01)
    except GeneratorExit:
        return step


def square(plane):
    return plane * plane


def square_slowly(plane, pause=0.05):
    time.sleep(pause)
    yield Report(1, 1, "squared")
    return plane * plane


def print_a_lot():
    print("library noise" * 1000)  # noqa: T201
    os.write(1, b"noise past Python's buffers")
    print("grumble", file=sys.stderr)  # noqa: T201
    yield Report(1, 1)
    return "clean"


def read_inbox(wanted):
    messages = []
    while len(messages) < wanted:
        messages += inbox()
        yield Report(len(messages), wanted)
        time.sleep(0.01)
    return messages


def sleep_without_reports(seconds):
    yield Report(0, 1, "falling asleep")
    time.sleep(seconds)


def fail(message="tensor a (3) must match the size of tensor b (4)"):
    yield Report(0, 1)
    raise RuntimeError(message)


def reject(value):
    raise ValueError(f"value must be positive, got {value}")


def be_killed():
    yield Report(0, 1)
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(10)


def crash():
    yield Report(0, 1)
    sys.stderr.write("last words\n")
    sys.stderr.flush()
    os.abort()


def give_tensor():
    import torch

    return torch.zeros(3)


def give_function():
    return lambda: None


def describe_process():
    return {
        "pid": os.getpid(),
        "niceness": os.nice(0),
        "has_torch": "torch" in sys.modules,
        "threads": os.environ["OMP_NUM_THREADS"],
    }


def convolve(steps, size=512):
    import torch

    image = torch.randn(1, 16, size, size)
    kernels = torch.randn(32, 16, 7, 7)
    for step in range(steps):
        maps = torch.nn.functional.conv2d(image, kernels)
        yield Report(step + 1, steps, "convolving", {"maps": maps[0, 0].numpy()})
    return steps
