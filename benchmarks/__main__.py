"""Measure speed and memory beside other implementations, all in one run.

python -m benchmarks [layer] [networks] [sizes]     (all three without arguments)

Writes results.json and results.md in this folder, after each workload. Times are the
minimum of interleaved runs; memory is the peak growth of a fresh process.
"""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

import torch

from benchmarks.measure import THREADS, interleaved_minima, memory_in_fresh_processes
from benchmarks.report import as_markdown
from benchmarks.workloads import (
    LAYERS,
    NAIVE,
    NETWORKS,
    OURS,
    PAPER,
    UNET,
    Workload,
    available,
    workload,
)

HERE = Path(__file__).resolve().parent
SECTIONS = ("layer", "networks", "sizes")
MODES = ("forward", "step")
# Whose memory is compared in the targets; the others only take time.
WEIGHED = (OURS, PAPER, NAIVE, UNET, "escnn, vector")
SIDES = (256, 512, 1024, 2048, 4096)


def measure(work: Workload, size: int) -> dict[str, dict[str, float]]:
    """Seconds and megabytes of each rival, forward and forward with backward."""
    rows: dict[str, dict[str, float]] = {}
    for mode in MODES:
        subjects = {rival: work.build(rival, size) for rival in available(work.rivals)}
        runs = {rival: getattr(subject, mode) for rival, subject in subjects.items()}
        for rival, seconds in interleaved_minima(runs).items():
            rows.setdefault(rival, {})[f"{mode} s"] = seconds
        del subjects, runs
        for rival in rows:
            if rival in WEIGHED:
                rows[rival][f"{mode} MB"] = memory_in_fresh_processes(
                    "benchmarks.memory", [work.name, rival, str(size), mode]
                )
    return rows


def measure_sizes() -> dict[str, dict[str, float]]:
    """Nanoseconds per pixel of the layer, from small images to large ones."""
    work = workload("layer R=16")
    rows = {}
    for side in SIDES:
        seconds = interleaved_minima(
            {OURS: work.build(OURS, side).forward}, rounds=3, budget=30
        )[OURS]
        rows[str(side)] = {
            "forward s": seconds,
            "ns per pixel": seconds / side**2 * 1e9,
        }
    return rows


def main(sections: list[str]) -> None:
    """Measure the sections asked for; keep what other runs measured."""
    if unknown := sorted(set(sections) - set(SECTIONS)):
        raise SystemExit(f"sections are {', '.join(SECTIONS)}; got {unknown}")
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    path = HERE / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results["machine"] = {
        "processor": platform.machine(),
        "threads": THREADS,
        "torch": torch.__version__,
    }

    def keep(name: str, rows: dict[str, dict[str, float]]) -> None:
        results[name] = rows
        path.write_text(json.dumps(results, indent=1) + "\n")
        (HERE / "results.md").write_text(as_markdown(results))
        print(f"{name}: done", flush=True)

    for section in sections or SECTIONS:
        if section == "sizes":
            keep("sizes", measure_sizes())
        for work in {"layer": LAYERS, "networks": NETWORKS}.get(section, ()):
            for size in work.sizes:
                keep(f"{work.name}, {size}", measure(work, size))
    print((HERE / "results.md").read_text())


if __name__ == "__main__":
    main(sys.argv[1:])
