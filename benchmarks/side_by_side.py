"""Time and memory of a workload by everyone who can do it."""

from __future__ import annotations

from collections.abc import Callable

import torch

from benchmarks.measure import Effort, interleaved_minima, memory_in_fresh_process
from benchmarks.results import Results
from benchmarks.workloads import FLOORS, Workload, available

FLOOR = "floor"


def race(
    results: Results, section: str, work: Workload, size: int, effort: Effort
) -> None:
    """Time one workload at one size, and write each figure down."""
    rivals = available(work.rivals)
    torch.manual_seed(0)
    subjects = {rival: work.build(rival, size) for rival in rivals}
    for mode in ("forward", "step"):
        runs: dict[str, Callable[[], object]] = {}
        for rival, subject in subjects.items():
            if mode == "step" and subject.run_step is None:
                subject.prepare_step()
            runs[rival] = getattr(subject, mode)
        seconds = interleaved_minima(runs, effort)
        seconds[FLOOR] = min(seconds[f] for f in FLOORS if f in seconds)
        for rival, value in seconds.items():
            results.put(section, f"{work.name} {size}", rival, **{f"{mode}_s": value})


def weigh(results: Results, section: str, work: Workload, size: int) -> None:
    """Take the memory of one workload at one size, each in a process of its own."""
    for rival in available(work.rivals):
        if rival in FLOORS:
            continue
        for mode in ("forward", "step"):
            arguments = [work.name, rival, str(size), mode]
            figure = memory_in_fresh_process("benchmarks.memory", arguments)
            results.put(section, f"{work.name} {size}", rival, **{f"{mode}_mb": figure})
