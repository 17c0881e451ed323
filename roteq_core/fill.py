"""What was put around images, as around aligned slices, and shows nothing. No torch."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

# Of a plane, that a fill at its border covers at least.
SMALLEST_FILL = 0.01
# Sides of the squares, all of one value, that a fill must have room for.
_SOLID = 15


def is_fill(image: np.ndarray, value: float) -> np.ndarray:
    """Find what was put around an image: one value, in large areas at its border.

    Parameters
    ----------
    image : array of shape (..., H, W)
    value : float
        Of the fill.

    Returns
    -------
    bool array of shape (..., H, W)
    """
    same = np.asarray(image, dtype=np.float32) == np.float32(value)
    found = np.zeros(same.shape, bool)
    for index in np.ndindex(same.shape[:-2]):
        found[index] = _solid_at_border(same[index])
    return found


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
    """Where a probability of `roteq_core.segment` says no image: 0; None if nowhere."""
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
