"""Operations on fields without state: the equations of the paper as functions.

A field is one tensor (B, C, 2, H, W): component 0 is u, to the right, component 1 is v,
down. The paper is Marcos et al., ICCV 2017, arXiv:1612.09346; equations are numbered in
docs/method.md.
"""

from __future__ import annotations

import contextlib
import functools
import math
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from roteq_core.geometry import TurningOperator


class Orientations(NamedTuple):
    """The angles that responses stand for, in order."""

    first: float = 0.0
    step: float = 0.0
    cyclic: bool = True


def full_circle(orientations: int) -> Orientations:
    """R equal steps around the circle from angle 0."""
    return Orientations(0.0, 2 * math.pi / orientations, True)


def at_least_single(x: Tensor) -> Tensor:
    """Give x, in float32 if it is in half precision: too coarse to square or turn."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def without_autocast(x: Tensor) -> contextlib.AbstractContextManager[None]:
    """Switch autocast off where x is, for what half precision is too coarse for."""
    if not torch.is_autocast_enabled(x.device.type):
        return contextlib.nullcontext()  # exporters need not see it
    return torch.autocast(x.device.type, enabled=False)


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
    coefficients = F.conv2d(maps, bank, stride=stride, padding=padding)
    coefficients = coefficients.unflatten(1, (-1, trig.shape[1]))
    wide = at_least_single(coefficients)
    with without_autocast(x):
        responses = torch.einsum("bfkhw,rk->bfrhw", wide, trig.to(wide))
    if bias is not None:
        responses = responses + bias.to(responses)[:, None, None, None]
    return responses.to(coefficients.dtype)


def orientation_pool(
    responses: Tensor,
    angles: Orientations | None = None,
    *,
    refine: bool = True,
) -> Tensor:
    """Keep the strongest orientation at each pixel, as a vector: method.md (7)-(10).

        ρ = max_r y_r,   θ = α_argmax,   (u, v) = ReLU(ρ) (cos θ, sin θ)

    Where no orientation wins there is no direction, and the vector is zero: `is_flat`.

    Parameters
    ----------
    responses : Tensor of shape (B, C, R, H, W)
    angles : Orientations, optional
        What the R responses stand for; the full circle from 0 if not given.
    refine : bool
        Put ρ and θ at the top of the parabola through the winner and its two
        neighbors, so that θ is not limited to R values.

    Returns
    -------
    Tensor of shape (B, C, 2, H, W)
    """
    _check_responses(responses)
    count = responses.shape[2]
    angles = angles or full_circle(count)
    y = responses.movedim(2, -1)  # (B, C, H, W, R)
    peak = find_peak(y, angles.cyclic)
    rho, theta = refine_peak(peak, angles) if refine else plain_peak(peak, angles)
    rho = rho.relu().masked_fill(is_flat(y, angles.cyclic), 0)
    vector = torch.stack([rho * theta.cos(), rho * theta.sin()], 2)
    return vector.to(responses.dtype)


class Peak(NamedTuple):
    """The winning response, those beside it, and the index of the winner."""

    left: Tensor
    top: Tensor
    right: Tensor
    winner: Tensor

    def at_least_single(self) -> Peak:
        """The same, in single precision at least."""
        left, top, right = (at_least_single(y) for y in self[:3])
        return Peak(left, top, right, self.winner)


def neighbors(count: int, cyclic: bool, device: torch.device) -> tuple[Tensor, Tensor]:
    """Indices of the left and right neighbor of each orientation.

    A limited range of tilts has none beyond its ends: there the inner one stands for
    both, so that the top of the parabola stays at the end.
    """
    index = torch.arange(count, device=device)
    if cyclic or count == 1:
        return (index - 1) % count, (index + 1) % count
    left, right = index - 1, index + 1
    left[0], right[-1] = 1, count - 2
    return left, right


def find_peak(y: Tensor, cyclic: bool) -> Peak:
    """Find the strongest of responses (..., R) and its neighbors."""
    top, index = y.max(-1, keepdim=True)
    left, right = neighbors(y.shape[-1], cyclic, y.device)
    y_left, y_right = y.gather(-1, left[index]), y.gather(-1, right[index])
    return Peak(y_left[..., 0], top[..., 0], y_right[..., 0], index[..., 0])


def plain_peak(peak: Peak, angles: Orientations) -> tuple[Tensor, Tensor]:
    """ρ and θ of the winner itself."""
    peak = peak.at_least_single()
    theta = angles.first + peak.winner.to(peak.top.dtype) * angles.step
    return peak.top, theta


def refine_peak(peak: Peak, angles: Orientations) -> tuple[Tensor, Tensor]:
    """ρ and θ at the top of the parabola through three responses: method.md (11)."""
    peak = peak.at_least_single()
    slope = peak.right - peak.left
    bend = 2 * peak.top - peak.left - peak.right
    bent = is_bent(bend)
    offset = torch.where(bent, slope / (2 * torch.where(bent, bend, 1.0)), 0.0)
    rho = peak.top + slope * offset / 4
    theta = angles.first + (peak.winner.to(rho.dtype) + offset) * angles.step
    return rho, theta


def is_bent(bend: Tensor) -> Tensor:
    """Whether a parabola has a top: its bend is positive and has a finite inverse."""
    return bend >= torch.finfo(bend.dtype).tiny


def flat_tolerance(dtype: torch.dtype) -> float:
    """How much responses may differ, relative to the winner, and still be alike."""
    return math.sqrt(torch.finfo(dtype).eps) / 4


def is_flat(y: Tensor, cyclic: bool = True) -> Tensor:
    """Whether responses (..., R) prefer no orientation: (...), boolean.

    That is so where all are alike. Around a circle of 4n orientations it is also so
    where they repeat after each quarter turn, as they do in the middle of a cross, or
    on flat ground under a filter whose turned versions differ in their sums.
    """
    count = y.shape[-1]
    if count == 1:
        return torch.zeros(y.shape[:-1], dtype=torch.bool, device=y.device)
    y = y.detach()
    fourfold = cyclic and count % 4 == 0
    quarters = y.unflatten(-1, (4 if fourfold else count, -1))
    high, low = quarters.amax(-2), quarters.amin(-2)
    size = high.amax(-1).abs()
    flat: Tensor = (high - low).amax(-1) <= flat_tolerance(y.dtype) * size
    return flat


def sector_pool(
    responses: Tensor,
    bins: int,
    *,
    keep: Literal["magnitude", "vector"] = "magnitude",
    angles: Orientations | None = None,
) -> Tensor:
    """Cut the circle into `bins` sectors and keep the strongest response of each.

    The paper's patch-matching section: one bin is fully invariant, more bins keep a
    coarse direction.

    Parameters
    ----------
    responses : Tensor of shape (B, C, R, H, W)
    bins : int
        Between 1 and R. Sector s holds the angles around 2π s / bins; a limited range
        of tilts is cut into equal parts.
    keep : {"magnitude", "vector"}
        Vectors are zero where no orientation wins, as in `orientation_pool`.
    angles : Orientations, optional
        What the R responses stand for; the full circle from 0 if not given.

    Returns
    -------
    Tensor of shape (B, C·bins, H, W), or (B, C·bins, 2, H, W) for vectors
    """
    _check_responses(responses)
    count = responses.shape[2]
    if not 1 <= bins <= count:
        raise ValueError(f"bins must lie between 1 and R = {count}, got {bins}")
    if keep not in ("magnitude", "vector"):
        raise ValueError(f"keep must be 'magnitude' or 'vector', got {keep!r}")
    angles = angles or full_circle(count)
    sector = _sectors(count, bins, angles.cyclic).to(responses.device)
    tops, thetas = [], []
    for s in range(bins):
        members = torch.nonzero(sector == s)[:, 0]
        top, index = responses[:, :, members].max(2)
        tops.append(top.relu())
        winner = members[index].to(torch.promote_types(top.dtype, torch.float32))
        thetas.append(angles.first + winner * angles.step)
    rho = torch.stack(tops, 2)  # (B, C, bins, H, W)
    if keep == "magnitude":
        return rho.flatten(1, 2)
    flat = is_flat(responses.movedim(2, -1), angles.cyclic)
    rho = rho.masked_fill(flat.unsqueeze(2), 0).flatten(1, 2)
    theta = torch.stack(thetas, 2).flatten(1, 2)
    return torch.stack([rho * theta.cos(), rho * theta.sin()], 2).to(rho.dtype)


def _sectors(count: int, bins: int, cyclic: bool) -> Tensor:
    """(R,): the sector of each orientation."""
    index = torch.arange(count)
    if not cyclic:
        return index * bins // count
    return (index * bins + count // 2) // count % bins


def _check_responses(responses: Tensor) -> None:
    if responses.ndim != 5:
        raise ValueError(
            f"responses must have shape (B, C, R, H, W), got {tuple(responses.shape)}"
        )


def check_field(field: Tensor) -> None:
    """Raise if a tensor is not a field."""
    if field.ndim != 5 or field.shape[2] != 2:
        raise ValueError(
            f"a field must have shape (B, C, 2, H, W), got {tuple(field.shape)}"
        )


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

    Parameters
    ----------
    field : Tensor of shape (B, C, 2, H, W)
    size : int

    Returns
    -------
    Tensor of shape (B, C, 2, ⌈H/size⌉, ⌈W/size⌉)
    """
    check_field(field)
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size}")
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
    pads = [columns.padding, columns.padding, rows.padding, rows.padding]
    padded = F.pad(field, pads) if any(pads) else field
    return [
        padded[..., rows.tap(i, size), columns.tap(j, size)]
        for i in range(rows.kernel)
        for j in range(columns.kernel)
    ]


class _Windows(NamedTuple):
    """How windows lie along a side."""

    number: int
    kernel: int
    padding: int

    def tap(self, first: int, size: int) -> slice:
        """Where the tap `first` of each window is."""
        return slice(first, first + size * (self.number - 1) + 1, size)


def _symmetric_windows(length: int, size: int) -> _Windows:
    """Cover a side symmetrically with stride `size`."""
    number = -(-length // size)
    padding = (number * size - length + 1) // 2
    return _Windows(number, length + 2 * padding - size * (number - 1), padding)


def field_upsample(field: Tensor, size: tuple[int, int]) -> Tensor:
    """Interpolate both components bilinearly to (H', W')."""
    check_field(field)
    if len(size) != 2 or min(size) < 1:
        raise ValueError(f"size must be (height, width), each at least 1, got {size}")
    up = F.interpolate(
        field.flatten(1, 2), size=size, mode="bilinear", align_corners=False
    )
    return up.reshape(*field.shape[:3], *size)


def field_normalize(
    field: Tensor, variance: Tensor, gain: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Divide each map by the standard deviation of its magnitude: method.md (13)."""
    scale = torch.rsqrt(at_least_single(variance) + eps)
    if gain is not None:
        scale = scale * gain
    return (field * scale[:, None, None, None]).to(field.dtype)
