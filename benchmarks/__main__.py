"""python -m benchmarks [layer|networks|scaling|stack|cars …] [--only time|memory]

Each section can be run alone and replaces its own figures in results.json; without a
name all are run, which takes the better part of an hour on two cores. Nothing else may
run while times are taken; memory does not mind. With `--only` the other figures stay.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch

from benchmarks import cars, stack
from benchmarks.measure import THREADS
from benchmarks.report import write_report
from benchmarks.results import HERE, Results
from benchmarks.scaling import measure_scaling
from benchmarks.side_by_side import race, weigh
from benchmarks.targets import verdicts
from benchmarks.workloads import LAYERS, NETWORKS

SECTIONS = ("layer", "networks", "scaling", "stack", "cars")


def main() -> None:
    parser = argparse.ArgumentParser("benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=str(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="tiny, only to try it")
    parser.add_argument("--only", choices=("time", "memory"), help="of layer, networks")
    options = parser.parse_args()
    if unknown := sorted(set(options.sections) - set(SECTIONS)):
        parser.error(f"sections are {SECTIONS}, got {unknown}")
    torch.set_num_threads(THREADS)
    path = HERE / "results.json"
    if options.quick:
        path = Path(tempfile.mkdtemp(prefix="roteq-bench-")) / "results.json"
    results = Results(path)
    for section in options.sections or SECTIONS:
        results.begin(section, keep=options.only is not None)
        run(section, results, quick=options.quick, only=options.only)
        for verdict in verdicts({section: results.sections[section]}):
            word = "met   " if verdict.met else "MISSED"
            print(f"{word} {verdict.what}: {verdict.ratio:.2f} ≤ {verdict.limit:.2f}")
    if not options.quick:
        write_report(results)


def run(
    section: str, results: Results, *, quick: bool, only: str | None = None
) -> None:
    """Measure one section."""
    rounds, budget = (2, 1.0) if quick else (9, 10.0)
    if section in ("layer", "networks"):
        for work in LAYERS if section == "layer" else NETWORKS:
            for size in (work.small,) if quick else work.sizes:
                if only != "memory":
                    race(results, section, work, size, rounds=rounds, budget=budget)
                if only != "time":
                    weigh(results, section, work, size)
    elif section == "scaling":
        sizes = (64, 128) if quick else (256, 512, 1024, 2048, 4096)
        measure_scaling(results, sizes, rounds=rounds, budget=budget)
    elif section == "stack":
        stack.measure_stack(results, *((2, 64) if quick else (30, 512)), rounds=2)
        stack.measure_growth(results, *(((2, 4), 64) if quick else ((30, 300), 256)))
    else:
        cars.measure_headings(results, (64, 128) if quick else (1000, 10_000), rounds=2)
        cars.measure_scene(results, 1024 if quick else 4096)


if __name__ == "__main__":
    main()
