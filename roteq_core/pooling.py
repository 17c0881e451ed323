"""Pooling over orientations without state: R responses become vectors or sectors.

Equations are numbered in docs/method.md. `roteq_core.engine.fused` does the same
without ever holding all responses.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from roteq_core.checks import check_at_least_one, check_responses
from roteq_core.engine.precision import at_least_single, flat_tolerance


class Orientations(NamedTuple):
    """The angles that responses stand for, in order.

    Around a circle, R of them are 2π/R apart.
    """

    first: float
    step: float
    cyclic: bool = True


def full_circle(orientations: int) -> Orientations:
    """R equal steps around the circle from angle 0."""
    return Orientations(0.0, 2 * math.pi / orientations, True)


def _angles_of(responses: Tensor, angles: Orientations | None) -> Orientations:
    """Give what responses (B, C, R, H, W) stand for, if it can be."""
    count = int(responses.shape[2])  # a tensor while torch traces
    if angles is None:
        return full_circle(count)
    turn = abs(angles.step) * count
    if angles.cyclic and count > 1 and not math.isclose(turn, 2 * math.pi):
        raise ValueError(
            f"angles around a circle must be 2π/R = {2 * math.pi / count:.6g} apart "
            f"for R = {count}, got a step of {angles.step:.6g}"
        )
    return angles


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
    check_responses(responses)
    angles = _angles_of(responses, angles)
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
        Between 1 and R. Sector s holds the angles around 2π s / bins, counted from the
        first of `angles`; a limited range of tilts is cut into equal parts.
    keep : {"magnitude", "vector"}
        Vectors are zero where no orientation wins, as in `orientation_pool`.
    angles : Orientations, optional
        What the R responses stand for; the full circle from 0 if not given.

    Returns
    -------
    Tensor of shape (B, C·bins, H, W), or (B, C·bins, 2, H, W) for vectors
    """
    check_responses(responses)
    count = int(responses.shape[2])  # a tensor while torch traces
    check_at_least_one(bins=bins)
    if bins > count:
        raise ValueError(f"bins must lie between 1 and R = {count}, got {bins}")
    if keep not in ("magnitude", "vector"):
        raise ValueError(f"keep must be 'magnitude' or 'vector', got {keep!r}")
    angles = _angles_of(responses, angles)
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
