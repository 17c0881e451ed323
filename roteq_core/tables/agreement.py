"""How well two reviews of the same cars agree."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from roteq_core import angles
from roteq_core.tables.car import REJECTED, Car
from roteq_core.tables.table import CarTable, stem_of


@dataclass(frozen=True)
class Disagreement:
    """One car on which two reviewers differ.

    Parameters
    ----------
    first, second : Car, optional
        As each of them has it; None where one of them has no such car.
    difference_deg : float, optional
        Between the headings, in [0, 180]; None where one gives none.
    reason : str
        "heading", "flip", "rejected by one", "front not known to one" or "only in one".
    """

    first: Car | None
    second: Car | None
    difference_deg: float | None
    reason: str


@dataclass(frozen=True)
class Agreement:
    """How well two tables agree.

    Parameters
    ----------
    pairs : int
        Cars found in both.
    compared : int
        Pairs with a heading from both, rejected by neither.
    mean_difference_deg, median_difference_deg : float
        Of their headings' smallest angles; NaN where nothing was compared.
    flips : int
        Pairs that point opposite ways: more than 90° apart.
    disagreements : tuple of Disagreement
        Worst first.
    """

    pairs: int
    compared: int
    mean_difference_deg: float
    median_difference_deg: float
    flips: int
    disagreements: tuple[Disagreement, ...]


def compare_reviews(
    first: CarTable,
    second: CarTable,
    *,
    tolerance_deg: float = 15.0,
    max_distance: float = 20.0,
) -> Agreement:
    """Compare the headings that two reviewers gave to the same cars.

    Cars match by their id if they are also close; the rest by their centers, nearest
    pairs first, within one image.

    Parameters
    ----------
    first, second : CarTable
        The two reviews.
    tolerance_deg : float
        Headings further apart are listed as disagreements.
    max_distance : float
        In pixels, between the centers of two boxes of the same car.
    """
    matches = match_cars(first, second, max_distance=max_distance)
    pairs = [(first.cars[i], second.cars[j]) for i, j in matches.items()]
    found = [_compared(a, b, tolerance_deg) for a, b in pairs]
    gaps = [gap for gap, _ in found if gap is not None]
    listed = [
        Disagreement(a, b, gap, reason)
        for (a, b), (gap, reason) in zip(pairs, found, strict=True)
        if reason
    ]
    listed.sort(key=lambda item: -(item.difference_deg or 0.0))
    theirs = set(matches.values())
    alone = [(car, None) for i, car in enumerate(first.cars) if i not in matches]
    others = [(None, car) for j, car in enumerate(second.cars) if j not in theirs]
    listed += [Disagreement(a, b, None, "only in one") for a, b in (*alone, *others)]
    return Agreement(
        len(pairs),
        len(gaps),
        float(np.mean(gaps)) if gaps else float("nan"),
        float(np.median(gaps)) if gaps else float("nan"),
        sum(gap > 90 for gap in gaps),
        tuple(listed),
    )


def _compared(a: Car, b: Car, tolerance_deg: float) -> tuple[float | None, str]:
    if a.status == REJECTED and b.status == REJECTED:
        return None, ""
    if REJECTED in (a.status, b.status):
        return None, "rejected by one"
    one, other = a.heading_cw_from_up_deg, b.heading_cw_from_up_deg
    if one is None or other is None:
        both = one is None and other is None
        return None, "" if both else "front not known to one"
    gap = abs(float(angles.difference(one, other, 360.0)))
    if gap > 90:
        return gap, "flip"
    return gap, "heading" if gap > tolerance_deg else ""


def match_cars(
    first: CarTable, second: CarTable, *, max_distance: float
) -> dict[int, int]:
    """Pair the cars of two tables: rows of the first to rows of the second.

    Parameters
    ----------
    first, second : CarTable
        Where one of them names no images, both are taken to be of one.
    max_distance : float
        In pixels, between centers.
    """
    has_files = bool(first.files) and bool(second.files)
    here, there = (_images(table, has_files) for table in (first, second))
    row_of = {car.id: j for j, car in enumerate(second.cars) if car.id}
    matches: dict[int, int] = {}
    for i, car in enumerate(first.cars):
        j = row_of.get(car.id)
        if j is not None and here[i] == there[j]:
            other = second.cars[j]
            if math.hypot(car.cx - other.cx, car.cy - other.cy) <= max_distance:
                matches[i] = j
    taken = set(matches.values())
    for image in sorted(set(here) & set(there)):
        ours = [i for i, x in enumerate(here) if x == image and i not in matches]
        theirs = [j for j, x in enumerate(there) if x == image and j not in taken]
        matches |= _nearest_pairs(first, second, ours, theirs, max_distance)
    return dict(sorted(matches.items()))


def _images(table: CarTable, has_files: bool) -> list[str]:
    return [stem_of(car.file) if has_files else "" for car in table.cars]


def _nearest_pairs(
    first: CarTable,
    second: CarTable,
    ours: list[int],
    theirs: list[int],
    max_distance: float,
) -> dict[int, int]:
    """Pair rows by distance, the closest first; each row once."""
    if not ours or not theirs:
        return {}
    from scipy.spatial import cKDTree

    left = cKDTree([(first.cars[i].cx, first.cars[i].cy) for i in ours])
    right = cKDTree([(second.cars[j].cx, second.cars[j].cy) for j in theirs])
    near = left.sparse_distance_matrix(right, max_distance, output_type="ndarray")
    matches: dict[int, int] = {}
    taken: set[int] = set()
    for row in near[np.argsort(near["v"], kind="stable")]:
        i, j = ours[row["i"]], theirs[row["j"]]
        if i not in matches and j not in taken:
            matches[i] = j
            taken.add(j)
    return matches
