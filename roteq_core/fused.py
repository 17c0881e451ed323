"""Rotating convolution and orientation pooling in one pass, strip by strip.

The R responses of a filter never exist for a whole image: a strip of rows is convolved
in `channels_last`, expanded to its R responses while they are in the cache, and pooled
at once. Training keeps the winner, its two neighbors and its index for each pixel and
filter, which is all that the gradient needs; nothing is computed again. The result
equals `rotating_conv` followed by `orientation_pool` to float rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from roteq_core.functional import (
    Orientations,
    Peak,
    flat_tolerance,
    is_flat,
    neighbors,
    plain_peak,
    refine_peak,
)

# Responses in flight, in numbers: what stays in a CPU's cache, or keeps a GPU busy.
CPU_STRIP = 3_000_000
GPU_STRIP = 64_000_000


@dataclass(frozen=True)
class Pooling:
    """What `fused_conv_pool` needs to know besides tensors."""

    filters: int
    angles: Orientations
    refine: bool
    stride: int
    padding: int
    strip: int | None = None


def fused_conv_pool(
    maps: Tensor, bank: Tensor, trig: Tensor, bias: Tensor | None, pooling: Pooling
) -> Tensor:
    """Convolve and pool: `orientation_pool(rotating_conv(…))` without the responses.

    Parameters
    ----------
    maps : Tensor of shape (B, M, H, W)
        An image, or a field with its components as maps.
    bank : Tensor of shape (F·K, M, k, k)
        From `harmonic_bank`.
    trig : Tensor of shape (R, K)
        Coefficients to responses.
    bias : Tensor of shape (F,), optional
    pooling : Pooling

    Returns
    -------
    Tensor of shape (B, F, 2, H', W')
    """
    if bias is not None and not torch.is_grad_enabled():
        bias = bias.detach()  # or it alone would have the peaks kept
    field: Tensor = _FusedConvPool.apply(  # type: ignore[no-untyped-call]
        maps, bank, trig.to(bank), bias, pooling
    )
    return field


class _FusedConvPool(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        maps: Tensor,
        bank: Tensor,
        trig: Tensor,
        bias: Tensor | None,
        pooling: Pooling,
    ) -> Tensor:
        padded = _pad(maps, pooling.padding)
        bank = bank.contiguous(memory_format=torch.channels_last)
        size = _output_size(padded, bank, pooling.stride)
        filters = pooling.filters
        keep = any(ctx.needs_input_grad)
        field = maps.new_empty(maps.shape[0], filters, 2, *size)
        # Peaks are kept pixel by pixel, filters last, as the strips come.
        shape = (maps.shape[0], *size, filters)
        peaks = [maps.new_empty(shape) for _ in range(3)] if keep else []
        index = (
            torch.empty(shape, dtype=torch.int16, device=maps.device) if keep else None
        )
        for strip in _strips(padded, trig.shape[0] * filters, size, bank, pooling):
            rows = padded[strip.batch, :, strip.source]
            peak, flat = _strip_peak(rows, bank, trig, bias, pooling)
            u, v = _vectors(peak, flat, bias, pooling)
            field[strip.batch, :, 0, strip.target] = u.movedim(-1, 1)
            field[strip.batch, :, 1, strip.target] = v.movedim(-1, 1)
            if index is not None:
                for kept, value in zip(peaks, peak[:3], strict=True):
                    kept[strip.batch, strip.target] = value
                # No gradient flows where there is no direction: marked by -1.
                index[strip.batch, strip.target] = peak.winner.masked_fill(flat, -1)
        if keep:
            ctx.save_for_backward(maps, bank, trig, bias, index, *peaks)
            ctx.pooling = pooling
        return field

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        maps, bank, trig, bias, index, *peaks = ctx.saved_tensors
        pooling: Pooling = ctx.pooling
        need_maps, need_bank, _, need_bias, _ = ctx.needs_input_grad
        padded = _pad(maps, pooling.padding)
        size = grad.shape[-2:]
        grad_padded = torch.zeros_like(padded) if need_maps else None
        grad_bank = torch.zeros_like(bank) if need_bank else None
        grad_bias = torch.zeros_like(bias) if need_bias else None
        wide = trig.shape[0] * pooling.filters
        for strip in _strips(padded, wide, size, bank, pooling):
            at = (strip.batch, strip.target)
            here = index[at].long()
            left, top, right = (kept[at] for kept in peaks)
            peak = Peak(left, top, right, here.clamp(min=0))
            uv = grad[strip.batch, :, :, strip.target].movedim(1, -1)
            slopes = _peak_gradient(peak, uv, here >= 0, bias, pooling)
            if grad_bias is not None:
                grad_bias += sum(s.sum((0, 1, 2)) for s in slopes)
            coefficients = _spread(slopes, peak.winner, trig, pooling)
            back, to_bank, _ = torch.ops.aten.convolution_backward(
                coefficients,
                padded[strip.batch, :, strip.source],
                bank,
                None,
                [pooling.stride] * 2,
                [0, 0],
                [1, 1],
                False,
                [0, 0],
                1,
                [need_maps, need_bank, False],
            )
            if grad_padded is not None:
                grad_padded[strip.batch, :, strip.source] += back
            if grad_bank is not None:
                grad_bank += to_bank
        if grad_padded is not None and pooling.padding:
            p = pooling.padding
            grad_padded = grad_padded[..., p:-p, p:-p]
        return grad_padded, grad_bank, None, grad_bias, None


@dataclass(frozen=True)
class _Strip:
    """Some rows of some images: what is read and where the result goes."""

    batch: slice
    source: slice
    target: slice


def _strips(
    padded: Tensor, wide: int, size: torch.Size, bank: Tensor, pooling: Pooling
) -> Iterator[_Strip]:
    budget = pooling.strip or (CPU_STRIP if padded.device.type == "cpu" else GPU_STRIP)
    height, width = size
    rows = max(1, min(height, budget // (wide * width)))
    images = max(1, budget // (wide * width * height)) if rows == height else 1
    reach = bank.shape[-2]
    for first in range(0, padded.shape[0], images):
        for top in range(0, height, rows):
            bottom = min(top + rows, height)
            start = top * pooling.stride
            end = (bottom - 1) * pooling.stride + reach
            yield _Strip(
                slice(first, first + images), slice(start, end), slice(top, bottom)
            )


def _pad(maps: Tensor, padding: int) -> Tensor:
    maps = F.pad(maps, [padding] * 4) if padding else maps
    return maps.contiguous(memory_format=torch.channels_last)


def _output_size(padded: Tensor, bank: Tensor, stride: int) -> torch.Size:
    sides = zip(padded.shape[-2:], bank.shape[-2:], strict=True)
    return torch.Size((side - reach) // stride + 1 for side, reach in sides)


def _strip_peak(
    rows: Tensor, bank: Tensor, trig: Tensor, bias: Tensor | None, pooling: Pooling
) -> tuple[Peak, Tensor]:
    """Peaks (B, h, W, F) of a strip, and where no orientation wins."""
    coefficients = F.conv2d(rows, bank, stride=pooling.stride)
    # channels_last: the K coefficients of a filter lie side by side in memory.
    y = coefficients.permute(0, 2, 3, 1).unflatten(-1, (pooling.filters, -1))
    if not _is_identity(trig):
        y = y @ trig.T
    top, index = y.max(-1, keepdim=True)
    count = y.shape[-1]
    left, right = neighbors(count, pooling.angles.cyclic, y.device)
    across = (index + max(1, count // 4)) % count
    beside = torch.cat([left[index], right[index], across], -1)
    y_left, y_right, y_across = y.gather(-1, beside).unbind(-1)
    peak = Peak(y_left, top[..., 0], y_right, index[..., 0])
    return peak, _where_flat(y, peak.top, y_across, bias, pooling)


def _is_identity(trig: Tensor) -> bool:
    """Whether the bank holds one filter per angle already."""
    count, terms = trig.shape
    return count == terms and torch.equal(trig, torch.eye(count).to(trig))


def _where_flat(
    y: Tensor, top: Tensor, across: Tensor, bias: Tensor | None, pooling: Pooling
) -> Tensor:
    """`is_flat` with the bias, looking closer only where it may hold.

    That is where the winner is not above the response a quarter turn away.
    """
    shift = torch.zeros_like(top) if bias is None else bias.to(y).expand_as(top)
    if y.device.type != "cpu":
        return is_flat(y + shift[..., None], pooling.angles.cyclic)
    if y.shape[-1] == 1:
        return torch.zeros_like(top, dtype=torch.bool)
    flat = top - across <= flat_tolerance(y.dtype) * (top + shift).abs()
    if flat.any():
        closer = y[flat] + shift[flat][:, None]
        flat[flat.clone()] = is_flat(closer, pooling.angles.cyclic)
    return flat


def _vectors(
    peak: Peak, flat: Tensor, bias: Tensor | None, pooling: Pooling
) -> tuple[Tensor, Tensor]:
    """(u, v) of peaks (..., F), each (..., F)."""
    find = refine_peak if pooling.refine else plain_peak
    rho, theta = find(peak, pooling.angles)
    if bias is not None:
        rho = rho + bias.to(rho)
    rho = rho.relu().masked_fill(flat, 0)
    return rho * theta.cos(), rho * theta.sin()


def _peak_gradient(
    peak: Peak, uv: Tensor, has_direction: Tensor, bias: Tensor | None, pooling: Pooling
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of the left, top and right responses from those of u and v.

    `uv` has shape (B, 2, h, W, F).
    """
    peak = peak.at_least_single()
    find = refine_peak if pooling.refine else plain_peak
    rho, theta = find(peak, pooling.angles)
    if bias is not None:
        rho = rho + bias.to(rho)
    alive = has_direction & (rho > 0)
    grad_u, grad_v = (torch.where(alive, g, 0.0) for g in uv.unbind(1))
    cos, sin = theta.cos(), theta.sin()
    to_rho = grad_u * cos + grad_v * sin
    if not pooling.refine:
        return torch.zeros_like(to_rho), to_rho, torch.zeros_like(to_rho)
    to_offset = pooling.angles.step * rho * (grad_v * cos - grad_u * sin)
    slope = peak.right - peak.left
    bend = 2 * peak.top - peak.left - peak.right
    bent = bend > 0
    safe = torch.where(bent, bend, 1.0)
    offset = torch.where(bent, slope / (2 * safe), 0.0)
    to_offset = torch.where(bent, to_offset + to_rho * slope / 4, 0.0)
    to_slope = to_offset / (2 * safe) + to_rho * offset / 4
    to_bend = -to_offset * offset / safe
    return -to_slope - to_bend, to_rho + 2 * to_bend, to_slope - to_bend


def _spread(
    slopes: tuple[Tensor, Tensor, Tensor], index: Tensor, trig: Tensor, pooling: Pooling
) -> Tensor:
    """Gradients of three responses → of all K coefficients, (B, F·K, h, W)."""
    count = trig.shape[0]
    left, right = neighbors(count, pooling.angles.cyclic, index.device)
    places = torch.stack([left[index], index, right[index]], -1)
    to_y = trig.new_zeros(*index.shape, count)
    to_y.scatter_add_(-1, places, torch.stack(slopes, -1).to(trig.dtype))
    if not _is_identity(trig):
        to_y = to_y @ trig
    return to_y.flatten(-2).permute(0, 3, 1, 2)  # channels_last in memory


__all__ = ["Pooling", "fused_conv_pool"]
