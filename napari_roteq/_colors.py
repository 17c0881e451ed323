"""One cyclic color for each direction, the same in layers, plots and legends (no Qt).

A wheel of equal lightness: no heading stands out, none drowns in a gray image, and it
closes exactly, which common maps such as hsv do not.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from skimage.color import lab2rgb

_LIGHTNESS, _CHROMA = 72.0, 52.0
_STOPS = 73  # every five degrees, the last equal to the first
CYCLIC_NAME = "roteq directions"


@cache
def cyclic_colors() -> np.ndarray:
    """Give the colors once round the circle, (N, 4) RGBA in [0, 1], first = last."""
    hue = np.linspace(0, 2 * np.pi, _STOPS)
    lightness = np.full(_STOPS, _LIGHTNESS)
    lab = np.stack([lightness, _CHROMA * np.cos(hue), _CHROMA * np.sin(hue)], axis=-1)
    colors = np.column_stack([lab2rgb(lab), np.ones(_STOPS)]).clip(0, 1)
    colors[-1] = colors[0]
    colors.setflags(write=False)
    return colors


def color_of(fraction: np.ndarray) -> np.ndarray:
    """Give the RGBA colors (..., 4) of fractions (...) of the period of an angle."""
    place = np.mod(np.asarray(fraction, float), 1.0) * (_STOPS - 1)
    stops, colors = np.arange(_STOPS), cyclic_colors()
    return np.stack([np.interp(place, stops, colors[:, i]) for i in range(4)], axis=-1)
