"""Thin membranes to lines of one pixel, as the ISBI 2012 challenge does to score them.

The lines turn with the image: no choice depends on the order of scanning, unless two
regions have exactly the same size.
No torch.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage


def thin_membranes(membranes: np.ndarray) -> np.ndarray:
    """Thin membranes to lines of one pixel and label the regions between them.

    The regions are the 4-connected parts outside the membranes; they grow into the
    membranes at the same speed, in 4-connected steps, until only a line is left
    where two meet. Lines that end in the middle of a region vanish. This is the
    watershed of the binary image by which the challenge thins a proposal.

    Parameters
    ----------
    membranes : bool array of shape (H, W)
        True on membranes.

    Returns
    -------
    int32 array of shape (H, W)
        Labels from 1; 0 on the lines. Without any region outside the membranes, the
        whole image is one region.
    """
    labels, count = ndimage.label(~membranes)
    if count < 2:
        return np.ones(membranes.shape, np.int32)
    distance = ndimage.distance_transform_cdt(membranes, metric="taxicab")
    rank = _rank_by_size(labels)
    grown = _grow(rank[labels], distance)
    # Of two neighbors from different regions, the one reached later is on the line; if
    # both are reached at once, it is the one of the smaller region.
    late = distance.astype(np.int64) * rank.size - grown
    line = np.zeros(membranes.shape, bool)
    for near, far in _neighbors():
        differs = grown[near] != grown[far]
        line[near] |= differs & (late[near] > late[far])
        line[far] |= differs & (late[far] > late[near])
    return np.where(line, 0, np.argsort(rank)[grown]).astype(np.int32)


def _rank_by_size(labels: np.ndarray) -> np.ndarray:
    """Give each label its rank, 1 for the smallest region; label 0 stays 0.

    Where two regions have an equal claim the larger takes the pixel: unlike the order
    of scanning, that turns with the image.
    """
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0
    rank = np.empty_like(sizes)
    rank[np.argsort(sizes, kind="stable")] = np.arange(sizes.size)
    return rank


def _grow(labels: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Spread labels over 0 in 4-connected steps, the highest label first.

    Parameters
    ----------
    labels : int array of shape (H, W)
        Labels where `distance` is 0.
    distance : int array of shape (H, W)
        Number of steps to the nearest label.
    """
    grown = np.pad(labels, 1).ravel()
    steps = np.pad(distance, 1, constant_values=-2).ravel()
    width = labels.shape[1] + 2
    pixels = np.flatnonzero(steps > 0)
    pixels = pixels[np.argsort(steps[pixels], kind="stable")]
    fronts = np.split(pixels, np.flatnonzero(np.diff(steps[pixels])) + 1)
    for step, front in enumerate(fronts):
        for shift in (-width, -1, 1, width):
            near = front + shift
            offered = np.where(steps[near] == step, grown[near], 0)
            grown[front] = np.maximum(grown[front], offered)
    return grown.reshape(labels.shape[0] + 2, width)[1:-1, 1:-1]


def _neighbors() -> tuple[tuple[tuple[slice, slice], tuple[slice, slice]], ...]:
    """Give views of an image and of its neighbor below, then to the right."""
    every, head, tail = slice(None), slice(None, -1), slice(1, None)
    return (((head, every), (tail, every)), ((every, head), (every, tail)))
