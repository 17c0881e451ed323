"""Where reviewed cars lie: the pixels of an image, in the viewer's world (no Qt)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_roteq._images import Index, planes_of, transform_of
from napari_roteq._layers import row_column


@dataclass(frozen=True)
class Crop:
    """Pixels around a place: (H, W) or (H, W, C), and its first column and row."""

    pixels: np.ndarray
    left: int
    top: int


@dataclass(frozen=True)
class Frame:
    """The plane whose pixels the cars are counted in.

    Parameters
    ----------
    layer : Layer
        The image; the layer of boxes itself where there is none.
    index : tuple of int
        The plane of a stack.
    """

    layer: Any
    index: Index = ()

    @property
    def has_pixels(self) -> bool:
        """Whether there is an image to look at."""
        return hasattr(self.layer, "contrast_limits")

    @property
    def size(self) -> tuple[int, int] | None:
        """Height and width of the image."""
        if not self.has_pixels:
            return None
        height, width = planes_of(self.layer).shape[-2:]
        return height, width

    @property
    def is_lazy(self) -> bool:
        """Whether reading may take its time."""
        return self.has_pixels and not isinstance(
            planes_of(self.layer).array, np.ndarray
        )

    def options(self) -> dict[str, Any]:
        """Give the keywords that put a layer here."""
        return transform_of(self.layer)

    def to_world(self, x: float, y: float) -> tuple[float, ...]:
        """Give the world's coordinates of a pixel."""
        return tuple(map(float, self.layer.data_to_world((*self.index, y, x))))

    def from_world(self, position: Any) -> tuple[float, float]:
        """Give x and y of a place in the world."""
        inside = self.layer.world_to_data(tuple(position)[-self.layer.ndim :])
        x, y = row_column(np.asarray(inside, float)[-2:]).tolist()
        return x, y

    @property
    def pixel(self) -> float:
        """The size of a pixel in the world."""
        here, there = (np.asarray(self.to_world(x, 0.0)) for x in (0.0, 1.0))
        return float(np.linalg.norm(there - here)) or 1.0

    def crop(self, x: float, y: float, reach: float) -> Crop | None:
        """Read the pixels within `reach` of a place; None where there are none."""
        if not self.has_pixels:
            return None
        planes = planes_of(self.layer)
        height, width = planes.shape[-2:]
        top, bottom = _clipped(y, reach, height)
        left, right = _clipped(x, reach, width)
        if top >= bottom or left >= right:
            return None
        slices = slice(top, bottom), slice(left, right)
        return Crop(np.asarray(planes.array[(*self.index, *slices)]), left, top)

    def shown(self, crop: Crop) -> np.ndarray:
        """Give a crop as the viewer shows it: (H, W, 3) of bytes."""
        pixels = crop.pixels
        if planes_of(self.layer).is_rgb:
            colors = pixels[..., :3]
            if colors.dtype == np.uint8:
                return np.ascontiguousarray(colors)
            top = np.iinfo(colors.dtype).max if colors.dtype.kind in "iu" else 1.0
            return _as_bytes(colors / top)
        low, high = self.layer.contrast_limits
        gray = (pixels.astype(float) - low) / max(high - low, 1e-12)
        return np.repeat(_as_bytes(gray)[..., None], 3, axis=-1)


def _clipped(center: float, reach: float, size: int) -> tuple[int, int]:
    first, last = int(np.floor(center - reach)), int(np.ceil(center + reach)) + 1
    return max(first, 0), min(last, size)


def _as_bytes(shares: np.ndarray) -> np.ndarray:
    return (np.clip(shares, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)
