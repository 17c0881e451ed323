"""Random changes of training crops, applied alike to images, labels and directions.

A `Warp` says where each pixel of a crop is read in its source: turned by any angle,
mirrored, scaled and bent. The same warp reads the image, the labels and the directions,
and turns the directions back into the frame of the crop.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from roteq_core.config import TrainConfig

Reading = Literal["nearest", "bilinear", "bicubic"]

# Pixels over which the shading of a crop rises and falls.
SHADING_WIDTH = 80


@dataclass(frozen=True)
class Warp:
    """Where a crop is read from.

    Parameters
    ----------
    rows, columns : arrays of shape (S, S)
        Source position of each pixel.
    angle : float
        The crop's axes stand turned by this angle in the source.
    mirrored : bool
        Whether left and right change places, before turning.
    """

    rows: np.ndarray
    columns: np.ndarray
    angle: float
    mirrored: bool

    def read(self, source: np.ndarray, mode: Reading = "bilinear") -> np.ndarray:
        """Read maps (C, H, W) at the warp, (C, S, S), reflected beyond the border."""
        height, width = source.shape[-2:]
        grid = np.stack(
            [(2 * self.columns + 1) / width - 1, (2 * self.rows + 1) / height - 1], -1
        )
        crop = F.grid_sample(
            torch.from_numpy(np.ascontiguousarray(source, dtype=np.float32))[None],
            torch.from_numpy(grid.astype(np.float32))[None],
            mode=mode,
            padding_mode="reflection",
            align_corners=False,
        )
        return crop[0].numpy()

    def inside(self, height: int, width: int) -> np.ndarray:
        """Which pixels of the crop lie within the source, (S, S)."""
        return (
            (self.rows >= -0.5)
            & (self.rows <= height - 0.5)
            & (self.columns >= -0.5)
            & (self.columns <= width - 0.5)
        )

    def turn_axes(self, double: np.ndarray) -> np.ndarray:
        """Bring axes, as (cos 2θ, sin 2θ) maps (2, S, S), into the crop's frame."""
        cos, sin = math.cos(2 * self.angle), math.sin(2 * self.angle)
        c, s = double
        turned = np.stack([cos * c + sin * s, cos * s - sin * c])
        if self.mirrored:
            turned[1] *= -1
        return turned


def random_warp(
    shape: tuple[int, ...],
    size: int,
    config: TrainConfig,
    rng: np.random.Generator,
    *,
    center: tuple[float, float] | None = None,
) -> Warp:
    """Draw a warp for a crop of `size` from a source of `shape`.

    The crop lies anywhere or, with a `center` (row, column), as near to it as the
    border allows. Reading between pixels blurs, and images are not blurred when they
    are predicted: a share of the crops is turned by quarters only, neither bent nor
    scaled, and lies on whole pixels.
    """
    height, width = shape
    exact = bool(rng.random() < config.exact)
    angle = rng.uniform(0, 2 * math.pi) if config.rotate else 0.0
    angle = angle // (math.pi / 2) * (math.pi / 2) if exact else angle
    mirrored = bool(config.flip and rng.random() < 0.5)
    zoom = math.exp(rng.uniform(-1, 1) * math.log1p(config.scale))
    zoom = 1.0 if exact else zoom
    half = min(size * zoom / 2, height / 2, width / 2)
    row = rng.uniform(half, height - half) - 0.5
    column = rng.uniform(half, width - half) - 0.5
    if center is not None:
        row = float(np.clip(center[0], half - 0.5, height - half - 0.5))
        column = float(np.clip(center[1], half - 0.5, width - half - 0.5))
    if exact:  # the middle of an even number of pixels lies between two
        middle = (size - 1) % 2 / 2
        row, column = (math.floor(x) + middle for x in (row, column))
    line = (np.arange(size) - (size - 1) / 2) * zoom
    y, x = np.meshgrid(line, line, indexing="ij")
    if config.elastic and not exact:
        bend = _smooth_noise((2, size, size), rng) * config.elastic
        y, x = y + bend[0], x + bend[1]
    if mirrored:
        x = -x
    cos, sin = math.cos(angle), math.sin(angle)
    if exact:
        cos, sin = round(cos), round(sin)
    return Warp(
        row + sin * x + cos * y, column + cos * x - sin * y, float(angle), mirrored
    )


def _smooth_noise(
    shape: tuple[int, ...], rng: np.random.Generator, width: int = 40
) -> np.ndarray:
    """Smooth random maps (C, H, W) of about unit size, bending over `width` pixels."""
    count, *sides = shape
    knots = [max(2, side // width + 2) for side in sides]
    coarse = torch.from_numpy(rng.standard_normal((1, count, *knots)))
    smooth = F.interpolate(coarse, size=sides, mode="bicubic", align_corners=True)
    return smooth[0].numpy()


def random_intensity(
    image: np.ndarray, strength: float, rng: np.random.Generator
) -> np.ndarray:
    """Change contrast, brightness, gamma, shading, sharpness and noise.

    Parameters
    ----------
    image : float32 array of shape (C, H, W)
        Normalized.
    strength : float
        0 changes nothing.
    rng : numpy Generator
    """
    if not strength:
        return image
    out = image * math.exp(rng.normal() * 0.15 * strength)
    out = out + rng.normal() * 0.15 * strength
    bend = rng.normal() * 0.1 * strength  # a soft gamma
    out = out + bend * (out**2 - 1) / 2
    if rng.random() < 0.5:  # thickness and staining change within a slice
        shape = (1, *image.shape[-2:])
        out = out + _smooth_noise(shape, rng, SHADING_WIDTH) * 0.3 * strength
    if rng.random() < 0.3 * strength:
        out = blur(out, rng.uniform(0.3, 0.9))
    if rng.random() < 0.5 * strength:
        out = out + rng.normal(size=out.shape) * rng.uniform(0, 0.25) * strength
    return out.astype(np.float32)


def blur(image: np.ndarray, sigma: float) -> np.ndarray:
    """Blur maps (..., H, W) with a Gaussian."""
    from scipy.ndimage import gaussian_filter

    sigmas = (0,) * (image.ndim - 2) + (sigma, sigma)
    return np.asarray(gaussian_filter(image, sigmas, mode="nearest"))


def as_batch(crops: list[np.ndarray]) -> Tensor:
    """Stack crops (C, S, S) into a float32 tensor (B, C, S, S)."""
    return torch.from_numpy(np.stack(crops).astype(np.float32))
