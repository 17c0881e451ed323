"""Resample planes to another pixel size. No torch."""

from __future__ import annotations

import numpy as np
from scipy import ndimage


def scaled_shape(shape: tuple[int, ...], factor: float) -> tuple[int, ...]:
    """Give the shape of an image with `factor` times the pixels along each axis."""
    return tuple(max(1, round(n * factor)) for n in shape)


def resample(image: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Resample a plane (H, W) linearly, each output pixel in its share of the area."""
    if image.shape == shape:
        return image
    factors = [new / old for new, old in zip(shape, image.shape, strict=True)]
    image = np.asarray(image, np.float32)
    if min(factors) < 1:  # fewer pixels: take away first what they could not hold
        image = ndimage.gaussian_filter(image, 0.4 / min(factors), mode="nearest")
    out = ndimage.zoom(image, factors, order=1, grid_mode=True, mode="nearest")
    assert out.shape == shape
    return np.asarray(out, dtype=np.float32)
