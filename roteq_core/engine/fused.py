"""Rotating convolution and orientation pooling in one pass, strip by strip.

The R responses of a filter never exist for a whole image: a strip is convolved to the
coefficients of their Fourier series, expanded to the R responses while they are in the
cache, and pooled at once. Training keeps the winner's index and the shape of its peak
for each pixel and filter, which with the result is all that the gradient needs;
nothing is computed again. The result equals `rotating_conv` followed by
`orientation_pool` to float rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from roteq_core.engine.peaks import (
    Kept,
    PoolRule,
    find_winners,
    keep_winners,
    pool_winners,
    spread_gradient,
    winners_gradient,
)
from roteq_core.engine.precision import flat_tolerance, without_autocast
from roteq_core.engine.spectral_strips import SpectralConv, tile_side
from roteq_core.engine.strips import DirectConv, StripConv
from roteq_core.engine.waves import is_wave_rule, pooled_waves
from roteq_core.pooling import Orientations

# Responses in flight, in numbers: what stays in a CPU's cache, or keeps a GPU busy.
CPU_STRIP = 600_000
GPU_STRIP = 64_000_000
# How many times as much is convolved at once.
WIDER = 4
# Maps that a processor convolves at once, by what torch calls its capability.
BLOCKS = {"AVX512": 16}

Method = Literal["auto", "direct", "spectral"]


@dataclass(frozen=True)
class Pooling:
    """What `fused_conv_pool` needs to know besides tensors.

    Parameters
    ----------
    filters : int
    angles : Orientations
    refine : bool
        As in `orientation_pool`.
    stride, padding : int
        As in `conv2d`.
    strip : int, optional
        Responses in flight.
    keep : {"vector", "magnitude"}
        Vectors, or the winning response alone, as `sector_pool` with one bin.
    method : {"auto", "direct", "spectral"}
        How to convolve; ``auto`` takes spectra for training on a CPU where they are
        faster. They round differently from place to place, and so do not give bit for
        bit the same for a tile as for the whole image, as the direct way does.
    one_wave : bool
        Whether the responses of a filter are one wave a·cos α + b·sin α, as those of a
        single tap on fields are: `roteq_core.engine.waves` then finds the winner by
        its phase.
    """

    filters: int
    angles: Orientations
    refine: bool
    stride: int
    padding: int
    strip: int | None = None
    keep: Literal["vector", "magnitude"] = "vector"
    method: Method = "auto"
    one_wave: bool = False

    def rule(self, dtype: torch.dtype) -> PoolRule:
        """What happens to responses."""
        return PoolRule(self.angles, flat_tolerance(dtype), self.refine, self.keep)


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
    Tensor of shape (B, F, 2, H', W'), or (B, F, H', W') for magnitudes
    """
    if bias is not None and not torch.is_grad_enabled():
        bias = bias.detach()  # or it alone would have the peaks kept
    # Half precision is too coarse for angles.
    trig = trig.to(bank.device, torch.promote_types(bank.dtype, torch.float32))
    rule = pooling.rule(maps.dtype)
    with without_autocast(maps):
        if pooling.one_wave and not pooling.padding and is_wave_rule(rule, len(trig)):
            return pooled_waves(maps, bank, bias, rule, pooling.stride)
        result: Tensor = _FusedConvPool.apply(  # type: ignore[no-untyped-call]
            maps, bank, trig, bias, pooling
        )
    return result if pooling.keep == "vector" else result.squeeze(2)


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
        keep = any(ctx.needs_input_grad)
        rule = pooling.rule(maps.dtype)
        terms = trig.shape[1] if keep else _full_terms(maps, trig, pooling.filters)
        bank, trig = _with_terms(bank, trig, terms)
        conv = _convolution(maps, bank, pooling, training=keep)
        values = 2 if rule.keep == "vector" else 1
        result = maps.new_empty(len(maps), pooling.filters, values, *conv.size)
        pixels = _strip_pixels(maps, trig, pooling)
        kept: list[Kept] = []
        # Wider strips convolve faster, but backward takes one at a time.
        for strip in conv.strips(pixels if keep else WIDER * pixels):
            rows = conv.coefficients(strip).view(-1, trig.shape[1]).to(trig.dtype)
            noise = conv.noise(pooling.filters)
            pooled = []
            for part in _parts(len(rows), len(rows) if keep else pixels, pooling):
                nearby = None if noise is None else noise[part]
                winners = find_winners(rows[part], trig, rule, bias, nearby)
                pooled.append(pool_winners(winners, rule, bias))
                if keep:
                    kept.append(keep_winners(winners, len(trig)))
            joined = (torch.cat(p) for p in zip(*pooled, strict=True))
            conv.place(result, strip, tuple(joined))
        if keep:
            tensors = (tensor for winners in kept for tensor in winners)
            ctx.save_for_backward(maps, bank, trig, bias, result, *tensors)
            ctx.pooling = pooling
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        maps, bank, trig, bias, result, *kept = ctx.saved_tensors
        pooling: Pooling = ctx.pooling
        rule = pooling.rule(maps.dtype)
        need_maps, need_bank, _, need_bias, _ = ctx.needs_input_grad
        # Coefficients come first here: that is how their gradients lie in memory.
        shape = (pooling.filters, trig.shape[1], *bank.shape[1:])
        by_term = bank.view(shape).transpose(0, 1).reshape(bank.shape)
        conv = _convolution(maps, by_term, pooling, training=True)
        conv.want_gradients(need_maps, need_bank)
        grad_bias = torch.zeros_like(bias) if need_bias else None
        strips = conv.strips(_strip_pixels(maps, trig, pooling))
        for number, strip in enumerate(strips):
            winners = Kept(*kept[3 * number : 3 * number + 3])
            pooled, grads = (
                tuple(part.to(trig.dtype) for part in conv.take(whole, strip))
                for whole in (result, grad)
            )
            slopes = winners_gradient(winners, pooled, grads, rule)
            if grad_bias is not None:
                for slope in slopes:
                    grad_bias += slope.view(-1, pooling.filters).sum(0)
            if need_maps or need_bank:
                with without_autocast(trig):
                    terms = spread_gradient(slopes, winners.row, trig, rule)
                terms = terms.view(len(terms), -1, pooling.filters).transpose(0, 1)
                conv.add_gradient(strip, terms.flatten(1).to(bank.dtype))
        grad_maps, grad_bank = conv.gradients()
        if grad_bank is not None:
            by_term = grad_bank.reshape(shape[1], shape[0], *shape[2:])
            grad_bank = by_term.transpose(0, 1).reshape(bank.shape)
        return grad_maps, grad_bank, None, grad_bias, None


def _full_terms(maps: Tensor, trig: Tensor, filters: int) -> int:
    """Terms of a filter that leave no block of maps half empty, else as many as now.

    A block costs the same, full or not: 8 filters of 11 terms take longer than 8 of 12.
    """
    terms = trig.shape[1]
    block = BLOCKS.get(torch.backends.cpu.get_cpu_capability(), 1)
    if maps.device.type != "cpu" or maps.dtype != torch.float32:
        return terms
    maps_computed = -(-filters * terms // block) * block
    return terms if maps_computed % filters else maps_computed // filters


def _with_terms(bank: Tensor, trig: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Fill up a bank (F·K, M, k, k) and its trig (R, K) with terms that are zero."""
    terms = trig.shape[1]
    if count == terms:
        return bank, trig
    nothing = (0, count - terms)
    by_filter = bank.unflatten(0, (-1, terms))
    filled = F.pad(by_filter, (0, 0) * 3 + nothing).flatten(0, 1)
    return filled, F.pad(trig, nothing)


def _convolution(
    maps: Tensor, bank: Tensor, pooling: Pooling, *, training: bool
) -> StripConv:
    """Choose how to convolve."""
    single_on_cpu = maps.device.type == "cpu" and maps.dtype == torch.float32
    wanted = (
        training and single_on_cpu
        if pooling.method == "auto"
        else (pooling.method == "spectral")
    )
    # Rounding breaks the ties of responses that are all zero: the gradient of a
    # magnitude would depend on it.
    if wanted and pooling.stride == 1 and pooling.keep == "vector":
        valid = tile_side(maps, bank, pooling.padding, training=training)
        if valid is not None:
            return SpectralConv(maps, bank, pooling.padding, valid)
    return DirectConv(maps, bank, pooling.padding, pooling.stride)


def _strip_pixels(maps: Tensor, trig: Tensor, pooling: Pooling) -> int:
    """How many pixels of a strip keep the responses within their budget."""
    budget = CPU_STRIP if maps.device.type == "cpu" else GPU_STRIP
    return (pooling.strip or budget) // (trig.shape[0] * pooling.filters)


def _parts(count: int, pixels: int, pooling: Pooling) -> Iterator[slice]:
    """Cut `count` rows of coefficients into parts of some pixels."""
    size = max(1, pixels) * pooling.filters
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))


__all__ = ["Pooling", "fused_conv_pool"]
