"""Turn a membrane probability into cells: watershed, then joining by boundary strength.

A watershed from every minimum of the smoothed probability cuts the image into far too
many regions. They are joined in the order of the mean probability along their common
boundary, weakest first; so a membrane with a gap still parts two cells, which a
threshold on the pixels would join. All of that is done once, by `CellCutter`; a cut at
another threshold then takes a few milliseconds.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from skimage.segmentation import watershed

from roteq_core.linking import iter_link_slices, link_slices

__all__ = ["CellCutter", "cells_from_membranes", "iter_link_slices", "link_slices"]

DEFAULT_THRESHOLD = 0.5
DEFAULT_MIN_SIZE = 50
# Half a membrane's width in the challenge's stack: gaps are bridged, cells are not.
_SMOOTHING = 2.0
# Minima closer than this many pixels are one.
_SEED_WINDOW = 5


def cells_from_membranes(
    probability: np.ndarray,
    *,
    threshold: float = DEFAULT_THRESHOLD,
    min_size: int = DEFAULT_MIN_SIZE,
    fill: bool = True,
) -> np.ndarray:
    """Cut a membrane probability into cells; see `CellCutter`.

    For a stack: ``iter_link_slices(cells_from_membranes(p) for p in stack)``.
    """
    return CellCutter(probability).labels(threshold, min_size=min_size, fill=fill)


class CellCutter:
    """Cells of one image at any threshold.

    Parameters
    ----------
    probability : float array of shape (H, W)
        Membrane probability in [0, 1].
    smoothing : float
        Standard deviation in pixels of the Gaussian before the watershed.

    Examples
    --------
    >>> cutter = CellCutter(probability)  # slow: about 0.2 s for 512²
    >>> cells = cutter.labels(0.4)  # fast: follows a slider
    """

    def __init__(self, probability: np.ndarray, *, smoothing: float = _SMOOTHING):
        self._probability = _checked(probability)
        self._fine = _oversegment(self._probability, smoothing)
        self._pixels = np.bincount(self._fine.ravel())
        self._graph = _touching_regions(self._fine, self._probability)
        self._joins = _join_by_strength(self._pixels.size, self._graph)

    @property
    def regions(self) -> int:
        """How many regions there are before any are joined."""
        return self._pixels.size - 1

    def labels(
        self,
        threshold: float = DEFAULT_THRESHOLD,
        *,
        min_size: int = DEFAULT_MIN_SIZE,
        fill: bool = True,
    ) -> np.ndarray:
        """Cut at a boundary strength.

        Parameters
        ----------
        threshold : float in [0, 1]
            Regions are one cell if the mean probability along their boundary is below
            it. 0 keeps every region apart.
        min_size : int
            Smaller cells join the neighbor behind their weakest boundary.
        fill : bool
            Whether the cells share out the membranes; otherwise pixels of at least
            `threshold` are 0.

        Returns
        -------
        int32 array of shape (H, W)
            Labels above 0, with gaps in the numbering: a cell keeps its number while
            the threshold moves, until it joins one with a lower number.
        """
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold must lie in [0, 1], got {threshold}")
        near, far = self._joins.pairs[self._joins.strength < threshold].T
        cell = _lowest_connected(np.arange(self._pixels.size), near, far)
        cell = self._join_small(cell, min_size)
        labels: np.ndarray = cell[self._fine].astype(np.int32)
        if not fill:
            labels[self._probability >= threshold] = 0
        return labels

    def _join_small(self, cell: np.ndarray, min_size: int) -> np.ndarray:
        """Join cells below `min_size` to their neighbors, until there are none."""
        graph = self._graph
        while True:
            pixels = np.bincount(cell, self._pixels, cell.size)
            own, other = cell[graph.pairs].T
            apart = own != other
            own, other = own[apart], other[apart]
            small = pixels < min_size
            if not np.any(small[own] | small[other]):
                return cell
            # Boundaries between the same two cells add up.
            low, high = np.minimum(own, other), np.maximum(own, other)
            total, length = graph.total[apart], graph.length[apart]
            merged = _sum_pairs(low, high, total, length, cell.size)
            near, far = _weakest_neighbor(merged, small)
            cell = _lowest_connected(cell, near, far)


@dataclass(frozen=True)
class _Graph:
    """Which regions touch: (E, 2) pairs, summed strength and length of boundaries."""

    pairs: np.ndarray
    total: np.ndarray
    length: np.ndarray


@dataclass(frozen=True)
class _Joins:
    """Which regions to join, (J, 2), and at which strength, ascending."""

    pairs: np.ndarray
    strength: np.ndarray


def _oversegment(probability: np.ndarray, smoothing: float) -> np.ndarray:
    """Cut along every ridge: int labels (H, W) from 1, no 0."""
    height = ndimage.gaussian_filter(probability, smoothing)
    lowest = height == ndimage.minimum_filter(height, _SEED_WINDOW)
    seeds, _ = ndimage.label(lowest, np.ones((3, 3)))
    labels: np.ndarray = watershed(height, seeds)  # type: ignore[no-untyped-call]
    return labels


def _touching_regions(labels: np.ndarray, probability: np.ndarray) -> _Graph:
    """Find touching regions; of two pixels at a boundary the higher counts."""
    low, high, strength = [], [], []
    for axis in (0, 1):
        first, second = labels.swapaxes(0, axis)[:-1], labels.swapaxes(0, axis)[1:]
        walls = probability.swapaxes(0, axis)
        edge = first != second
        low.append(np.minimum(first[edge], second[edge]))
        high.append(np.maximum(first[edge], second[edge]))
        strength.append(np.maximum(walls[:-1][edge], walls[1:][edge]))
    values = np.concatenate(strength).astype(float)
    return _sum_pairs(
        np.concatenate(low).astype(np.int64),
        np.concatenate(high).astype(np.int64),
        values,
        np.ones_like(values),
        int(labels.max()) + 1,
    )


def _sum_pairs(
    low: np.ndarray, high: np.ndarray, total: np.ndarray, length: np.ndarray, size: int
) -> _Graph:
    """Add up the boundaries of equal pairs."""
    codes, index = np.unique(low * size + high, return_inverse=True)
    return _Graph(
        pairs=np.stack(np.divmod(codes, size), axis=1).reshape(-1, 2),
        total=np.bincount(index, total, codes.size),
        length=np.bincount(index, length, codes.size),
    )


def _join_by_strength(size: int, graph: _Graph) -> _Joins:
    """Join the two regions of the weakest boundary, again and again.

    Boundaries to the same neighbor add up, so strengths never fall on the way.
    """
    around: list[dict[int, tuple[float, float]]] = [{} for _ in range(size)]
    edges = zip(
        graph.pairs.tolist(), graph.total.tolist(), graph.length.tolist(), strict=True
    )
    queue = []
    for (low, high), total, length in edges:
        around[low][high] = around[high][low] = (total, length)
        queue.append((total / length, low, high, length))
    heapq.heapify(queue)
    pairs, strengths = [], []
    while queue:
        strength, low, high, length = heapq.heappop(queue)
        known = around[low].get(high)
        if known is None or known[1] != length:
            continue  # joined or grown since
        pairs.append((low, high))
        strengths.append(strength)
        kept, gone = (
            (low, high) if len(around[low]) >= len(around[high]) else (high, low)
        )
        for grown, edge in _absorb(around, kept, gone):
            low, high = min(kept, grown), max(kept, grown)
            heapq.heappush(queue, (edge[0] / edge[1], low, high, edge[1]))
    return _Joins(np.array(pairs, int).reshape(-1, 2), np.array(strengths))


def _absorb(
    around: list[dict[int, tuple[float, float]]], kept: int, gone: int
) -> list[tuple[int, tuple[float, float]]]:
    """Give one region's boundaries to another; returns those that changed."""
    del around[kept][gone], around[gone][kept]
    changed = []
    for neighbor, (total, length) in around[gone].items():
        del around[neighbor][gone]
        old_total, old_length = around[kept].get(neighbor, (0.0, 0.0))
        edge = (total + old_total, length + old_length)
        around[kept][neighbor] = around[neighbor][kept] = edge
        changed.append((neighbor, edge))
    around[gone] = {}
    return changed


def _weakest_neighbor(
    graph: _Graph, small: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Give each small cell and the neighbor behind its weakest boundary."""
    own = np.concatenate([graph.pairs[:, 0], graph.pairs[:, 1]])
    other = np.concatenate([graph.pairs[:, 1], graph.pairs[:, 0]])
    strength = np.tile(graph.total / graph.length, 2)
    order = np.lexsort((other, strength, own))
    order = order[small[own[order]]]
    _, first = np.unique(own[order], return_index=True)
    return own[order][first], other[order][first]


def _lowest_connected(
    cell: np.ndarray, near: np.ndarray, far: np.ndarray
) -> np.ndarray:
    """Join cells pairwise; each group takes its lowest number.

    Parameters
    ----------
    cell : int array of shape (N,)
        Cell of each region; cells are numbered by one of their regions.
    near, far : int arrays of shape (J,)
        Cells to join.
    """
    size = cell.size
    links = coo_array((np.ones(near.size, bool), (near, far)), (size, size))
    count, group = connected_components(links, directed=False)
    lowest = np.full(count, size)
    np.minimum.at(lowest, group, np.arange(size))
    joined: np.ndarray = lowest[group][cell]
    return joined


def _checked(probability: np.ndarray) -> np.ndarray:
    probability = np.asarray(probability)
    if probability.ndim != 2 or probability.size == 0:
        raise ValueError(
            f"a membrane probability must have shape (H, W), got {probability.shape}"
        )
    if probability.dtype.kind not in "fb":
        raise ValueError(
            "a membrane probability must be float in [0, 1], "
            f"got type {probability.dtype}"
        )
    lowest, highest = float(probability.min()), float(probability.max())
    if not (lowest >= 0 and highest <= 1):
        raise ValueError(
            f"a membrane probability must lie in [0, 1], got {lowest:g} to {highest:g}"
        )
    return probability.astype(np.float32)
