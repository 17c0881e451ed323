"""What was put around images, as around aligned slices, and shows nothing. No torch."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage

# Of a plane, that a fill at its border covers at least.
SMALLEST_FILL = 0.01
# Sides of the squares, all of one value, that a fill must have room for.
_SOLID = 15


def find_fill(image: np.ndarray) -> np.ndarray:
    """Find what was put around planes: one value each, in large areas at the border.

    Which value does not matter, nor whether it is a number, and each plane may have
    others. A plane of a single value is fill altogether.

    Parameters
    ----------
    image : array of shape (..., H, W)

    Returns
    -------
    bool array of shape (..., H, W)
    """
    image = np.asarray(image)
    found = np.zeros(image.shape, bool)
    for index in np.ndindex(image.shape[:-2]):
        plane = image[index]
        for value in _values_at_border(plane):
            found[index] |= _solid_at_border(_is(plane, value))
    return found


def _is(plane: np.ndarray, value: Any) -> np.ndarray:
    return np.asarray((plane == value) if value == value else np.isnan(plane))


def _values_at_border(plane: np.ndarray) -> np.ndarray:
    """Give the values that an edge has many times in a row."""
    values = []
    for edge in (plane[0], plane[-1], plane[:, 0], plane[:, -1]):
        is_nan = edge != edge
        same = (edge[1:] == edge[:-1]) | (is_nan[1:] & is_nan[:-1])
        starts = np.flatnonzero(np.concatenate([[True], ~same]))
        runs = np.diff(np.append(starts, edge.size))
        values.append(edge[starts[runs >= min(_SOLID, edge.size)]])
    return np.unique(np.concatenate(values))


def _solid_at_border(same: np.ndarray) -> np.ndarray:
    """Keep the parts that touch the border, are large, and are not thin or speckled."""
    least = SMALLEST_FILL * same.size
    if same.sum() < least:
        return np.zeros_like(same)
    parts, count = ndimage.label(same)
    sizes = np.bincount(parts.ravel(), minlength=count + 1)
    at_border = np.zeros(count + 1, bool)
    for edge in (parts[0], parts[-1], parts[:, 0], parts[:, -1]):
        at_border[edge] = True
    solid = ndimage.binary_erosion(same, np.ones((_SOLID, _SOLID)), border_value=1)
    keep = at_border & (sizes >= least)
    keep &= np.bincount(parts[solid], minlength=count + 1) > 0
    keep[0] = False
    return np.asarray(keep[parts])


def outside_of(probability: np.ndarray) -> np.ndarray | None:
    """Where a probability of `segment` says that there is no image; None if nowhere."""
    outside = probability == 0
    return outside if outside.any() else None


def nearest_inside(values: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """Go on outside an image (H, W) with its nearest pixel, as at a border."""
    if outside.all():
        return values
    places = ndimage.distance_transform_edt(
        outside, return_distances=False, return_indices=True
    )
    return np.asarray(values[tuple(places)])
