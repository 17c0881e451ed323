"""Link cells through a stack: a neuron keeps its label from slice to slice.

Slices come one by one and leave one by one, so a stack of any depth needs the memory of
a few slices.
No torch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from roteq_core.membranes.partitions import overlap_of

DEFAULT_MIN_OVERLAP = 0.3
DEFAULT_LOOK_BACK = 3


def link_slices(
    stack: np.ndarray,
    *,
    min_overlap: float = DEFAULT_MIN_OVERLAP,
    look_back: int = DEFAULT_LOOK_BACK,
    branches: bool = False,
) -> np.ndarray:
    """Link a whole stack (Z, H, W) of labels; see `iter_link_slices`."""
    stack = np.asarray(stack)
    if stack.ndim != 3:
        raise ValueError(f"a stack must have shape (Z, H, W), got {stack.shape}")
    linked = np.empty(stack.shape, np.int32)
    planes = iter_link_slices(
        stack, min_overlap=min_overlap, look_back=look_back, branches=branches
    )
    for z, plane in enumerate(planes):
        linked[z] = plane
    return linked


def iter_link_slices(
    planes: Iterable[np.ndarray],
    *,
    min_overlap: float = DEFAULT_MIN_OVERLAP,
    look_back: int = DEFAULT_LOOK_BACK,
    branches: bool = False,
    depth: int | None = None,
) -> Iterator[np.ndarray]:
    """Link slices as they come, in bounded memory.

    Cells are paired one to one with those of the slice before, the largest overlap
    first. Where cells join, the joint cell goes on with the label that it overlaps
    most; the other label rests. A cell left over takes up a label that rests, from up
    to `look_back` slices ago, if it overlaps it enough: a membrane lost in a slice
    or two does not end a neuron. Anything else is a new label.

    Parameters
    ----------
    planes : iterable of int arrays of shape (H, W)
        Labels of each slice, numbered as they like; 0 is no cell.
    min_overlap : float in (0, 1]
        Share of the smaller of two cells that must overlap.
    look_back : int
        How many slices to look back; 1 is only the slice before.
    branches : bool
        Whether a cell left over that lies within a cell of the slice before takes its
        label too. That follows branching neurons, but spreads wrong joins.
    depth : int, optional
        Slices of a stack where several follow each other, such as time points: no label
        goes on from one to the next.

    Yields
    ------
    int32 array of shape (H, W)
        Labels from 1, shared by all slices.
    """
    if not 0 < min_overlap <= 1:
        raise ValueError(f"min_overlap must lie in (0, 1], got {min_overlap}")
    if look_back < 1:
        raise ValueError(f"look_back must be at least 1, got {look_back}")
    if depth is not None and depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}")
    recent: deque[np.ndarray] = deque(maxlen=look_back)
    highest = 0
    for z, plane in enumerate(planes):
        if depth is not None and z % depth == 0:
            recent.clear()
        cells, index = np.unique(plane, return_inverse=True)
        compact = index.reshape(plane.shape) + (0 if cells[0] == 0 else 1)
        labels = np.zeros(int(compact.max()) + 1, np.int64)
        overlaps = [_share_overlaps(compact, before) for before in reversed(recent)]
        for overlap in overlaps:
            _continue_labels(labels, overlap, min_overlap)
        if branches and overlaps:
            _continue_branches(labels, overlaps[0], max(min_overlap, 0.5))
        new = np.flatnonzero(labels[1:] == 0) + 1
        labels[new] = highest + 1 + np.arange(new.size)
        highest += new.size
        linked = labels[compact].astype(np.int32)
        recent.append(linked)
        yield linked.copy()


@dataclass(frozen=True)
class _Overlaps:
    """Pairs of an earlier label and a cell, the largest overlap first: arrays (K,).

    `of_smaller` and `of_cell` are the overlap's shares of the smaller of the two and of
    the cell.
    """

    label: np.ndarray
    cell: np.ndarray
    of_smaller: np.ndarray
    of_cell: np.ndarray


def _share_overlaps(plane: np.ndarray, before: np.ndarray) -> _Overlaps:
    if plane.shape != before.shape:
        raise ValueError(
            f"slices must have the same shape, got {before.shape} then {plane.shape}"
        )
    overlap = overlap_of(plane, before)
    order = np.lexsort((overlap.predicted, overlap.truth, -overlap.pixels))
    label, cell = overlap.truth[order], overlap.predicted[order]
    pixels = overlap.pixels[order]
    cell_pixels = np.bincount(plane.ravel())[cell]
    label_pixels = np.bincount(before.ravel())[label]
    return _Overlaps(
        label=label,
        cell=cell,
        of_smaller=pixels / np.minimum(cell_pixels, label_pixels),
        of_cell=pixels / cell_pixels,
    )


def _continue_labels(
    labels: np.ndarray, overlaps: _Overlaps, min_overlap: float
) -> None:
    """Give cells without a label those of an earlier slice, one to one."""
    taken = set(labels[labels > 0].tolist())
    enough = overlaps.of_smaller >= min_overlap
    for label, cell in zip(
        overlaps.label[enough].tolist(), overlaps.cell[enough].tolist(), strict=True
    ):
        if labels[cell] == 0 and label not in taken:
            labels[cell] = label
            taken.add(label)


def _continue_branches(
    labels: np.ndarray, overlaps: _Overlaps, min_overlap: float
) -> None:
    """Give cells without a label that of the earlier cell in which they lie."""
    within = (overlaps.of_cell >= min_overlap) & (labels[overlaps.cell] == 0)
    # Backwards, so that the largest overlap is written last.
    labels[overlaps.cell[within][::-1]] = overlaps.label[within][::-1]
