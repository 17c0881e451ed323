"""Where a prediction joins two cells or cuts one: the pixels that cost the most.

Scores of segmentations count cells, not pixels: one open pixel in a membrane joins two
cells. Such pixels are few, so a loss over pixels hardly sees them; here they are found,
so that it can weigh them more.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from roteq_core.tasks.membrane_targets import BESIDE, CENTER, INSIDE

# A membrane should be above, the inside of a cell below.
THRESHOLD = 0.5
# A piece of a cell counts from this many pixels on: specks at its rim are no cut.
SMALLEST_PIECE = 30
# Width in pixels of the strip along which two regions meet.
REACH = 5


def critical_pixels(probability: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Find the gaps that join true cells, and the walls that cut one.

    Parameters
    ----------
    probability : array of shape (H, W)
        Of membrane.
    classes : integer array of shape (H, W)
        The targets, see `membrane_targets`.

    Returns
    -------
    bool array of shape (H, W)
        Gaps are parts of the center line, below `THRESHOLD`, where one true cell meets
        another; walls are pixels in a true cell, above it, where two of its pieces
        would meet.
    """
    in_cell = (classes == INSIDE) | (classes == BESIDE)
    cells, _ = ndimage.label(in_cell)
    gaps = _between(~in_cell & (probability < THRESHOLD), cells) & (classes == CENTER)
    walls = in_cell & (probability > THRESHOLD)
    critical: np.ndarray = gaps | _between(walls, _large_pieces(in_cell & ~walls))
    return critical


def _between(mask: np.ndarray, regions: np.ndarray) -> np.ndarray:
    """Keep the middle of those connected parts of a mask that join numbered regions."""
    if not mask.any() or regions.max() < 2:
        return np.zeros_like(mask)
    nearest = _nearest(regions)
    parts, count = ndimage.label(mask)
    lowest, highest = (
        extreme(nearest, parts, np.arange(count + 1))
        for extreme in (ndimage.minimum, ndimage.maximum)
    )
    joins = lowest < highest
    joins[0] = False
    meeting = ndimage.maximum_filter(nearest, REACH) > ndimage.minimum_filter(
        nearest, REACH
    )
    middle: np.ndarray = joins[parts] & meeting
    return middle


def _nearest(regions: np.ndarray) -> np.ndarray:
    """Give every pixel the number of the nearest region."""
    places = ndimage.distance_transform_edt(
        regions == 0, return_distances=False, return_indices=True
    )
    nearest: np.ndarray = regions[tuple(places)]
    return nearest


def _large_pieces(mask: np.ndarray) -> np.ndarray:
    """Number the connected parts of a mask, the small ones left out."""
    pieces, _ = ndimage.label(mask)
    sizes = np.bincount(pieces.ravel())
    large: np.ndarray = np.where(sizes[pieces] >= SMALLEST_PIECE, pieces, 0)
    return large
