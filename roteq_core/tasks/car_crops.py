"""Crops around cars: read from an image at any angle and size, then made comparable.

Every car is brought to the same length, whatever the image's scale, and its crop to the
same contrast. Only a disc counts, so that nothing but the disc turns with the car.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

CAR_LENGTH = 28.0  # pixels of a car in a crop
CROP = 48
LUMINANCE = (0.299, 0.587, 0.114)
RIM = 2.0  # pixels over which the disc fades
STRAY = (0.001, 0.999)  # shares of the pixels below and above which values are stray
MOST_SAMPLED = 2_000_000  # values of an image that are looked at


class Pyramid(NamedTuple):
    """An image at full, half, quarter … size, and which pixels are known.

    Each level is a float32 tensor (C + 1, H, W); the last map is 1 where the image has
    a value and 0 where it has none, and the other maps are weighed by it.
    """

    levels: tuple[Tensor, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns at full size."""
        height, width = self.levels[0].shape[-2:]
        return int(height), int(width)


def check_picture_shape(shape: tuple[int, ...]) -> None:
    """Refuse what is no gray or color image with at least one pixel."""
    is_picture = len(shape) == 2 or (len(shape) == 3 and shape[-1] in (1, 2, 3, 4))
    if not is_picture or 0 in shape:
        raise ValueError(
            "an image of cars must have shape (H, W), (H, W, 3) or (H, W, 4), got "
            f"{shape}"
        )


def image_maps(image: np.ndarray, maps: int = 1) -> np.ndarray:
    """Bring any usual image to float32 maps (C + 1, H, W), the last one its validity.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 1), (H, W, 2), (H, W, 3) or (H, W, 4)
        Gray or color, with or without opacity. 8-bit values are divided by 255. Others
        are brought to about 0…1, see `value_range`. Where opacity is 0, or a value is
        not finite, nothing is known.
    maps : {1, 3}
        C: gray or color.
    """
    image = np.asarray(image)
    check_picture_shape(image.shape)
    if image.ndim == 2:
        image = image[..., None]
    if maps not in (1, 3):
        raise ValueError(f"maps must be 1 (gray) or 3 (color), got {maps}")
    if image.dtype.kind not in "buif":
        raise ValueError(f"an image must hold real numbers, got {image.dtype}")
    known = np.ones(image.shape[:2], bool)
    if image.dtype.kind == "f":
        known = np.isfinite(image).all(-1)
    if image.shape[-1] in (2, 4):
        known &= image[..., -1] > 0
        image = image[..., :-1]
    low, high = value_range(image, known)
    factor = 1.0 / (high - low)
    out = np.empty((maps + 1, *image.shape[:2]), np.float32)
    if maps == 1 and image.shape[-1] == 3:
        out[0] = 0
        for channel, weight in enumerate(LUMINANCE):
            out[0] += _above(image[..., channel], low) * np.float32(weight * factor)
    else:
        out[:maps] = np.moveaxis(_above(image, low), -1, 0) * np.float32(factor)
    out[maps] = known
    out[:maps, ~known] = 0
    return out


def _above(image: np.ndarray, low: float) -> np.ndarray:
    """Subtract before precision is lost: a narrow range may lie far from 0."""
    return image if low == 0 else image.astype(np.float64) - low


def value_range(
    image: np.ndarray, known: np.ndarray | None = None
) -> tuple[float, float]:
    """Say which values of an image become 0 and 1.

    8-bit and true-or-false images: those of the number type, always. 16-bit images
    and numbers with a fraction: those of the type (0 and 1), if the image fills at
    least half of that range. Else, and for all other numbers, nearly the lowest and
    highest of the image: a few stray pixels do not count.

    Parameters
    ----------
    image : array of shape (H, W, C)
        Finite where it counts.
    known : bool array of shape (H, W), optional
        Which pixels count.
    """
    full = 1.0
    if image.dtype.kind in "ui" and image.dtype.itemsize < 4:
        full = float(np.iinfo(image.dtype).max)
    if image.dtype == np.uint8 or image.dtype.kind == "b":
        return 0.0, full
    rounding = 4 * np.finfo(image.dtype).eps if image.dtype.kind == "f" else 0.0
    step = math.ceil(math.sqrt(image.size / MOST_SAMPLED)) or 1
    for stride, shares in ((step, STRAY), (1, (0, 1))):
        sample = image[::stride, ::stride]
        if known is not None:
            sample = sample[known[::stride, ::stride]]
        if not sample.size:
            continue
        low, high = np.quantile(sample, shares).astype(float).tolist()
        if low >= 0 and high <= full and high - low >= full / 2:
            return 0.0, full
        if high - low > rounding * max(abs(low), abs(high)):
            return low, high
    return 0.0, full  # a flat image


def make_pyramid(maps: np.ndarray | Tensor, largest: float = math.inf) -> Pyramid:
    """Halve maps (C + 1, H, W) until cars of `largest` pixels are small enough."""
    maps = torch.as_tensor(maps)
    levels = [torch.cat([maps[:-1] * maps[-1:], maps[-1:]])]
    largest = min(largest, 64 * CAR_LENGTH)
    while largest / 2 ** len(levels) >= CAR_LENGTH and min(levels[-1].shape[-2:]) > 1:
        levels.append(_half(levels[-1]))
    return Pyramid(tuple(levels))


def _half(weighed: Tensor) -> Tensor:
    """Average 2×2 pixels; an odd side is continued by what is not known."""
    pads = (0, weighed.shape[-1] % 2, 0, weighed.shape[-2] % 2)
    return F.avg_pool2d(F.pad(weighed, pads)[None], 2)[0]


def read_crops(
    pyramid: Pyramid,
    centers: np.ndarray,
    lengths: np.ndarray,
    turns: np.ndarray | float = 0.0,
    *,
    mirrored: Sequence[bool] | np.ndarray | bool = False,
    crop: int = CROP,
) -> Tensor:
    """Read a crop for each car, scaled so that cars are `CAR_LENGTH` pixels long.

    Parameters
    ----------
    pyramid : Pyramid
    centers : array of shape (n, 2)
        x and y in pixels; pixel centers are whole numbers.
    lengths : array of shape (n,)
        Of the cars in pixels.
    turns : array of shape (n,) or float
        The crop's axes stand turned by this angle (radians) in the image: a car that
        points at angle θ in the image points at θ - turn in its crop.
    mirrored : array of bool of shape (n,) or bool
        Left and right of the crop change places: a car then points at π - (θ - turn).
    crop : int
        Side of a crop in pixels.

    Returns
    -------
    Tensor of shape (n, C + 1, crop, crop)
        Values, and how much of each pixel is known.
    """
    count = len(centers)
    lengths = np.asarray(lengths, float)
    zoom = lengths / CAR_LENGTH
    level = np.clip(np.floor(np.log2(np.maximum(zoom, 1e-6))), 0, None).astype(int)
    level = np.minimum(level, len(pyramid.levels) - 1)
    maps = pyramid.levels[0].shape[0]
    out = torch.empty(count, maps, crop, crop)
    turns = np.broadcast_to(np.asarray(turns, float), (count,))
    flips = np.broadcast_to(np.asarray(mirrored, bool), (count,))
    for chosen in np.unique(level):
        here = np.flatnonzero(level == chosen)
        scale = 2.0**chosen
        places = _crop_places(zoom[here] / scale, turns[here], flips[here], crop)
        middle = (np.asarray(centers, float)[here] + 0.5) / scale - 0.5
        places = places + middle[:, None, None]
        out[torch.from_numpy(here)] = _read(pyramid.levels[chosen], places)
    return out


def _crop_places(
    zoom: np.ndarray, turns: np.ndarray, flips: np.ndarray, crop: int
) -> np.ndarray:
    """Offsets (n, 2·crop, 2·crop, 2), x and y: twice as fine as the crop."""
    line = (np.arange(2 * crop) - (2 * crop - 1) / 2) / 2
    y, x = np.meshgrid(line, line, indexing="ij")
    x = np.where(flips, -1.0, 1.0)[:, None, None] * x
    cos = (np.cos(turns) * zoom)[:, None, None]
    sin = (np.sin(turns) * zoom)[:, None, None]
    return np.stack([cos * x - sin * y, sin * x + cos * y], -1)


def _read(level: Tensor, places: np.ndarray) -> Tensor:
    """Read weighed maps (C, H, W) at places (n, 2s, 2s, 2), averaged to (n, C, s, s).

    What is read for one car must not take longer the larger the image is.
    """
    height, width = level.shape[-2:]
    grid = (2 * places + 1) / np.array([width, height]) - 1
    count, side = grid.shape[:2]
    flat = torch.from_numpy(grid.astype(np.float32)).reshape(1, count * side, side, 2)
    fine = F.grid_sample(level[None], flat, mode="bilinear", align_corners=False)
    fine = fine.reshape(level.shape[0], count, side, side).movedim(0, 1)
    small = F.avg_pool2d(fine, 2)
    share = small[:, -1:]
    return torch.cat([small[:, :-1] / share.clamp(min=1e-6), share], 1)


def disc(side: int, rim: float = RIM) -> Tensor:
    """Soft disc (side, side) that touches the border: 1 inside, 0 outside."""
    line = torch.arange(side, dtype=torch.float32) - (side - 1) / 2
    radius = torch.hypot(line[:, None], line[None])
    fade = ((side / 2 - radius) / rim).clamp(0, 1)
    return torch.sin(fade * math.pi / 2) ** 2


def normalize_crops(crops: Tensor) -> Tensor:
    """Bring crops (n, C + 1, s, s) to mean 0 and spread 1 in the disc: (n, C, s, s).

    Where nothing is known, and outside the disc, the value is 0. A flat crop stays 0.
    """
    values, known = crops[:, :-1], crops[:, -1:]
    weight = disc(crops.shape[-1]).to(crops) * known
    total = weight.sum((-2, -1), keepdim=True).clamp(min=1e-6)
    # One mean per map, one spread for all: colors keep their proportions.
    mean = (values * weight).sum((-2, -1), keepdim=True) / total
    centered = values - mean
    variance = (centered.square() * weight).sum((-2, -1), keepdim=True) / total
    spread = variance.mean(1, keepdim=True).sqrt()
    scaled = centered / spread.clamp(min=1e-6)
    scaled = torch.where(spread > 1e-5, scaled, 0.0)
    return scaled.clamp(-4, 4) * weight
