"""From the R responses of a network to a heading, its error bar and its flip chance.

The responses are samples of a band-limited function y(α) on the circle. It is read as
the logarithm of a density, p(α) ∝ exp(s y(α)): one that may have two humps, front and
rear, and that turns with the crop. Angles are radians, from right towards down.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

# y(α) is multiplied by this: weights of usual size then give sharp densities.
SHARPNESS = 8.0
# Places around the circle at which a density is held.
BINS = 144


def harmonics(responses: Tensor) -> Tensor:
    """Fourier coefficients (B, n) of responses (B, R): n = ⌊(R - 1) / 2⌋ + 1."""
    count = responses.shape[-1]
    spectrum: Tensor = torch.fft.rfft(responses, dim=-1)
    return spectrum[..., : (count - 1) // 2 + 1] / count


def resample(responses: Tensor, bins: int = BINS) -> Tensor:
    """Read responses (B, R) at `bins` equal steps around the circle, (B, bins)."""
    if bins < responses.shape[-1]:
        raise ValueError(f"bins must be at least R = {responses.shape[-1]}, got {bins}")
    fine: Tensor = torch.fft.irfft(harmonics(responses) * bins, n=bins, dim=-1)
    return fine


def log_density(responses: Tensor, bins: int = BINS) -> Tensor:
    """Log probability of each of `bins` steps around the circle, (B, bins)."""
    return (SHARPNESS * resample(responses, bins)).log_softmax(-1)


def heading_loss(responses: Tensor, angles: Tensor, doubt: float = 0.0) -> Tensor:
    """Negative log density of the true angles, (B,), in nats per radian.

    Parameters
    ----------
    responses : Tensor of shape (B, R)
    angles : Tensor of shape (B,)
        Radians.
    doubt : float
        Share of labels that are thought to name the rear instead of the front.
    """
    coefficients = harmonics(responses)
    order = torch.arange(coefficients.shape[-1], device=responses.device)
    turn = torch.polar(torch.ones_like(angles), angles)[:, None] ** order
    weights = torch.where(order == 0, 1.0, 2.0).to(responses)
    parts = (coefficients * turn).real * weights
    at_truth = parts.sum(-1)
    if doubt:
        at_rear = (parts * (1 - 2 * (order % 2))).sum(-1)
        gap = SHARPNESS * (at_rear - at_truth) + math.log(doubt / (1 - doubt))
        at_truth = (
            at_truth
            + (math.log(1 - doubt) + torch.nn.functional.softplus(gap)) / SHARPNESS
        )
    total = (SHARPNESS * resample(responses)).logsumexp(-1)
    return total - SHARPNESS * at_truth + math.log(2 * math.pi / BINS)


def mean_vector(log_p: Tensor) -> Tensor:
    """Mean unit vector (B, 2) of densities (B, bins)."""
    theta = bin_angles(log_p.shape[-1]).to(log_p)
    p = log_p.exp()
    return torch.stack([(p * theta.cos()).sum(-1), (p * theta.sin()).sum(-1)], -1)


def bin_angles(bins: int) -> Tensor:
    """Angles of the steps around the circle, (bins,), radians."""
    return torch.arange(bins, dtype=torch.float64) * (2 * math.pi / bins)


class Headings(NamedTuple):
    """What a density says, each (B,)."""

    angle: Tensor  # radians in [0, 2π)
    sd: Tensor  # radians, of the half of the circle around the angle
    flip: Tensor  # probability of the other half


def read_density(log_p: Tensor) -> Headings:
    """Give the heading, its spread and the flip chance of densities (B, bins).

    The heading is the mean of the half circle that holds the most: a second hump at
    the rear does not pull it to the side, it only raises the flip chance.
    """
    bins = log_p.shape[-1]
    p = log_p.double().exp()
    theta = bin_angles(bins).to(p)
    gap = theta[:, None] - theta[None]
    front = (gap.cos() > 1e-9).to(p) + 0.5 * (gap.cos().abs() <= 1e-9).to(p)
    held = p @ front  # (B, bins): probability of the half circle around each step
    # Many half circles may hold about the same: take the one around its own hump.
    start = _peak_of(held, p)
    window = front[:, start].T * p
    vector = torch.stack(
        [(window * theta.cos()).sum(-1), (window * theta.sin()).sum(-1)], -1
    )
    angle = torch.atan2(vector[:, 1], vector[:, 0])
    away = (theta - angle[:, None]).cos()
    ahead = (away > 0).to(p) * p
    inside = ahead.sum(-1).clamp(min=1e-12)
    offset = torch.remainder(theta - angle[:, None] + math.pi, 2 * math.pi) - math.pi
    variance = (ahead * offset.square()).sum(-1) / inside
    return Headings(
        torch.remainder(angle, 2 * math.pi), variance.sqrt(), 1 - inside.clamp(max=1)
    )


def _peak_of(held: Tensor, p: Tensor) -> Tensor:
    """Give the step where p is highest among the half circles that hold most."""
    best = held.amax(-1, keepdim=True)
    among = torch.where(held >= best - 0.02, p, -1.0)
    return among.argmax(-1)


def spread_of(angles: Tensor) -> Tensor:
    """Circular standard deviation in radians of angles (B, n) over n, (B,)."""
    resultant = torch.polar(torch.ones_like(angles), angles).mean(-1).abs()
    return torch.sqrt(-2 * resultant.clamp(1e-9, 1).log())
