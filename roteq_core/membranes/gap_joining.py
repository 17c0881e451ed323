"""Join gaps in membranes: look along their direction and go on.

A membrane that fades for a few pixels joins two cells, and one such gap costs more than
a thousand pixels elsewhere. The network tells which way a membrane runs, so each pixel
can look along it to both sides: where membrane lies before and behind, it goes on.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from scipy import ndimage

from roteq_core.config import JOIN_WIDTH

# The least blur that removes the specks of single pixels.
SMOOTHING = 1.0
# Pixels between two looks, and rows at once, which bounds the memory.
_STEP = 2.0
_BAND = 256


def join_gaps(
    probability: np.ndarray,
    cos2: np.ndarray,
    sin2: np.ndarray,
    width: float = JOIN_WIDTH,
) -> np.ndarray:
    """Smooth membranes a little, and let them go on along their direction.

    The result is the larger of the smoothed probability and its mean along the
    direction, weighed by a Gaussian of `width` pixels and seen as far as twice that.

    Parameters
    ----------
    probability : float32 array of shape (H, W)
    cos2, sin2 : float32 arrays of shape (H, W)
        The axis of the membrane, as strength · (cos 2θ, sin 2θ).
    width : float
        0 gives the probability itself.

    Returns
    -------
    float32 array of shape (H, W)
    """
    if not width > 0:
        return probability
    smooth = ndimage.gaussian_filter(probability, SMOOTHING, mode="nearest")
    angle = np.arctan2(sin2, cos2) / 2
    across, down = np.cos(angle), np.sin(angle)
    joined: np.ndarray = np.empty_like(smooth)
    for top in range(0, len(smooth), _BAND):
        band = slice(top, top + _BAND)
        line = _mean_along(smooth, across[band], down[band], top, width)
        joined[band] = np.maximum(smooth[band], line)
    return joined


def _mean_along(
    smooth: np.ndarray, across: np.ndarray, down: np.ndarray, top: int, width: float
) -> np.ndarray:
    """Mean along unit vectors (across, down), for the band of rows from `top` on."""
    height, columns = smooth.shape
    rows = np.arange(top, top + len(across), dtype=np.float32)[:, None]
    places = np.arange(columns, dtype=np.float32)
    source = torch.from_numpy(smooth)[None, None]
    total = np.zeros_like(across)
    weights = 0.0
    count = int(2 * width // _STEP)
    for look in np.arange(-count, count + 1) * _STEP:
        grid = np.stack(
            [
                (2 * (places + look * across) + 1) / columns - 1,
                (2 * (rows + look * down) + 1) / height - 1,
            ],
            -1,
        ).astype(np.float32)
        seen = F.grid_sample(
            source,
            torch.from_numpy(grid)[None],
            padding_mode="border",
            align_corners=False,
        )
        weight = float(np.exp(-(look**2) / (2 * width**2)))
        total += weight * seen[0, 0].numpy()
        weights += weight
    return total / np.float32(weights)
