import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from roteq_core.jobs import Report
from roteq_core.serving import worker
from roteq_core.serving.frames import read_frame, write_frame
from roteq_core.serving.worker import Control, Outcome, find_job, steer

TESTS = Path(__file__).parents[2]


class Client:
    """The shortest parent a worker can have."""

    def __init__(self, **environment):
        folders = [str(TESTS), str(TESTS.parent)]
        environment = {"PYTHONPATH": os.pathsep.join(folders)} | environment
        self.process = subprocess.Popen(
            [sys.executable, "-m", "roteq_core.serving.worker", "sample_jobs"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | environment,
        )

    def tell(self, *message):
        write_frame(self.process.stdin, message)

    def hear(self):
        return read_frame(self.process.stdout)

    def ask(self, job, *args, **kwargs):
        self.tell("run", 1, f"sample_jobs:{job}", args, kwargs)
        replies = [self.hear()]
        while replies[-1][0] == "report":
            replies.append(self.hear())
        return replies

    def close(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=10)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


@pytest.fixture(scope="module")
def shared_client():
    client = Client()
    yield client
    client.close()


@pytest.fixture
def own_client():
    client = Client()
    yield client
    if client.process.poll() is None:
        client.close()


def test_reports_come_in_order_and_then_the_result(shared_client):
    *reports, end = shared_client.ask("count", 3)
    assert [reply[2].done for reply in reports] == [1, 2, 3]
    assert end == ("done", 1, 3)


def test_a_plain_function_is_a_job_without_reports(shared_client):
    plane = np.arange(12, dtype=np.uint16).reshape(3, 4)
    ((kind, _, result),) = shared_client.ask("square", plane)
    assert kind == "done"
    np.testing.assert_array_equal(result, plane * plane)


def test_printing_does_not_disturb_the_frames(shared_client):
    assert shared_client.ask("print_a_lot")[-1] == ("done", 1, "clean")


def test_runtime_errors_come_with_type_message_and_traceback(shared_client):
    kind, _, name, message, details = shared_client.ask("fail", "broken")[-1]
    assert (kind, name, message) == ("error", "RuntimeError", "broken")
    assert "sample_jobs.py" in details


def test_the_worker_goes_on_after_an_error(shared_client):
    shared_client.ask("fail")
    assert shared_client.ask("count", 1)[-1][0] == "done"


def test_a_result_that_cannot_be_pickled_is_an_error(shared_client):
    assert shared_client.ask("give_function")[-1][0] == "error"


def test_a_module_outside_the_allowed_packages_is_refused(shared_client):
    shared_client.tell("run", 1, "os:getcwd", (), {})
    kind, _, name, message, _ = shared_client.hear()
    assert (kind, name) == ("error", "ValueError")
    assert "os:getcwd" in message


def test_stop_closes_the_job_and_brings_what_it_saved(shared_client):
    shared_client.tell("run", 7, "sample_jobs:count_until_stopped", (), {})
    shared_client.hear()
    shared_client.tell("stop", 7)
    reply = shared_client.hear()
    while reply[0] == "report":
        reply = shared_client.hear()
    assert reply[:2] == ("stopped", 7)
    assert reply[2] >= 1


def test_a_late_stop_does_not_hit_the_next_job(shared_client):
    shared_client.ask("count", 1)
    shared_client.tell("stop", 1)
    shared_client.tell("run", 2, "sample_jobs:count", (2,), {})
    assert [shared_client.hear()[0] for _ in range(3)] == ["report", "report", "done"]


def test_messages_reach_the_inbox_of_the_running_job(shared_client):
    shared_client.tell("run", 3, "sample_jobs:read_inbox", (2,), {})
    shared_client.tell("message", 3, "first")
    shared_client.tell("message", 3, np.arange(3))
    reply = shared_client.hear()
    while reply[0] == "report":
        reply = shared_client.hear()
    first, second = reply[2]
    assert first == "first"
    np.testing.assert_array_equal(second, np.arange(3))


def test_the_worker_steps_back_and_needs_no_torch(shared_client):
    (reply,) = shared_client.ask("describe_process")
    described = reply[2]
    assert described["niceness"] >= os.nice(0) + worker.NICENESS
    assert not described["has_torch"]
    assert int(described["threads"]) >= 1


def test_the_user_may_choose_the_number_of_threads():
    client = Client(OMP_NUM_THREADS="3")
    assert client.ask("describe_process")[0][2]["threads"] == "3"
    client.close()


def test_the_worker_ends_when_the_pipe_closes(own_client):
    own_client.ask("count", 1)
    assert own_client.close() == 0


def test_the_worker_ends_in_mid_job_when_its_parent_is_gone(own_client):
    own_client.tell("run", 1, "sample_jobs:sleep_without_reports", (60,), {})
    own_client.hear()
    began = time.monotonic()
    own_client.close()
    assert time.monotonic() - began < worker.GRACE_AFTER_PARENT + 3


def collect(steered):
    reports = []
    while True:
        try:
            reports.append(next(steered))
        except StopIteration as end:
            return reports, end.value


def endless():
    step = 0
    while True:
        step += 1
        yield Report(step, 0)


def test_steering_stops_after_the_report_during_which_stop_was_asked():
    control = Control()
    seen = []
    steered = steer(endless(), control)
    seen.append(next(steered))
    control.stop()
    rest, outcome = collect(steered)
    assert rest == []
    assert outcome == Outcome(None, is_stopped=True)


def test_a_job_stopped_before_it_began_never_runs():
    control = Control()
    control.stop()
    assert collect(steer(endless(), control)) == ([], Outcome(None, True))


def test_a_job_that_goes_on_reporting_after_stop_is_an_error():
    def stubborn():
        try:
            yield Report(0, 0)
        except GeneratorExit:
            yield Report(1, 0)

    control = Control()
    steered = steer(stubborn(), control)
    next(steered)
    control.stop()
    with pytest.raises(RuntimeError, match="must not yield"):
        next(steered)


def test_a_paused_job_waits_until_it_is_resumed():
    control = Control()
    seen = []
    control.pause()
    thread = threading.Thread(
        target=lambda: seen.extend(collect(steer(iter_two(), control))[0])
    )
    thread.start()
    thread.join(timeout=0.2)
    assert thread.is_alive()
    control.resume()
    thread.join(timeout=5)
    assert len(seen) == 2


def test_a_paused_job_can_be_stopped():
    control = Control()
    control.pause()
    control.stop()
    control.pause()  # too late
    assert collect(steer(endless(), control))[1].is_stopped


def iter_two():
    yield Report(1, 2)
    yield Report(2, 2)


def test_the_inbox_is_empty_outside_a_worker():
    assert worker.inbox() == []


@pytest.mark.parametrize("address", ["roteq_core.jobs", "json:loads", "", ":drain"])
def test_addresses_must_name_a_function_of_an_allowed_package(address):
    with pytest.raises(ValueError, match="module:function"):
        find_job(address, ("roteq_core",))


def test_an_address_finds_the_function():
    assert find_job("roteq_core.serving.worker:inbox", ("roteq_core",)) is worker.inbox
