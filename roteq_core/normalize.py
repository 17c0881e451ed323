"""Bring images to the range that networks are trained on.

Fitted once on a whole image or stack, never on a tile. No torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Normalization:
    """How gray values become network inputs: `(image - center) / spread`.

    Parameters
    ----------
    center, spread : float
        Fitted to an image; the center becomes 0, so that zero padding is neutral.
    inverted : bool
        Whether bright and dark change places.
    """

    center: float
    spread: float
    inverted: bool = False

    def apply(self, image: np.ndarray) -> np.ndarray:
        """Give the image as float32, clipped to ±5 spreads; NaN becomes the center."""
        scaled = (np.asarray(image, dtype=np.float32) - self.center) / self.spread
        scaled = np.nan_to_num(np.clip(scaled, -5, 5), copy=False)
        return np.asarray(-scaled if self.inverted else scaled, dtype=np.float32)

    def as_dict(self) -> dict[str, Any]:
        """Give plain values, for recipes."""
        return {"center": self.center, "spread": self.spread, "inverted": self.inverted}


def fit_normalization(image: Any, *, inverted: bool = False) -> Normalization:
    """Fit to the median and the spread between the 5th and 95th percentile.

    Parameters
    ----------
    image : array-like
        Any shape and number type; a lazy stack is looked at in at most eight of its
        planes. A flat image gets a spread of 1.
    """
    sample = _sample(image)
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
    return Normalization(float(center), float(spread), inverted)


def _sample(image: Any) -> np.ndarray:
    """Read at most eight planes, every other pixel of large ones, as float32."""
    if image.ndim <= 2:
        planes = [image]
    else:
        lead = image.shape[:-2]
        count = int(np.prod(lead))
        chosen = np.unique(np.linspace(0, count - 1, min(count, 8)).astype(int))
        planes = [image[np.unravel_index(i, lead)] for i in chosen]
    step = 2 if image.shape[-1] * image.shape[-2] > 2**20 else 1
    return np.concatenate(
        [np.asarray(p[::step, ::step], dtype=np.float32).ravel() for p in planes]
    )
