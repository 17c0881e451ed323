"""Time side by side in one process; memory in processes of their own."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
THREADS = 2


def interleaved_minima(
    runs: dict[str, Callable[[], object]], *, rounds: int = 7, budget: float = 20.0
) -> dict[str, float]:
    """Time runs in turn, round by round, and give the shortest time of each.

    What disturbs the machine for a while then disturbs all of them. A run that has used
    up its budget of seconds is left out of later rounds, but is timed at least twice.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    for name, run in runs.items():
        if _seconds(run) > budget / 4:  # long enough to need no warming up
            times[name].append(_seconds(run))
    for _ in range(rounds):
        for name, run in runs.items():
            if sum(times[name]) < budget or len(times[name]) < 2:
                times[name].append(_seconds(run))
    return {name: min(values) for name, values in times.items()}


def _seconds(run: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def peak_growth(prepare: Callable[[], Callable[[], object]]) -> float:
    """Megabytes by which resident memory grows at most while a run is done.

    `prepare` builds everything, runs once on something small, and gives the run.
    """
    run = prepare()
    gc.collect()
    _forget_peak()
    before = _status("VmRSS")
    run()
    return (_status("VmHWM") - before) / 1024


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _status(key: str) -> int:
    """Kilobytes from /proc/self/status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1])
    raise RuntimeError(f"{key} is missing from /proc/self/status")


def memory_in_fresh_processes(
    module: str, arguments: list[str], repeats: int = 2
) -> float:
    """Smallest `peak_growth` of runs `python -m MODULE ARGUMENTS`, in megabytes."""
    return min(_in_fresh_process(module, arguments) for _ in range(repeats))


def _in_fresh_process(module: str, arguments: list[str]) -> float:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        # With a fixed threshold freed blocks go back at once, and the peak is what was
        # really in use.
        env={
            **os.environ,
            "OMP_NUM_THREADS": str(THREADS),
            "MALLOC_MMAP_THRESHOLD_": "131072",
        },
    )
    if done.returncode:
        raise RuntimeError(f"{module} {arguments} failed:\n{done.stderr[-2000:]}")
    return float(json.loads(done.stdout.splitlines()[-1]))
