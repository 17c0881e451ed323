"""Time side by side in one process; memory in processes of their own."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
THREADS = int(os.environ.get("ROTEQ_BENCH_THREADS", "2"))


# Runs that take longer than this need no warming up.
LONG = 2.0
# Runs that take longer than this are timed once.
VERY_LONG = 60.0


@dataclass(frozen=True)
class Effort:
    """How often to time a run.

    Parameters
    ----------
    rounds : int
        At most so many times.
    seconds : float
        A run that has used them up is left out of later rounds.
    least : int
        But it is timed so often, unless it takes more than a minute.
    """

    rounds: int = 5
    seconds: float = 4.0
    least: int = 2

    def is_enough(self, times: list[float]) -> bool:
        """Whether these times will do."""
        if len(times) >= self.rounds or (times and times[0] > VERY_LONG):
            return True
        return len(times) >= self.least and sum(times) >= self.seconds


def interleaved_minima(
    runs: dict[str, Callable[[], object]], effort: Effort
) -> dict[str, float]:
    """Time runs in turn, round by round, and give the shortest time of each.

    What disturbs the machine for a while then disturbs all of them.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    for name, run in runs.items():
        first = _seconds(run)
        if first > LONG:
            times[name].append(first)
    for _ in range(effort.rounds):
        for name, run in runs.items():
            if not effort.is_enough(times[name]):
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


def memory_in_fresh_process(module: str, arguments: list[str]) -> float:
    """Give `peak_growth` of a run `python -m MODULE ARGUMENTS`, in megabytes."""
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
