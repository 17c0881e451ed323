"""Random changes of crops of cars: other light, cameras and files than those seen.

All work on a batch of crops (n, C + 1, s, s) with values about 0…1 whose last map says
what is known. None moves anything, so that headings stay as they are. `LOOKS` names
them, so that each can be left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Literal, get_args

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from roteq_core.tasks.car_crops import LUMINANCE

Look = Literal[
    "paint",  # of the car alone, so that it may be darker or brighter than the road
    "light",  # from one side, and glints
    "color",
    "shadow",
    "contrast",
    "inversion",  # bright and dark swapped in the whole crop
    "blur",
    "noise",
    "jpeg",
]
LOOKS: tuple[Look, ...] = get_args(Look)


def random_gray(colors: Tensor, rng: np.random.Generator) -> Tensor:
    """Mix colors (n, 3 + 1, s, s) to gray (n, 1 + 1, s, s), each in its own way."""
    count = len(colors)
    own = rng.dirichlet(np.ones(3), count)
    mix = rng.uniform(0, 0.6, (count, 1))
    weights = _tensor((1 - mix) * np.array(LUMINANCE) + mix * own)
    gray = torch.einsum("nchw,nc->nhw", colors[:, :3], weights)
    return torch.stack([gray, colors[:, 3]], 1)


def random_color(colors: Tensor, rng: np.random.Generator) -> Tensor:
    """Change tint and saturation of colors (n, 3 + 1, s, s); some become gray."""
    count = len(colors)
    gray = random_gray(colors, rng)[:, :1]
    fullness = rng.uniform(0.3, 1.5, (count, 1, 1, 1))
    fullness = np.where(_chance(count, 0.3, rng), 0.0, fullness)
    tint = _tensor(np.exp(rng.normal(0, 0.08, (count, 3, 1, 1)) * (fullness > 0)))
    values = (gray + _tensor(fullness) * (colors[:, :3] - gray)) * tint
    return torch.cat([values, colors[:, 3:]], 1)


def random_light(colors: Tensor, strength: float, rng: np.random.Generator) -> Tensor:
    """Light the middle of crops (n, 3 + 1, s, s) from one side, and let it glint.

    A low sun makes one end of a car bright and warm and the other dim and blue, and
    shines back from glass: none of it tells which end is the front.
    """
    if not strength:
        return colors
    count, side = len(colors), colors.shape[-1]
    one = (count, 1, 1, 1)
    middle = torch.arange(side) - (side - 1) / 2
    y, x = middle[:, None], middle[None]
    angle = rng.uniform(0, 2 * math.pi, one)
    along = _tensor(np.cos(angle)) * x + _tensor(np.sin(angle)) * y
    reach = np.where(_chance(count, 0.6, rng), rng.uniform(0.2, 0.4, one), 3.0) * side
    window = torch.exp((x * x + y * y) / _tensor(-2 * reach * reach))
    slopes = rng.normal(0, 0.35, one) + rng.normal(0, 0.12, (count, 3, 1, 1))
    slope = _tensor(slopes * _chance(count, 0.6, rng) * strength / (0.3 * side))
    gain = (slope * (along * window)).clamp(-1.2, 1.2).exp()
    place = rng.normal(0, 0.15, (2, *one)) * side
    size = rng.uniform(0.02, 0.09, one) * side
    far = (x - _tensor(place[0])) ** 2 + (y - _tensor(place[1])) ** 2
    warm = np.array([1.1, 1, 0.8])[:, None, None]
    depths = rng.uniform(-0.4, 0.7, one) * warm * _chance(count, 0.3 * strength, rng)
    glint = _tensor(depths) * torch.exp(far / _tensor(-2 * size * size))
    values = (colors[:, :3] * gain + glint).clamp(0, 1.5)
    return torch.cat([values, colors[:, 3:]], 1)


def random_paint(
    colors: Tensor,
    angles: np.ndarray,
    lengths: np.ndarray,
    strength: float,
    rng: np.random.Generator,
) -> Tensor:
    """Give some cars of crops (n, 3 + 1, s, s) another paint than the ground knows.

    Inside a soft box about the size of the car, values are shifted, stretched, tinted
    and sometimes swapped: a dark car on a pale road, and the other way round.

    Parameters
    ----------
    colors : Tensor of shape (n, 3 + 1, s, s)
    angles, lengths : arrays of shape (n,)
        Where the cars point in their crops, radians, and how many pixels they are long.
    strength : float
        0 changes nothing, 1 is usual.
    rng : numpy Generator
    """
    if not strength:
        return colors
    count, side = len(colors), colors.shape[-1]
    one = (count, 1, 1, 1)
    line = np.arange(side) - (side - 1) / 2
    y, x = line[:, None], line[None]
    cos, sin = np.cos(angles).reshape(one), np.sin(angles).reshape(one)
    half = np.asarray(lengths).reshape(one) / 2
    along = np.abs(cos * x + sin * y) - half * rng.uniform(0.95, 1.05, one)
    across = np.abs(cos * y - sin * x) - half * rng.uniform(0.38, 0.5, one)
    outside = np.maximum(along, across) / rng.uniform(0.3, 1.0, one)
    box = _tensor(np.clip(0.5 - outside, 0, 1))
    mean = (colors[:, :3] * box).sum((2, 3), True) / box.sum((2, 3), True)
    stretch = rng.uniform(0.5, 1.4, one) * np.where(_chance(count, 0.15, rng), -1, 1)
    shift = rng.normal(0, 0.25, one) + rng.normal(0, 0.08, (count, 3, 1, 1))
    paint = (mean + _tensor(shift)).clamp(0.1, 0.9)
    painted = paint + _tensor(stretch) * (colors[:, :3] - mean)
    mix = box * _tensor(_chance(count, 0.35 * strength, rng))
    values = colors[:, :3] + mix * (painted.clamp(0, 1) - colors[:, :3])
    return torch.cat([values, colors[:, 3:]], 1)


def random_look(
    crops: Tensor,
    strength: float,
    rng: np.random.Generator,
    without: Collection[Look] = (),
) -> Tensor:
    """Change shadows, contrast, sharpness and coding of crops, and cut some.

    Parameters
    ----------
    crops : Tensor of shape (n, C + 1, s, s)
    strength : float
        0 changes nothing, 1 is usual.
    rng : numpy Generator
    without : collection of str
        Names of `LOOKS` to leave out.
    """
    if not strength:
        return crops
    values, known = crops[:, :-1], crops[:, -1:]
    if "shadow" not in without:
        values = _shadow(values, strength, rng)
    bend = 0.0 if "contrast" in without else strength
    invert = 0.0 if "inversion" in without else strength
    values = _tone(values, bend, invert, rng)
    for name, change, share in (
        ("blur", _blur, 0.55),
        ("noise", _noise, 0.6),
        ("jpeg", _jpeg, 0.4),
    ):
        if name not in without:
            values = _to_some(change, values, share * strength, rng)
    return torch.cat([values, _cut(known, rng)], 1)


def _tensor(values: np.ndarray) -> Tensor:
    return torch.from_numpy(np.asarray(values, np.float32))


def _chance(count: int, share: float, rng: np.random.Generator) -> np.ndarray:
    return rng.random((count, 1, 1, 1)) < share


def _to_some(
    change: Callable[[Tensor, np.random.Generator], Tensor],
    values: Tensor,
    share: float,
    rng: np.random.Generator,
) -> Tensor:
    """Change a random share of the crops (n, C, s, s), and only those."""
    chosen = torch.from_numpy(np.flatnonzero(rng.random(len(values)) < share))
    if not len(chosen):
        return values
    return values.index_copy(0, chosen, change(values[chosen], rng))


def _side_of_line(
    count: int, side: int, near: float, far: float, rng: np.random.Generator
) -> Tensor:
    """Signed distance in pixels (n, 1, s, s) from random lines near the center."""
    angle = rng.uniform(0, 2 * math.pi, (count, 1, 1, 1))
    offset = rng.uniform(near, far, (count, 1, 1, 1)) * side
    line = np.arange(side) - (side - 1) / 2
    y, x = line[:, None], line[None]
    return _tensor(np.cos(angle) * x + np.sin(angle) * y - offset)


def _shadow(values: Tensor, strength: float, rng: np.random.Generator) -> Tensor:
    """Darken one side of a line."""
    count, side = len(values), values.shape[-1]
    distance = _side_of_line(count, side, -0.4, 0.4, rng)
    soft = _tensor(rng.uniform(0.3, 2.0, (count, 1, 1, 1)))
    share = rng.uniform(0.2, 0.65, (count, 1, 1, 1))
    depth = _tensor(share * _chance(count, 0.3 * strength, rng))
    return values * (1 - depth * torch.sigmoid(distance / soft))


def _tone(
    values: Tensor, bend: float, invert: float, rng: np.random.Generator
) -> Tensor:
    """Bend the tone curve, saturate, and sometimes swap bright and dark."""
    count = len(values)
    gamma = _tensor(np.exp(rng.normal(0, 0.35 * bend, (count, 1, 1, 1))))
    low = values.amin((1, 2, 3), keepdim=True)
    span = (values.amax((1, 2, 3), keepdim=True) - low).clamp(min=1e-4)
    unit = ((values - low) / span).clamp(0, 1) ** gamma
    swap = torch.from_numpy(_chance(count, 0.12 * invert, rng))
    unit = torch.where(swap, 1 - unit, unit)
    # Too dark or too bright a picture loses one end of its range.
    bottom = _tensor(rng.uniform(-0.05, 0.12 * bend, (count, 1, 1, 1)))
    top = _tensor(1 - rng.uniform(-0.05, 0.25 * bend, (count, 1, 1, 1)))
    return unit.clamp(bottom.clamp(min=0), top)


def _blur(values: Tensor, rng: np.random.Generator) -> Tensor:
    """Blur each crop by its own Gaussian, sometimes along one direction more."""
    count, maps = values.shape[:2]
    sigma = rng.uniform(0.3, 1.3, (count, 1, 1, 1)) * _chance(count, 0.9, rng)
    smear = rng.uniform(0, 1.5, (count, 1, 1, 1)) * _chance(count, 0.25, rng)
    angle = rng.uniform(0, math.pi, (count, 1, 1, 1))
    line = np.arange(-4, 5)
    y, x = line[:, None], line[None]
    along = np.cos(angle) * x + np.sin(angle) * y
    across = np.cos(angle) * y - np.sin(angle) * x
    wide, narrow = np.maximum(np.hypot(sigma, smear), 0.05), np.maximum(sigma, 0.05)
    kernel = np.exp(-((along / wide) ** 2 + (across / narrow) ** 2) / 2)
    kernel = _tensor(kernel / kernel.sum((-2, -1), keepdims=True))
    kernel = kernel.expand(-1, maps, -1, -1).reshape(count * maps, 1, 9, 9)
    padded = F.pad(values, (4, 4, 4, 4), mode="replicate")
    flat = padded.reshape(1, count * maps, *padded.shape[-2:])
    return F.conv2d(flat, kernel, groups=count * maps).reshape(values.shape)


def _noise(values: Tensor, rng: np.random.Generator) -> Tensor:
    count = len(values)
    level = rng.uniform(0, 0.05, (count, 1, 1, 1))
    shape = (count, 1, *values.shape[-2:])
    noise = torch.from_numpy(rng.standard_normal(shape, dtype=np.float32))
    if values.shape[1] > 1:  # mostly the same in all colors
        own = rng.standard_normal(values.shape, dtype=np.float32)
        noise = noise + 0.4 * torch.from_numpy(own)
    return values + _tensor(level) * noise


def _jpeg(values: Tensor, rng: np.random.Generator) -> Tensor:
    """Round the cosine transform of 8×8 blocks, as JPEG and video do."""
    count, side = len(values), values.shape[-1]
    fill = -side % 8
    padded = F.pad(values, (0, fill, 0, fill), mode="replicate")
    coarse = _tensor(rng.uniform(0.01, 0.06, (count, 1, 1, 1, 1, 1)))
    table = _cosines()
    order = torch.arange(8.0)
    step = coarse * (1 + 0.5 * (order[:, None] + order[None]))
    blocks = padded.unflatten(-1, (-1, 8)).unflatten(-3, (-1, 8))  # n c R 8 C 8
    blocks = blocks.transpose(-3, -2)
    spectrum = table @ blocks @ table.T
    rounded = torch.round(spectrum / step) * step
    decoded = (table.T @ rounded @ table).transpose(-3, -2).reshape(padded.shape)
    return decoded[..., :side, :side]


def _cosines() -> Tensor:
    """The orthonormal cosine transform of 8 numbers, (8, 8)."""
    k, n = np.arange(8)[:, None], np.arange(8)[None]
    table = np.sqrt(2 / 8) * np.cos(np.pi * (2 * n + 1) * k / 16)
    table[0] /= np.sqrt(2)
    return _tensor(table)


def _cut(known: Tensor, rng: np.random.Generator) -> Tensor:
    """Forget what lies beyond a line, as at the border of an image."""
    count, side = len(known), known.shape[-1]
    distance = _side_of_line(count, side, 0.08, 0.5, rng)
    chosen = torch.from_numpy(_chance(count, 0.12, rng))
    return torch.where(chosen & (distance > 0), 0.0, known)
