"""Turn a membrane probability into cells: watershed, then joining by boundary strength.

A watershed from every minimum of the smoothed probability cuts the image into far too
many regions. They are joined in the order of the mean probability along their common
boundary, weakest first; so a membrane with a gap still parts two cells, which a
threshold on the pixels would join. All of that is done once, by `CellCutter`; a cut at
another threshold then takes a few milliseconds.
No torch.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from skimage.segmentation import watershed

from roteq_core.config import CELL_THRESHOLD
from roteq_core.membranes.fill import nearest_inside
from roteq_core.membranes.linking import iter_link_slices, link_slices
from roteq_core.membranes.region_graph import (
    join_by_strength,
    sum_boundaries,
    touching_regions,
    weakest_neighbor,
)

__all__ = ["CellCutter", "cells_from_membranes", "iter_link_slices", "link_slices"]

DEFAULT_MIN_SIZE = 50
# Half a membrane's width in the challenge's stack: gaps are bridged, cells are not.
SMOOTHING = 2.0
# Minima closer than this many pixels are one.
_SEED_WINDOW = 5


def cells_from_membranes(
    probability: np.ndarray,
    *,
    threshold: float = CELL_THRESHOLD,
    min_size: int = DEFAULT_MIN_SIZE,
    fill: bool = True,
    outside: np.ndarray | None = None,
) -> np.ndarray:
    """Cut a membrane probability into cells; see `CellCutter`.

    For a stack: ``iter_link_slices(cells_from_membranes(p) for p in stack)``.
    """
    cutter = CellCutter(probability, outside=outside)
    return cutter.labels(threshold, min_size=min_size, fill=fill)


class CellCutter:
    """Cells of one image at any threshold.

    Parameters
    ----------
    probability : float array of shape (H, W)
        Membrane probability in [0, 1].
    smoothing : float
        Standard deviation in pixels of the Gaussian before the watershed.
    outside : bool array of shape (H, W), optional
        Where there is no image: no cell is there, and none reaches another through it.

    Examples
    --------
    >>> cutter = CellCutter(probability)  # slow: about 0.2 s for 512²
    >>> cells = cutter.labels(0.4)  # fast: follows a slider
    """

    def __init__(
        self,
        probability: np.ndarray,
        *,
        smoothing: float = SMOOTHING,
        outside: np.ndarray | None = None,
    ):
        self._probability = _checked(probability)
        self._fine = oversegment(self._probability, smoothing, outside)
        self._pixels = np.bincount(self._fine.ravel())
        self._graph = touching_regions(self._fine, self._probability)
        self._joins = join_by_strength(self._pixels.size, self._graph)

    @property
    def regions(self) -> int:
        """How many regions there are before any are joined."""
        return self._pixels.size - 1

    def labels(
        self,
        threshold: float = CELL_THRESHOLD,
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
            Labels above 0, and 0 outside the image, with gaps in the numbering: a cell
            keeps its number while the threshold moves, until it joins one with a lower
            number.
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
            merged = sum_boundaries(low, high, total, length, cell.size)
            near, far = weakest_neighbor(merged, small)
            cell = _lowest_connected(cell, near, far)


def oversegment(
    probability: np.ndarray, smoothing: float, outside: np.ndarray | None = None
) -> np.ndarray:
    """Cut along every ridge: int labels (H, W) from 1; 0 outside the image."""
    if outside is None:
        outside = np.zeros(probability.shape, bool)
    inside = ~outside
    if outside.any():
        probability = nearest_inside(probability, outside)
    height = ndimage.gaussian_filter(probability, smoothing)
    height[outside] = np.inf  # so that what lies at the rim can be lowest there
    lowest = height == ndimage.minimum_filter(height, _SEED_WINDOW)
    seeds, _ = ndimage.label(lowest & inside, np.ones((3, 3)))
    labels: np.ndarray = watershed(  # type: ignore[no-untyped-call]
        height, seeds, mask=inside
    )
    return labels


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
