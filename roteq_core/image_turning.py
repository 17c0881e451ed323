"""Turning whole images and fields, for training and for checking.

Which way angles run is in docs/conventions.md; filters turn in `roteq_core.geometry`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from roteq_core.engine.precision import at_least_single
from roteq_core.geometry import exact_cos_sin


def turn_image(
    image: Tensor,
    angle: float,
    *,
    mode: Literal["bilinear", "bicubic", "nearest"] = "bilinear",
) -> Tensor:
    """Turn images about their center, from right towards down (clockwise).

    Parameters
    ----------
    image : Tensor of shape (..., H, W)
    angle : float
        Radians. Quarter turns are exact and swap H and W; other angles keep the size
        and read zero outside the image.
    mode : str
        How values between pixels are read.

    Returns
    -------
    Tensor of shape (..., H, W)
    """
    if image.ndim < 2:
        raise ValueError(f"image must have shape (..., H, W), got {tuple(image.shape)}")
    quarters = angle / (math.pi / 2)
    if abs(quarters - round(quarters)) < 1e-9:
        return torch.rot90(image, -round(quarters), (-2, -1))
    if not image.is_floating_point():
        raise ValueError(
            f"turning by {angle} rad needs a float image, got {image.dtype}"
        )
    if not image.numel():
        return image.clone()
    wide = at_least_single(image)  # half precision is too coarse for places
    flat = wide.reshape(1, -1, *image.shape[-2:])
    grid = _turned_grid(wide, angle)
    turned = F.grid_sample(flat, grid, mode=mode, align_corners=False)
    return turned.reshape(image.shape).to(image.dtype)


def _turned_grid(image: Tensor, angle: float) -> Tensor:
    """Where to read images (..., H, W), for `grid_sample`: (1, H, W, 2)."""
    sides = image.shape[-2:]
    y, x = (torch.arange(n).to(image) - (n - 1) / 2 for n in sides)
    y, x = torch.meshgrid(y, x, indexing="ij")
    cos, sin = math.cos(angle), math.sin(angle)
    read_x = (cos * x + sin * y) * (2 / sides[1])
    read_y = (cos * y - sin * x) * (2 / sides[0])
    return torch.stack([read_x, read_y], -1)[None]


def turn_field(
    field: Tensor,
    angle: float,
    *,
    mode: Literal["bilinear", "bicubic", "nearest"] = "bilinear",
) -> Tensor:
    """Turn fields (..., 2, H, W): the places as `turn_image` does, and the vectors."""
    if field.ndim < 3 or field.shape[-3] != 2:
        raise ValueError(
            f"field must have shape (..., 2, H, W), got {tuple(field.shape)}"
        )
    return turn_vectors(turn_image(field, angle, mode=mode), angle, dim=-3)


def turn_vectors(vectors: Tensor, angle: float, *, dim: int) -> Tensor:
    """Turn vectors where they are; u and v follow each other along `dim`."""
    u, v = vectors.unbind(dim)
    exact = torch.tensor(angle, dtype=torch.float64, device="cpu")
    cos, sin = (float(x) for x in exact_cos_sin(exact))
    return torch.stack([cos * u - sin * v, sin * u + cos * v], dim)


def central_disc(shape: Sequence[int], share: float = 1.0) -> Tensor:
    """(H, W), boolean: pixels within a share of the largest disc, one at least."""
    height, width = shape
    y = torch.arange(height) - (height - 1) / 2
    x = torch.arange(width) - (width - 1) / 2
    radius = max(share * min(height, width) / 2, 0.75)
    return y[:, None].square() + x.square() <= radius**2
