"""Bring images to the range that networks are trained on.

Fitted once on a whole image or stack, never on a tile. No torch.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from roteq_core.membranes.fill import find_fill

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
    skips_fill : bool
        Whether large areas of one value at the border, if there are any, are no part of
        the image; see `find_fill`. In drawings they are.
    """

    center: float
    spread: float
    inverted: bool = False
    skips_fill: bool = False

    def apply(self, image: np.ndarray) -> np.ndarray:
        """Give the image as float32, clipped to ±5 spreads.

        NaN and the fill around the image become the center.
        """
        scaled = (np.asarray(image, dtype=np.float32) - self.center) / self.spread
        scaled = np.nan_to_num(np.clip(scaled, -5, 5), copy=False)
        outside = self.outside(image)
        if outside is not None:
            scaled[outside] = 0
        return np.asarray(-scaled if self.inverted else scaled, dtype=np.float32)

    def outside(self, image: np.ndarray) -> np.ndarray | None:
        """Where a raw image (..., H, W) is fill, and so no image; None if nowhere."""
        if not self.skips_fill:
            return None
        filled = find_fill(image)
        return filled if filled.any() else None

    def as_dict(self) -> dict[str, Any]:
        """Give plain values, for recipes."""
        return asdict(self)


def fit_normalization(image: Any, *, inverted: bool = False) -> Normalization:
    """Fit to the median and the spread between the 5th and 95th percentile.

    Parameters
    ----------
    image : array-like
        Any shape and number type; a lazy stack is looked at in at most eight of its
        planes. A flat image gets a spread of 1. What was put around the image is left
        out.
    """
    planes = _sample(image)
    skips_fill, sample = _without_fill(planes)
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
    return Normalization(float(center), float(spread), inverted, skips_fill)


def _without_fill(planes: list[np.ndarray]) -> tuple[bool, np.ndarray]:
    """Say whether fill is to be looked for, and give all other pixels.

    It may be in planes that are not among these. Of drawings and of nothing at all,
    all pixels are given.
    """
    whole = np.concatenate([plane.ravel() for plane in planes])
    if not whole.size or planes[0].ndim != 2:
        return False, whole
    filled = [find_fill(plane) for plane in planes]
    rest = np.concatenate(
        [plane[~mask] for plane, mask in zip(planes, filled, strict=True)]
    )
    if not rest.size:
        return True, whole
    return (True, rest) if _has_values(rest) else (False, whole)


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
