"""python -m benchmarks [layer|networks|scaling|stack|cars|tried …] [--only time|memory]

Each section can be run alone and replaces its own figures in results.json, which is
written at every figure; without a name all are run. Nothing else may run while times
are taken; memory does not mind. With `--only` the other figures stay. To try a section
on a busy machine: ROTEQ_BENCH_THREADS=1 python -m benchmarks SECTION --rounds 1
--into /tmp/tried.json
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import torch

from benchmarks import cars, stack, tried
from benchmarks.measure import THREADS, Effort
from benchmarks.report import write_report
from benchmarks.results import HERE, Results
from benchmarks.rivals import equivariant
from benchmarks.scaling import measure_scaling
from benchmarks.side_by_side import race, weigh
from benchmarks.targets import verdicts
from benchmarks.workloads import LAYERS, NETWORKS

SECTIONS = ("layer", "networks", "scaling", "stack", "cars", "tried")


def main() -> None:
    parser = argparse.ArgumentParser("benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=str(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="tiny, only to try it")
    parser.add_argument("--only", choices=("time", "memory"), help="of layer, networks")
    parser.add_argument("--rounds", type=int, default=5, help="time at most so often")
    parser.add_argument("--into", type=Path, help="in place of results.json")
    options = parser.parse_args()
    if unknown := sorted(set(options.sections) - set(SECTIONS)):
        parser.error(f"sections are {SECTIONS}, got {unknown}")
    if options.rounds < 1:
        parser.error(f"rounds must be at least 1, got {options.rounds}")
    if not equivariant.is_installed():
        print(
            "escnn is not installed and will be missing from the figures: "
            "pip install --no-deps -r benchmarks/requirements.txt"
        )
    torch.set_num_threads(THREADS)
    path = options.into or HERE / "results.json"
    if options.quick and options.into is None:
        path = Path(tempfile.mkdtemp(prefix="roteq-bench-")) / "results.json"
    results = Results(path)
    effort = Effort(1 if options.quick else options.rounds)
    for section in options.sections or SECTIONS:
        started = time.monotonic()
        results.begin(section, keep=options.only is not None)
        run(section, results, effort, quick=options.quick, only=options.only)
        results.end(section, minutes=(time.monotonic() - started) / 60)
        for verdict in verdicts({section: results.sections[section]}):
            word = "met   " if verdict.met else "MISSED"
            print(f"{word} {verdict.what}: {verdict.ratio:.2f} ≤ {verdict.limit:.2f}")
        write_report(results)


def run(
    section: str, results: Results, effort: Effort, *, quick: bool, only: str | None
) -> None:
    """Measure one section."""
    if section in ("layer", "networks"):
        for work in LAYERS if section == "layer" else NETWORKS:
            sizes = (work.small,) if quick else work.sizes
            for size in sizes:
                if only != "memory":
                    race(results, section, work, size, effort)
            if only != "time":
                weigh(results, section, work, sizes[-1])
    elif section == "scaling":
        sizes = (64, 128) if quick else (256, 512, 1024, 2048, 4096)
        measure_scaling(results, sizes, effort)
    elif section == "stack":
        stack.measure_stack(results, *((2, 64) if quick else (30, 512)), effort)
        stack.measure_growth(results, *(((2, 4), 64) if quick else ((30, 300), 256)))
    elif section == "cars":
        counts = (64, 128) if quick else (1000, 10_000)
        cars.measure_headings(results, counts, effort)
        cars.measure_scene(results, 1024 if quick else 4096)
    else:
        tried.measure_tried(results, 64 if quick else 512, effort)


if __name__ == "__main__":
    main()
