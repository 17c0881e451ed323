"""Bring images to the range that networks are trained on.

Fitted once on a whole image or stack, never on a tile. No torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import ndimage

# Of a plane, that a fill at its border covers at least.
SMALLEST_FILL = 0.01
# Sides of the squares, all of one value, that a fill must have room for.
_SOLID = 15
# Images of fewer values are drawings, of which no area is a fill.
_FEW_VALUES = 8


@dataclass(frozen=True)
class Normalization:
    """How gray values become network inputs: `(image - center) / spread`.

    Parameters
    ----------
    center, spread : float
        Fitted to an image; the center becomes 0, so that zero padding is neutral.
    inverted : bool
        Whether bright and dark change places.
    fill : float, optional
        Value of what was put around the image, as when slices are aligned; see
        `is_fill`.
    """

    center: float
    spread: float
    inverted: bool = False
    fill: float | None = None

    def apply(self, image: np.ndarray) -> np.ndarray:
        """Give the image as float32, clipped to ±5 spreads.

        NaN and the fill around the image become the center.
        """
        scaled = (np.asarray(image, dtype=np.float32) - self.center) / self.spread
        scaled = np.nan_to_num(np.clip(scaled, -5, 5), copy=False)
        if self.fill is not None:
            scaled[is_fill(image, self.fill)] = 0
        return np.asarray(-scaled if self.inverted else scaled, dtype=np.float32)

    def as_dict(self) -> dict[str, Any]:
        """Give plain values, for recipes."""
        plain = {
            "center": self.center,
            "spread": self.spread,
            "inverted": self.inverted,
        }
        return plain if self.fill is None else {**plain, "fill": self.fill}


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


def fit_normalization(image: Any, *, inverted: bool = False) -> Normalization:
    """Fit to the median and the spread between the 5th and 95th percentile.

    Parameters
    ----------
    image : array-like
        Any shape and number type; a lazy stack is looked at in at most eight of its
        planes. A flat image gets a spread of 1. Black or white that was put around the
        image is left out.
    """
    planes = _sample(image)
    fill, sample = _without_fill(planes)
    if sample.size == 0:
        raise ValueError("cannot normalize an empty image")
    if not np.isfinite(sample).all():
        finite = sample[np.isfinite(sample)]
        if finite.size == 0:
            raise ValueError("cannot normalize an image without any finite value")
        sample = finite
    low, center, high = np.percentile(sample, [5, 50, 95])
    # The standard deviation, were it a normal distribution.
    spread = (high - low) / 3.29
    if not spread > 0:
        spread = float(np.std(sample)) or 1.0
    return Normalization(float(center), float(spread), inverted, fill)


def _without_fill(planes: list[np.ndarray]) -> tuple[float | None, np.ndarray]:
    """Give the value of a fill, if there is one, and all other pixels."""
    whole = np.concatenate([plane.ravel() for plane in planes])
    finite = whole[np.isfinite(whole)]
    if not finite.size or planes[0].ndim != 2:
        return None, whole
    for value in (finite.min(), finite.max()):
        filled = [is_fill(plane, value) for plane in planes]
        rest = np.concatenate(
            [plane[~mask] for plane, mask in zip(planes, filled, strict=True)]
        )
        if rest.size < whole.size and _has_values(rest):
            return float(value), rest
    return None, whole


def _has_values(pixels: np.ndarray) -> bool:
    """Whether pixels show an image: a few values at least."""
    return np.unique(pixels[np.isfinite(pixels)][:4096]).size > _FEW_VALUES


def _sample(image: Any) -> list[np.ndarray]:
    """Read at most eight planes, every other pixel of large ones, as float32."""
    if image.ndim <= 2:
        planes = [image]
    else:
        lead = image.shape[:-2]
        count = int(np.prod(lead))
        chosen = np.unique(np.linspace(0, count - 1, min(count, 8)).astype(int))
        planes = [image[np.unravel_index(i, lead)] for i in chosen]
    step = 2 if image.shape[-1] * image.shape[-2] > 2**20 else 1
    return [np.asarray(p[::step, ::step], dtype=np.float32) for p in planes]
