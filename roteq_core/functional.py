"""Operations on fields without state: the equations of the paper as functions.

A field is one tensor (B, C, 2, H, W): component 0 is u, to the right, component 1 is v,
down. The paper is Marcos et al., ICCV 2017, arXiv:1612.09346; equations are numbered in
docs/method.md. Pooling over orientations is in `roteq_core.pooling`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from roteq_core.checks import (
    as_tuple,
    check_at_least_one,
    check_conv_input,
    check_field,
    check_filters,
    check_integers,
)
from roteq_core.engine.precision import (
    at_least_single,
    flat_tolerance,
    without_autocast,
)
from roteq_core.geometry import TurningOperator


def harmonic_bank(weight: Tensor, operator: TurningOperator) -> Tensor:
    """Spread canonical filters over the K harmonic filters of a turning operator.

    Parameters
    ----------
    weight : Tensor of shape (F, C, P, k, k)
        P = 1 for filters on images, 2 (u, v) for filters on fields.
    operator : TurningOperator

    Returns
    -------
    Tensor of shape (F·K, C·P, k, k)
        Ready for one `conv2d`; the K maps of a filter follow each other.
    """
    filters, maps, parts, height, width = weight.shape
    flat = weight.reshape(filters, maps, -1)
    harmonics = operator.harmonics.to(weight)
    with without_autocast(weight):
        bank = torch.einsum("kpq,fcq->fkcp", harmonics, flat)
    return bank.reshape(-1, maps * parts, height, width)


def rotating_conv(
    x: Tensor,
    weight: Tensor,
    operator: TurningOperator,
    *,
    bias: Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
) -> Tensor:
    """Convolve with each filter at each of R orientations: method.md (3) and (5).

    As everywhere in deep learning, "convolution" is correlation: the filter is not
    mirrored.

    Parameters
    ----------
    x : Tensor of shape (B, C, H, W), an image, or (B, C, 2, H, W), a field
    weight : Tensor of shape (F, C, 1 or 2, k, k)
        The canonical filters.
    operator : TurningOperator
        Turns them; its `trig` says to which angles.
    bias : Tensor of shape (F,), optional
        The same at every orientation.
    stride, padding : int
        As in `conv2d`; the padding is zero.

    Returns
    -------
    Tensor of shape (B, F, R, H', W')
    """
    check_at_least_one(stride=stride)
    check_integers(0, padding=padding)
    check_filters(weight, operator.harmonics.shape[-1])
    check_conv_input(x, weight, padding)
    return convolve_bank(
        x,
        harmonic_bank(weight, operator),
        operator.trig,
        bias=bias,
        stride=stride,
        padding=padding,
    )


def convolve_bank(
    x: Tensor,
    bank: Tensor,
    trig: Tensor,
    *,
    bias: Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
) -> Tensor:
    """Do the work of `rotating_conv` with a bank from `harmonic_bank`."""
    maps = x.flatten(1, 2) if x.ndim == 5 else x
    maps = maps.contiguous(memory_format=torch.channels_last)
    bank = bank.contiguous(memory_format=torch.channels_last)
    if 0 in maps.shape[-2:]:  # which `conv2d` refuses, padded or not
        maps, padding = F.pad(maps, [padding] * 4), 0
    coefficients = F.conv2d(maps, bank, stride=stride, padding=padding)
    coefficients = coefficients.unflatten(1, (-1, trig.shape[1]))
    wide = at_least_single(coefficients)
    with without_autocast(x):
        responses = torch.einsum("bfkhw,rk->bfrhw", wide, trig.to(wide))
    if bias is not None:
        responses = responses + bias.to(responses)[:, None, None, None]
    return responses.to(coefficients.dtype)


def magnitude(field: Tensor) -> Tensor:
    """Length of the vectors, (B, C, H, W); its gradient at a zero vector is zero."""
    check_field(field)
    return _length(at_least_single(field)).to(field.dtype)


def _length(field: Tensor) -> Tensor:
    u, v = field.unbind(2)
    squared = u * u + v * v
    is_zero = squared == 0
    return torch.sqrt(squared.masked_fill(is_zero, 1)).masked_fill(is_zero, 0)


def magnitude_variance(field: Tensor) -> Tensor:
    """Variance of the magnitudes of each map over a batch, (C,), at least float32."""
    return _length(at_least_single(field)).var((0, 2, 3), correction=0)


def field_max_pool(field: Tensor, size: int = 2) -> Tensor:
    """Keep the longest vector of each window: method.md (12).

    Windows are size × size and do not overlap. Where a side n is not a multiple of
    `size` they are laid symmetrically about the center, so that pooling a turned field
    is the turned pooled field: ⌈n/size⌉ windows reach beyond both ends alike, and where
    that is half a pixel each, all are a pixel wider and overlap. For the same reason
    vectors that are equally long to rounding count equally: their mean is kept.

    An export by `torch.jit.trace`, or by `torch.export` with dynamic shapes, pools
    sides of every length that has two windows or more; `strict=True` keeps the
    parity of the sides.

    Parameters
    ----------
    field : Tensor of shape (B, C, 2, H, W)
    size : int

    Returns
    -------
    Tensor of shape (B, C, 2, ⌈H/size⌉, ⌈W/size⌉)
    """
    check_field(field)
    check_at_least_one(size=size)
    taps = _window_taps(field, size)
    with torch.no_grad():
        lengths = [at_least_single(tap).square().sum(2) for tap in taps]  # squared
        longest = functools.reduce(torch.maximum, lengths)
        limit = longest * (1 - 2 * flat_tolerance(field.dtype))
        is_longest = [(length >= limit).to(field) for length in lengths]
        count = functools.reduce(torch.add, is_longest)
        shares = [(each / count).unsqueeze(2) for each in is_longest]
    kept = (tap * share for tap, share in zip(taps, shares, strict=True))
    return functools.reduce(torch.add, kept)


def _window_taps(field: Tensor, size: int) -> list[Tensor]:
    """The first vector of every window, the second, …: each (B, C, 2, H', W')."""
    rows, columns = (_symmetric_windows(n, size) for n in field.shape[-2:])
    # A zero vector outside is never longer than one inside.
    pads = [columns.before, columns.after, rows.before, rows.after]
    known = all(isinstance(pad, int) for pad in pads)
    padded = field if known and not any(pads) else F.pad(field, pads)
    return [
        columns.counted(j, rows.counted(i, padded[..., rows.tap(i), columns.tap(j)]))
        for i in range(rows.kernel)
        for j in range(columns.kernel)
    ]


class _Windows(NamedTuple):
    """How windows lie along a side."""

    size: int
    number: int
    kernel: int
    before: int
    after: int
    is_wide: int | None = None
    """Whether windows have their last tap, 1 or 0, where only a run will tell."""

    def tap(self, first: int) -> slice:
        """Where the tap `first` of each window is."""
        return slice(first, first + self.size * (self.number - 1) + 1, self.size)

    def counted(self, first: int, tap: Tensor) -> Tensor:
        """Make vectors that windows turn out not to have zero: none is shorter."""
        if self.is_wide is None or first < self.size:
            return tap
        return tap * self.is_wide


def _symmetric_windows(length: int, size: int) -> _Windows:
    """Cover a side symmetrically with stride `size`."""
    number = -(-length // size)
    padding = (number * size - length + 1) // 2
    kernel = length + 2 * padding - size * (number - 1)
    if isinstance(length, int):
        return _Windows(size, number, kernel, padding, padding)
    # An export for all sizes reads windows of both widths alike.
    after = padding + size + 1 - kernel
    return _Windows(size, number, size + 1, padding, after, kernel - size)


def field_upsample(field: Tensor, size: tuple[int, int]) -> Tensor:
    """Interpolate both components bilinearly to (H', W')."""
    check_field(field)
    sides = as_tuple(size)
    if len(sides) != 2:
        raise ValueError(f"size must be (height, width), got {size!r}")
    check_at_least_one(height=sides[0], width=sides[1])
    up = F.interpolate(
        field.flatten(1, 2), size=sides, mode="bilinear", align_corners=False
    )
    return up.reshape(*field.shape[:3], *sides)


def field_normalize(
    field: Tensor, variance: Tensor, gain: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Divide each map by the standard deviation of its magnitude: method.md (13)."""
    scale = torch.rsqrt(at_least_single(variance) + eps)
    if gain is not None:
        scale = scale * gain
    return (field * scale[:, None, None, None]).to(field.dtype)
