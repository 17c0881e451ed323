"""The winning orientation of many responses at once, and its gradient.

What `orientation_pool` does to responses, from the K coefficients of their Fourier
series and without ever holding more than a strip of them. Responses lie with the
orientations first, (R, n), where a maximum over them runs along memory; n counts
pixels times filters, the filters running fastest.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from roteq_core.pooling import Orientations, is_bent, neighbors


@dataclass(frozen=True)
class PoolRule:
    """How responses are pooled: see `orientation_pool` and `sector_pool`.

    Parameters
    ----------
    angles : Orientations
    tolerance : float
        Relative difference of responses that is none: `flat_tolerance`.
    refine : bool
    keep : {"vector", "magnitude"}
    """

    angles: Orientations
    tolerance: float
    refine: bool = True
    keep: Literal["vector", "magnitude"] = "vector"

    @property
    def refines(self) -> bool:
        """Whether the two responses beside the winner matter."""
        return self.refine and self.keep == "vector"


class Winners(NamedTuple):
    """The strongest of R responses, n times.

    With refinement it stands at the top of a parabola, `offset` steps beside its row.
    """

    top: Tensor
    row: Tensor  # integers
    is_flat: Tensor | None = None  # where no orientation wins; None if nowhere
    offset: Tensor | None = None
    inverse_bend: Tensor | None = None  # of the parabola; 0 where it is straight


class Kept(NamedTuple):
    """What the gradient needs to know of winners, besides the pooled values."""

    row: Tensor
    offset: Tensor | None
    inverse_bend: Tensor | None


def find_winners(
    coefficients: Tensor,
    trig: Tensor,
    rule: PoolRule,
    bias: Tensor | None = None,
    noise: Tensor | None = None,
) -> Winners:
    """Find the strongest of R responses for each row of coefficients.

    Parameters
    ----------
    coefficients : Tensor of shape (n, K)
    trig : Tensor of shape (R, K)
        Coefficients to responses.
    rule : PoolRule
    bias : Tensor of shape (F,), optional
        What is added to the responses later; sizes are taken with it.
    noise : Tensor of shape (n,), optional
        Differences up to this much are rounding.
    """
    around = _around(len(trig), rule).to(trig.device)
    y = trig[around] @ coefficients.T
    middle = y[1 : 1 + len(trig)] if rule.angles.cyclic else y
    top, row = find_maximum(middle)
    if rule.keep == "magnitude":
        return Winners(top, row)
    limit = rule.tolerance * _with_bias(top, bias).abs()
    if noise is not None:
        limit = torch.maximum(limit, noise)
    alike, left, right = _beside(y, row, len(trig), rule)
    is_flat = _where_flat(middle, top - alike <= limit, limit, rule)
    if left is None or right is None:
        return Winners(top, row, is_flat)
    bend = (top + top).sub_(left).sub_(right)
    return _on_parabola(top, right - left, bend, row, is_flat)


@functools.lru_cache(maxsize=64)
def _around(count: int, rule: PoolRule) -> Tensor:
    """Rows of a trig table, on a circle with those before the first and after the last.

    So the rows beside each one, and a quarter turn away, are found without a table.
    """
    if not rule.angles.cyclic:
        return torch.arange(count)
    return torch.arange(-1, count + _alike(count, rule)) % count


def _alike(count: int, rule: PoolRule) -> int:
    """Steps from the winner to a response that is alike where no orientation wins."""
    fourfold = rule.angles.cyclic and count % 4 == 0
    return count // 4 if fourfold else 1


def find_maximum(y: Tensor) -> tuple[Tensor, Tensor]:
    """Largest of each column and its row; on a CPU much faster than `max` with index.

    Columns are compared with their maximum as floats, and one small product counts the
    winners and adds up their rows; only ties need `max` itself.
    """
    if y.device.type != "cpu" or y.dtype not in (torch.float32, torch.float64):
        top, row = y.max(0)
        return top, row
    top = y.amax(0)
    is_top = torch.eq(y, top, out=torch.empty_like(y))
    rows = torch.arange(len(y), dtype=y.dtype)
    sums = torch.stack([rows, torch.ones_like(rows)]) @ is_top
    row = sums[0].long()
    tied = sums[1] != 1
    if tied.any():
        row[tied] = y[:, tied].max(0).indices
    return top, row


def _beside(
    y: Tensor, row: Tensor, count: int, rule: PoolRule
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Responses `_alike` steps from the winner, and before and after it if wanted."""
    at, steps = row[None], _alike(count, rule)
    if rule.angles.cyclic:
        places = [(y[n:], at) for n in (1 + steps, 0, 2)]
    else:
        left, right = neighbors(count, False, y.device)
        places = [(y, n) for n in (right[at], left[at], right[at])]
    if not rule.refines:
        return places[0][0].gather(0, places[0][1])[0], None, None
    before, after = (rows.gather(0, n)[0] for rows, n in places[1:])
    if steps == 1:
        return after, before, after
    return places[0][0].gather(0, places[0][1])[0], before, after


def _where_flat(
    y: Tensor, maybe: Tensor, limit: Tensor, rule: PoolRule
) -> Tensor | None:
    """Where no orientation wins, as `is_flat` says.

    It looks closer only where that may be: where the winner is not above a response
    that would be alike.
    """
    if len(y) == 1 or not maybe.any():
        return None
    fourfold = rule.angles.cyclic and len(y) % 4 == 0
    quarters = y[:, maybe].unflatten(0, (4 if fourfold else len(y), -1))
    spread = (quarters.amax(0) - quarters.amin(0)).amax(0)
    maybe[maybe.clone()] = spread <= limit[maybe]
    return maybe


def _on_parabola(
    top: Tensor, slope: Tensor, bend: Tensor, row: Tensor, is_flat: Tensor | None
) -> Winners:
    """Move winners to the top of the parabola through them: method.md (11)."""
    inverse = torch.where(is_bent(bend), bend.reciprocal(), 0.0)
    offset = slope * inverse / 2
    return Winners(top + slope * offset / 4, row, is_flat, offset, inverse)


def pool_winners(
    winners: Winners, rule: PoolRule, bias: Tensor | None
) -> tuple[Tensor, ...]:
    """(u, v) of winners, or their magnitude alone: each (n,)."""
    rho = _with_bias(winners.top, bias).relu()
    if rule.keep == "magnitude":
        return (rho,)
    if winners.is_flat is not None:
        rho = rho.masked_fill_(winners.is_flat, 0)
    steps = winners.row.to(rho.dtype)
    if winners.offset is not None:
        steps += winners.offset
    theta = rule.angles.first + steps.mul_(rule.angles.step)
    return rho * theta.cos(), rho * theta.sin()


def _with_bias(values: Tensor, bias: Tensor | None) -> Tensor:
    """Add biases (F,) to values (n,)."""
    if bias is None:
        return values
    return (values.view(-1, len(bias)) + bias.to(values)).flatten()


def keep_winners(winners: Winners, count: int) -> Kept:
    """Keep, in little memory, what the gradient needs."""
    row = winners.row.to(torch.uint8 if count <= 256 else torch.int16)
    return Kept(row, winners.offset, winners.inverse_bend)


def winners_gradient(
    kept: Kept, pooled: tuple[Tensor, ...], grads: tuple[Tensor, ...], rule: PoolRule
) -> tuple[Tensor, ...]:
    """Gradients of winning responses, from those of the pooled values.

    Those of the left, top and right response with refinement, else of the top one. The
    pooled values tell where nothing flows: they are zero without a direction and where
    the ReLU is shut.
    """
    if rule.keep == "magnitude":
        return (torch.where(pooled[0] > 0, grads[0], 0.0),)
    (u, v), (to_u, to_v) = pooled, grads
    rho = torch.hypot(u, v).clamp_(min=torch.finfo(u.dtype).tiny)
    to_rho = (u * to_u + v * to_v) / rho
    if kept.offset is None or kept.inverse_bend is None:
        return (to_rho,)
    # Through offset = slope / (2 bend) and ρ = top + slope · offset / 4.
    turn = (u * to_v - v * to_u) * kept.inverse_bend * rule.angles.step
    half = to_rho * kept.offset / 2
    to_slope = turn / 2 + half
    to_bend = -(turn + half) * kept.offset
    return -to_slope - to_bend, to_rho + 2 * to_bend, to_slope - to_bend


def spread_gradient(
    slopes: tuple[Tensor, ...], row: Tensor, trig: Tensor, rule: PoolRule
) -> Tensor:
    """Gradients of winning responses → of all K coefficients, (K, n)."""
    count, at = len(trig), row.long()[None]
    if len(slopes) == 1:
        to_y = trig.new_zeros(count, len(row)).scatter_(0, at, slopes[0][None])
        return trig.T @ to_y
    if rule.angles.cyclic:
        to_y = trig.new_zeros(count + 2, len(row))
        for first, slope in enumerate(slopes):
            to_y[first : first + count].scatter_add_(0, at, slope[None])
        around = torch.arange(-1, count + 1, device=trig.device) % count
        return trig[around].T @ to_y
    to_y = trig.new_zeros(count, len(row))
    left, right = neighbors(count, False, row.device)
    for places, slope in zip((left[at], at, right[at]), slopes, strict=True):
        to_y.scatter_add_(0, places, slope[None])
    return trig.T @ to_y
