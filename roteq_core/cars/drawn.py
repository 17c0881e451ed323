"""Drawn cars to learn headings from: those of scenes, and plain sketches."""

from __future__ import annotations

from collections.abc import Sequence

from roteq_core.jobs import Job, Report
from roteq_core.synthetic import FAMILIES, CarCrops, car_crops, car_sketches
from roteq_core.tasks.car_patches import (
    PATCH,
    CarPatches,
    join_patches,
    patches_from_crops,
)

GLARE = 0.3  # share of drawn cars from whose windscreen the sun shines back
SKETCH = "sketch"  # stands for `car_sketches` among the families
LENGTHS = (30.0, 40.0)  # pixels


def learnt_families(left_out: Sequence[str]) -> list[str]:
    """Give what is drawn to learn from: all families but some, and sketches."""
    return [name for name in (*FAMILIES, SKETCH) if name not in left_out]


def synthetic_patches(
    count: int, seed: int, families: Sequence[str], domain: str
) -> Job[CarPatches]:
    """Draw synthetic cars, the same number from each family of styles."""
    each = max(1, round(count / len(families)))
    parts = []
    for index, family in enumerate(families):
        crops = _drawn(each, 1000 * seed + index, family)  # other cars for each
        parts.append(patches_from_crops(crops, domain))
        yield Report(index + 1, len(families), f"drawing synthetic cars: {family}")
    return join_patches(parts)


def _drawn(count: int, seed: int, family: str) -> CarCrops:
    if family == SKETCH:
        return car_sketches(count, PATCH, seed=seed, car_length_px=LENGTHS)
    return car_crops(
        count, PATCH, seed=seed, car_length_px=LENGTHS, styles=family, glare=GLARE
    )
