"""What is to be reached, each a ratio of two figures of one run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.side_by_side import FLOOR
from benchmarks.workloads import ESCNN_VECTOR, NAIVE, OURS, UNET

FLAT = 1.25  # largest over smallest


@dataclass(frozen=True)
class Verdict:
    what: str
    ratio: float
    limit: float

    @property
    def met(self) -> bool:
        return self.ratio <= self.limit


def verdicts(sections: dict[str, Any]) -> Iterator[Verdict]:
    """Judge whatever has been measured."""
    for figure, rival, limit in _LAYER:
        for size in ("R=16 512", "R=17 512"):
            yield from _ratio(sections, "layer", f"layer {size}", figure, rival, limit)
    for rival in (UNET, ESCNN_VECTOR):
        for figure in ("forward_s", "step_s", "forward_mb", "step_mb"):
            yield from _ratio(sections, "networks", "membranes 512", figure, rival, 0.5)
    for name, sizes in _workloads(sections, "scaling").items():
        yield from _flat(f"{name}: time per pixel over sizes", sizes, "us_per_pixel")
    for name, people in _workloads(sections, "stack").items():
        if name.startswith("memory"):
            yield from _flat(f"{name}: 30 to 300", people, "peak_mb")
        else:
            yield from _ratio(sections, "stack", name, "seconds", UNET, 0.5)
    memory = _workloads(sections, "cars").get("memory of headings", {})
    yield from _flat("memory of headings: 1000 to 10000 cars", memory, "peak_mb")


_LAYER = (
    ("forward_s", FLOOR, 1.25),
    ("forward_s", NAIVE, 0.25),
    ("step_s", FLOOR, 1.4),
    ("forward_mb", NAIVE, 1 / 5),
    ("step_mb", NAIVE, 1 / 3),
)


def _workloads(sections: dict[str, Any], section: str) -> dict[str, Any]:
    found: dict[str, Any] = sections.get(section, {}).get("workloads", {})
    return found


def _ratio(
    sections: dict[str, Any],
    section: str,
    workload: str,
    figure: str,
    rival: str,
    limit: float,
) -> Iterator[Verdict]:
    people = _workloads(sections, section).get(workload, {})
    ours, theirs = (people.get(who, {}).get(figure) for who in (OURS, rival))
    if ours is not None and theirs is not None:
        yield Verdict(f"{workload}: {figure} / {rival}", ours / theirs, limit)


def _flat(what: str, people: dict[str, Any], figure: str) -> Iterator[Verdict]:
    values = [p[figure] for p in people.values() if figure in p]
    if len(values) > 1:
        yield Verdict(what, max(values) / min(values), FLAT)
