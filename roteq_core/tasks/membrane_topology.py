"""Where a prediction joins two cells or cuts one: the pixels that cost the most.

Scores of segmentations count cells, not pixels: one open pixel in a membrane joins two
cells. Such pixels are few, so a loss over pixels hardly sees them; here they are found,
so that it can weigh them more.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from roteq_core.tasks.membrane_targets import BESIDE, CENTER, INSIDE

# A membrane should be above, the inside of a cell below these, with room between.
CLOSED, OPEN = 0.6, 0.4
# A piece of a cell counts from this many pixels on: specks at its rim are no cut.
SMALLEST_PIECE = 30


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
        Gaps are parts of the center line, below `CLOSED`, through which one true cell
        touches another; walls are pixels in a true cell, above `OPEN`, between two of
        its pieces.
    """
    in_cell = (classes == INSIDE) | (classes == BESIDE)
    cells, _ = ndimage.label(in_cell)
    gaps = _between(~in_cell & (probability < CLOSED), cells) & (classes == CENTER)
    walls = in_cell & (probability > OPEN)
    critical: np.ndarray = gaps | _between(walls, _large_pieces(in_cell & ~walls))
    return critical


def _between(mask: np.ndarray, regions: np.ndarray) -> np.ndarray:
    """Keep the connected parts of a mask that touch two numbered regions or more."""
    parts, count = ndimage.label(mask)
    if not count:
        return mask
    highest = ndimage.maximum_filter(regions, 3)
    no_region = regions.max() + 1
    lowest = ndimage.minimum_filter(np.where(regions > 0, regions, no_region), 3)
    index = np.arange(count + 1)
    touches_two = ndimage.maximum(highest, parts, index) > ndimage.minimum(
        lowest, parts, index
    )
    touches_two[0] = False
    kept: np.ndarray = touches_two[parts]
    return kept


def _large_pieces(mask: np.ndarray) -> np.ndarray:
    """Number the connected parts of a mask, the small ones left out."""
    pieces, _ = ndimage.label(mask)
    sizes = np.bincount(pieces.ravel())
    large: np.ndarray = np.where(sizes[pieces] >= SMALLEST_PIECE, pieces, 0)
    return large
