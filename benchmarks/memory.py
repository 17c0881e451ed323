"""Print the peak growth of memory of one run, in megabytes: a process for each.

python -m benchmarks.memory WORKLOAD RIVAL SIZE forward|step
python -m benchmarks.memory stack SLICES SIDE
python -m benchmarks.memory cars COUNT
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import torch

from benchmarks.measure import THREADS, peak_growth
from benchmarks.workloads import Subject, workload


def prepare(name: str, *arguments: str) -> Callable[[], object]:
    if name == "stack":
        from benchmarks import stack

        return stack.prepare_memory(*arguments)
    if name == "cars" and len(arguments) == 1:
        from benchmarks import cars

        return cars.prepare_memory(*arguments)
    return prepare_workload(name, *arguments)


def prepare_workload(
    name: str, rival: str, size: str, mode: str
) -> Callable[[], object]:
    work = workload(name)
    ready(work.build(rival, work.small), mode)()  # loads kernels, starts threads
    return ready(work.build(rival, int(size)), mode)


def ready(subject: Subject, mode: str) -> Callable[[], object]:
    if mode == "forward":
        return subject.forward
    subject.prepare_step()
    return subject.step


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    print(json.dumps(peak_growth(lambda: prepare(*sys.argv[1:]))))
