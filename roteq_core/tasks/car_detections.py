"""From maps of cells to cars: peaks, suppression that turns with the image, matching.

No torch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

CELL = 4
FARTHEST = 1.5  # cells from a peak to the center of its car
WIDTH_RATIO = 0.42  # of a car's width to its length
ROUND = 1e-9
MATCH_LENGTHS = 0.4  # how far a find may be from the center of its car
DOUBT_LENGTHS = 0.6


class Detections(NamedTuple):
    """Cars found, best first.

    Attributes
    ----------
    centers : array of shape (n, 2)
        x and y in pixels.
    lengths, angles, scores : arrays of shape (n,)
        Pixels, radians, and 0…1.
    """

    centers: np.ndarray
    lengths: np.ndarray
    angles: np.ndarray
    scores: np.ndarray

    def take(self, index: np.ndarray) -> Detections:
        """Give some of them."""
        return Detections(*(part[index] for part in self))


def detections_from_maps(
    planes: np.ndarray, *, threshold: float, overlap: float = 0.8
) -> Detections:
    """Find the peaks of a heat map, and keep the best of those that overlap.

    Parameters
    ----------
    planes : array of shape (4, h, w) or (6, h, w)
        Score, length in pixels, and the mean heading vector (u, v) for each cell of 4×4
        pixels; then the way to the center of the car, right and down in cells. Without
        it the center is that of gravity of the scores around a peak.
    threshold : float
        Least score.
    overlap : float
        Two cars closer than this share of a car, lengthwise or across, are one.
    """
    score = planes[0]
    # The plus-shaped neighborhood and its corners: the same after a quarter turn.
    peak = score >= ndimage.maximum_filter(score, size=3, mode="constant") - ROUND
    rows, columns = np.nonzero(peak & (score >= threshold))
    _, lengths, u, v, *offset = planes[:, rows, columns]
    if offset:
        right, down = (np.clip(part, -FARTHEST, FARTHEST) for part in offset)
        y, x = rows + down, columns + right
    else:
        y, x = _refined(score, rows, columns)
    centers = np.stack([x, y], 1) * CELL + (CELL - 1) / 2
    found = Detections(centers, lengths, np.arctan2(v, u), score[rows, columns])
    order = np.lexsort((centers[:, 0], centers[:, 1], -found.scores))
    return suppress(found.take(order), overlap)


def _refined(
    score: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Centers of gravity of the 3×3 cells around each peak."""
    padded = np.pad(score, 1)
    steps = (-1, 0, 1)
    window = np.stack(
        [padded[rows + 1 + i, columns + 1 + j] for i in steps for j in steps]
    )
    weight = np.square(window)
    total = weight.sum(0) + 1e-12
    down = np.repeat(steps, 3)[:, None]
    right = np.tile(steps, 3)[:, None]
    return rows + (weight * down).sum(0) / total, columns + (weight * right).sum(
        0
    ) / total


def suppress(found: Detections, overlap: float = 0.8) -> Detections:
    """Drop cars that lie on a better one; `found` is sorted, best first.

    Distance is measured in the frame of the better car, lengthwise in lengths and
    across in widths, so that the result turns with the image.
    """
    count = len(found.scores)
    if count < 2:
        return found
    tree = cKDTree(found.centers)
    kept = np.ones(count, bool)
    for i in range(count):
        if not kept[i]:
            continue
        reach = overlap * found.lengths[i]
        for j in tree.query_ball_point(found.centers[i], reach):
            if j > i and kept[j] and _overlaps(found, i, j, overlap):
                kept[j] = False
    return found.take(np.flatnonzero(kept))


def _overlaps(found: Detections, i: int, j: int, overlap: float) -> bool:
    gap = found.centers[j] - found.centers[i]
    cos, sin = np.cos(found.angles[i]), np.sin(found.angles[i])
    length = found.lengths[i]
    along = (gap[0] * cos + gap[1] * sin) / length
    across = (gap[1] * cos - gap[0] * sin) / (WIDTH_RATIO * length)
    return bool(np.hypot(along, across) < overlap)


def match_cars(
    found: Detections, cars: np.ndarray, doubtful: np.ndarray | None = None
) -> np.ndarray:
    """Tell which detections are cars: 1 yes, 0 no, -1 doubtful, (n,).

    See `matched_cars`.

    Parameters
    ----------
    found : Detections
    cars : array of shape (m, ≥ 3)
        x, y and length of the true cars.
    doubtful : array of shape (k, ≥ 3), optional
        What counts neither for nor against.
    """
    hits = (matched_cars(found.centers, cars) >= 0).astype(int)
    if doubtful is None or not len(doubtful):
        return hits
    for i in np.flatnonzero(hits == 0):
        gap = np.hypot(*(doubtful[:, :2] - found.centers[i]).T) / doubtful[:, 2]
        hits[i] = -1 if gap.min() <= DOUBT_LENGTHS else 0
    return hits


def matched_cars(centers: np.ndarray, cars: np.ndarray) -> np.ndarray:
    """Tell which car each detection is, -1 for none, (n,).

    A detection, best first, takes the nearest free car whose center is within 0.4 of
    that car's length.

    Parameters
    ----------
    centers : array of shape (n, 2)
        x and y of the detections, best first.
    cars : array of shape (m, ≥ 3)
        x, y and length of the true cars.
    """
    match = np.full(len(centers), -1)
    free = np.ones(len(cars), bool)
    for i, center in enumerate(centers):
        if not free.any():
            break
        gap = np.hypot(*(cars[:, :2] - center).T) / cars[:, 2]
        gap[~free] = np.inf
        nearest = int(np.argmin(gap))
        if gap[nearest] <= MATCH_LENGTHS:
            match[i], free[nearest] = nearest, False
    return match
