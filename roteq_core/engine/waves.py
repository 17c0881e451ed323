"""A single tap on fields: one complex multiplication, and a phase rounded to R steps.

The responses of a 1×1 filter at angle α are a wave, a·cos α + b·sin α = m·cos(α - φ).
The strongest of R angles is the one nearest to the phase φ, and its neighbors follow
from how far aside it lies: no response is ever computed. Gradients compute m and φ
again, so that nothing is kept besides the input.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from roteq_core.engine.peaks import PoolRule

# Waves in flight, in numbers.
CPU_CHUNK = 250_000
GPU_CHUNK = 16_000_000


def is_wave_rule(rule: PoolRule, orientations: int) -> bool:
    """Whether winners of waves can be found by their phase: on a circle of angles."""
    return rule.angles.cyclic and orientations > 3


def pooled_waves(
    maps: Tensor, bank: Tensor, bias: Tensor | None, rule: PoolRule, stride: int = 1
) -> Tensor:
    """Convolve fields with single taps and pool over orientations.

    Parameters
    ----------
    maps : Tensor of shape (B, M, H, W)
        Fields with their components as maps.
    bank : Tensor of shape (2F, M, 1, 1)
        For each filter the weights of a and of b.
    bias : Tensor of shape (F,), optional
    rule : PoolRule
    stride : int

    Returns
    -------
    Tensor of shape (B, F, 2, H', W'), or (B, F, H', W') for magnitudes
    """
    maps = maps[..., ::stride, ::stride]
    result: Tensor = _PooledWaves.apply(  # type: ignore[no-untyped-call]
        maps.flatten(2), bank.flatten(1), bias, rule
    )
    return result.view(*result.shape[:-1], *maps.shape[-2:])


class _Waves(NamedTuple):
    """Waves (F, n) with the nearest of the R angles."""

    a: Tensor
    b: Tensor
    length: Tensor  # m
    angle: Tensor  # of the winner
    aside: Tensor  # of the phase: angle - φ


class _PooledWaves(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, maps: Tensor, bank: Tensor, bias: Tensor | None, rule: PoolRule
    ) -> Tensor:
        filters, (count, _, pixels) = len(bank) // 2, maps.shape
        parts = (2,) if rule.keep == "vector" else ()
        result = maps.new_empty(count, filters, *parts, pixels)
        for image, chunk in _chunks(maps, filters):
            pooled = _pool(_waves(maps[image, :, chunk], bank, rule), bias, rule)
            result[image, ..., chunk] = pooled
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(maps, bank, bias)
            ctx.rule = rule
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        maps, bank, bias = ctx.saved_tensors
        rule: PoolRule = ctx.rule
        need_maps, need_bank, need_bias, _ = ctx.needs_input_grad
        to_maps = torch.empty_like(maps) if need_maps else None
        to_bank = torch.zeros_like(bank) if need_bank else None
        to_bias = torch.zeros_like(bias) if need_bias else None
        for image, chunk in _chunks(maps, len(bank) // 2):
            part = maps[image, :, chunk]
            to_rho, to_a, to_b = _gradient(
                _waves(part, bank, rule), grad[image, ..., chunk], bias, rule
            )
            to_rows = torch.stack([to_a, to_b], 1).flatten(0, 1).to(bank.dtype)
            if to_maps is not None:
                to_maps[image, :, chunk] = bank.T @ to_rows
            if to_bank is not None:
                to_bank += to_rows @ part.T
            if to_bias is not None:
                to_bias += to_rho.sum(1)
        return to_maps, to_bank, to_bias, None


def _chunks(maps: Tensor, filters: int) -> Iterator[tuple[int, slice]]:
    """Parts of images that are worked on at a time."""
    budget = CPU_CHUNK if maps.device.type == "cpu" else GPU_CHUNK
    size, (count, _, pixels) = max(1, budget // filters), maps.shape
    for image in range(count):
        for first in range(0, pixels, size):
            yield image, slice(first, min(first + size, pixels))


def _waves(maps: Tensor, bank: Tensor, rule: PoolRule) -> _Waves:
    """Waves of maps (M, n), and the nearest angle of each."""
    # Half precision is too coarse for angles.
    rows = (bank @ maps).to(torch.promote_types(maps.dtype, torch.float32))
    a, b = rows[0::2], rows[1::2]
    phase = torch.atan2(b, a)
    steps = (phase - rule.angles.first).div_(rule.angles.step).round_()
    angle = steps.mul_(rule.angles.step).add_(rule.angles.first)
    return _Waves(a, b, torch.hypot(a, b), angle, angle - phase)


def _parabola(rule: PoolRule) -> tuple[float, float]:
    """How far the top of the parabola moves, and rises, with the phase aside.

    With step s the responses beside the winner are m·cos(aside ± s). The parabola
    through the three (method.md (11)) has its top at angle - move·tan(aside) and the
    height m·(cos(aside) + rise·sin(aside)·tan(aside)).
    """
    if not rule.refines:
        return 0.0, 0.0
    sin, cos = math.sin(rule.angles.step), math.cos(rule.angles.step)
    lever = sin / (2 * (1 - cos))
    return rule.angles.step * lever, sin * lever / 2


def _strength(waves: _Waves, bias: Tensor | None, rule: PoolRule) -> Tensor:
    """Height of the winners, zero where none wins."""
    _, rise = _parabola(rule)
    height = waves.aside.cos()
    if rise:
        height += rise * waves.aside.sin() * waves.aside.tan()
    rho = height.mul_(waves.length)
    if bias is None:
        return rho
    rho = rho.add_(bias.to(rho)[:, None]).relu_()
    if rule.keep == "vector":
        rho.masked_fill_(2 * waves.length <= rule.tolerance * rho, 0)
    return rho


def _pool(waves: _Waves, bias: Tensor | None, rule: PoolRule) -> Tensor:
    """(F, 2, n), or (F, n) for magnitudes."""
    rho = _strength(waves, bias, rule)
    if rule.keep == "magnitude":
        return rho
    theta = _direction(waves, rule)
    return torch.stack([rho * theta.cos(), rho * theta.sin()], 1)


def _direction(waves: _Waves, rule: PoolRule) -> Tensor:
    move, _ = _parabola(rule)
    if not move:
        return waves.angle
    return torch.add(waves.angle, waves.aside.tan(), alpha=-move)


def _gradient(
    waves: _Waves, grad: Tensor, bias: Tensor | None, rule: PoolRule
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of the strength, of a and of b, each (F, n)."""
    move, rise = _parabola(rule)
    sin, cos = waves.aside.sin(), waves.aside.cos()
    rho = _strength(waves, bias, rule)
    grad = grad.to(rho.dtype)
    if rule.keep == "vector":
        theta = _direction(waves, rule)
        along, across = theta.cos(), theta.sin()
        to_u, to_v = grad.unbind(1)
        to_rho = to_u * along + to_v * across
        to_theta = (to_v * along - to_u * across).mul_(rho)
    else:
        to_rho, to_theta = grad.clone(), torch.zeros_like(grad)
    to_rho.masked_fill_(rho <= 0, 0)
    # The phase moves the other way than `aside`.
    secant = cos.square().reciprocal_()
    to_phase = (1 - rise * (1 + secant)).mul_(sin).mul_(waves.length).mul_(to_rho)
    to_phase += to_theta.mul_(secant).mul_(move)
    to_length = to_rho * (cos + rise * sin * sin / cos)
    unit = waves.length.clamp(min=torch.finfo(rho.dtype).tiny).reciprocal_()
    to_phase *= unit
    unit_a, unit_b = waves.a * unit, waves.b * unit
    to_a = to_length * unit_a - to_phase * unit_b
    to_b = to_length * unit_b + to_phase * unit_a
    return to_rho, to_a, to_b
