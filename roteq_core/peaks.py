"""The winning orientation of many responses at once, and its gradient.

What `orientation_pool` does to responses, from the K coefficients of their Fourier
series and without ever holding more than a strip of them. Responses lie with the
orientations first, (R, n), where a maximum over them runs along memory; n counts
pixels times filters.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from roteq_core.functional import (
    Orientations,
    Peak,
    flat_tolerance,
    neighbors,
    plain_peak,
    refine_peak,
)

NO_DIRECTION = -1  # in place of an index


@dataclass(frozen=True)
class PoolRule:
    """How responses are pooled: see `orientation_pool` and `sector_pool`."""

    angles: Orientations
    refine: bool = True
    keep: Literal["vector", "magnitude"] = "vector"

    @property
    def needs_neighbors(self) -> bool:
        """Whether the two responses beside the winner matter."""
        return self.refine and self.keep == "vector"


class Winners(NamedTuple):
    """Peaks of n responses; `row` is NO_DIRECTION where none wins."""

    left: Tensor | None
    top: Tensor
    right: Tensor | None
    row: Tensor  # int16


@functools.lru_cache(maxsize=64)
def _wrapped(count: int) -> Tensor:
    """Rows of a trig table so that neighbors of each orientation lie beside it."""
    return torch.arange(-1, count + max(1, count // 4)) % count


def find_winners(
    coefficients: Tensor,
    trig: Tensor,
    rule: PoolRule,
    bias: Tensor | None = None,
    *,
    alike: float | None = None,
    noise: Tensor | None = None,
) -> Winners:
    """Find the strongest of R responses for each row of coefficients.

    Parameters
    ----------
    coefficients : Tensor of shape (n, K)
        n = pixels · F, the filters running fastest.
    trig : Tensor of shape (R, K)
        Coefficients to responses.
    rule : PoolRule
    bias : Tensor of shape (F,), optional
        What is added to the responses later; sizes are taken with it.
    alike : float, optional
        Relative difference that is none: `flat_tolerance` if not given.
    noise : Tensor of shape (n,), optional
        Differences up to this much are rounding.
    """
    if rule.angles.cyclic:
        y = trig[_wrapped(len(trig)).to(trig.device)] @ coefficients.T
        middle = y[1 : len(trig) + 1]
    else:
        y = middle = trig @ coefficients.T
    top, index = _maximum(middle)
    if rule.keep == "magnitude":
        return Winners(None, top, None, index.to(torch.int16))
    left, right, across = _beside(y, index, len(trig), rule)
    size = (top if bias is None else add_bias(top, bias)).abs()
    limit = size * (flat_tolerance(y.dtype) if alike is None else alike)
    if noise is not None:
        limit = torch.maximum(limit, noise)
    flat = _where_flat(middle, top - across <= limit, limit, rule)
    index = index.to(torch.int16)
    if flat is not None:
        index.masked_fill_(flat, NO_DIRECTION)
    return Winners(left, top, right, index)


def _maximum(y: Tensor) -> tuple[Tensor, Tensor]:
    """Largest of each column and its row; on a CPU much faster than `max` with index.

    Columns are compared with their maximum as floats, and one small product counts the
    winners and adds up their rows; only ties need `max` itself.
    """
    if y.device.type != "cpu" or y.dtype not in (torch.float32, torch.float64):
        return tuple(y.max(0))  # type: ignore[return-value]
    top = y.amax(0)
    is_top = torch.eq(y, top, out=torch.empty_like(y))
    rows = torch.arange(len(y), dtype=y.dtype)
    sums = torch.stack([rows, torch.ones_like(rows)]) @ is_top
    index = sums[0].long()
    tied = sums[1] != 1
    if tied.any():
        index[tied] = y[:, tied].max(0).indices
    return top, index


def _beside(
    y: Tensor, index: Tensor, count: int, rule: PoolRule
) -> tuple[Tensor | None, Tensor | None, Tensor]:
    """Responses beside the winner, and a quarter turn away from it."""
    at, quarter = index[None], max(1, count // 4)
    if rule.angles.cyclic:
        views = [(y[n:], at) for n in (1 + quarter, 0, 2)]
    else:
        left, right = neighbors(count, False, y.device)
        views = [(y, place) for place in ((at + quarter) % count, left[at], right[at])]
    if not rule.needs_neighbors:
        del views[1:]
    across, *beside = (rows.gather(0, place)[0] for rows, place in views)
    return (beside[0], beside[1], across) if beside else (None, None, across)


def _where_flat(
    y: Tensor, maybe: Tensor, limit: Tensor, rule: PoolRule
) -> Tensor | None:
    """Where no orientation wins, as `is_flat` says.

    It looks closer only where that may be: where the winner is not above the response
    a quarter turn away.
    """
    if len(y) == 1 or not maybe.any():
        return None
    fourfold = rule.angles.cyclic and len(y) % 4 == 0
    quarters = y[:, maybe].unflatten(0, (4 if fourfold else len(y), -1))
    spread = (quarters.amax(0) - quarters.amin(0)).amax(0)
    maybe[maybe.clone()] = spread <= limit[maybe]
    return maybe


def add_bias(top: Tensor, bias: Tensor) -> Tensor:
    """Add biases (F,) to values (n,) whose filters run fastest."""
    return (top.view(-1, len(bias)) + bias.to(top)).flatten()


def pool_winners(
    winners: Winners, rule: PoolRule, bias: Tensor | None
) -> tuple[Tensor, ...]:
    """(u, v) of winners, or their magnitude alone: each (n,)."""
    rho, theta = _rho_theta(winners, rule)
    if bias is not None:
        rho = add_bias(rho, bias)
    rho = rho.relu()
    if theta is None:
        return (rho,)
    rho = rho.masked_fill_(winners.row == NO_DIRECTION, 0)
    return rho * theta.cos(), rho * theta.sin()


def _rho_theta(winners: Winners, rule: PoolRule) -> tuple[Tensor, Tensor | None]:
    if rule.keep == "magnitude":
        return winners.top, None
    if not rule.refine or winners.left is None or winners.right is None:
        empty = winners.top
        return plain_peak(Peak(empty, empty, empty, winners.row), rule.angles)
    peak = Peak(winners.left, winners.top, winners.right, winners.row)
    return refine_peak(peak, rule.angles)


def winners_gradient(
    winners: Winners, grads: tuple[Tensor, ...], rule: PoolRule, bias: Tensor | None
) -> tuple[Tensor | None, Tensor, Tensor | None]:
    """Gradients of the left, top and right responses from those of the pooled values.

    They are zero where there is no direction or the ReLU is shut.
    """
    rho, theta = _rho_theta(winners, rule)
    if bias is not None:
        rho = add_bias(rho, bias)
    open_ = rho > 0
    if theta is None:
        return None, torch.where(open_, grads[0], 0.0), None
    open_ &= winners.row != NO_DIRECTION
    cos, sin = theta.cos(), theta.sin()
    to_rho = torch.where(open_, grads[0] * cos + grads[1] * sin, 0.0)
    if winners.left is None or winners.right is None:
        return None, to_rho, None
    turn = torch.where(open_, grads[1] * cos - grads[0] * sin, 0.0)
    to_offset = turn.mul_(rho).mul_(rule.angles.step)
    return _parabola_gradient(
        winners.left, winners.top, winners.right, to_rho, to_offset
    )


def _parabola_gradient(
    left: Tensor, top: Tensor, right: Tensor, to_rho: Tensor, to_offset: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Through offset = slope / (2 bend) and ρ = top + slope · offset / 4."""
    slope, bend = right - left, 2 * top - left - right
    bent = bend > 0
    safe = torch.where(bent, bend, 1.0)
    offset = torch.where(bent, slope / (2 * safe), 0.0)
    to_offset = torch.where(bent, to_offset + to_rho * slope / 4, 0.0)
    to_slope = to_offset / (2 * safe) + to_rho * offset / 4
    to_bend = -to_offset * offset / safe
    return -to_slope - to_bend, to_rho + 2 * to_bend, to_slope - to_bend


def spread_gradient(
    slopes: tuple[Tensor | None, Tensor, Tensor | None],
    index: Tensor,
    trig: Tensor,
    rule: PoolRule,
) -> Tensor:
    """Gradients of three responses → of all K coefficients, (n, K)."""
    count = len(trig)
    at = index.clamp(min=0).long()[None]
    left, top, right = slopes
    if left is None or right is None:
        to_y = top.new_zeros(count, len(top)).scatter_(0, at, top[None])
        return to_y.T @ trig
    if rule.angles.cyclic:
        to_y = top.new_zeros(count + 2, len(top))
        for row, slope in enumerate((left, top, right)):
            to_y[row : row + count].scatter_add_(0, at, slope[None])
        rows = torch.arange(-1, count + 1, device=trig.device) % count
        return to_y.T @ trig[rows]
    to_y = top.new_zeros(count, len(top))
    before, after = neighbors(count, False, index.device)
    for places, slope in ((before[at], left), (at, top), (after[at], right)):
        to_y.scatter_add_(0, places, slope[None])
    return to_y.T @ trig
