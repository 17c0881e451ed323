"""Readings of a car at several angles: which, by which network, and turned back."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from roteq_core.model import Model
from roteq_core.tasks import headings


def reading_turns(copies: int) -> list[tuple[int, bool]]:
    """Turns, in steps of 1/144 of a circle, and mirrorings of the copies of a car.

    They differ modulo a quarter turn, since quarter turns of a crop give the same
    answer anyway.
    """
    if copies < 1:
        raise ValueError(f"copies must be at least 1, got {copies}")
    quarter = headings.BINS // 4
    return [
        (round(i * quarter / copies) + (i % 4) * quarter, i % 2 == 1)
        for i in range(copies)
    ]


def read_responses(model: Model, images: Tensor) -> Tensor:
    """Log densities (n, BINS) before normalization, averaged over an ensemble."""
    read = _from_vector if model.card.settings.get("reading") == "vector" else _as_log
    total: Tensor | float = 0.0
    for network, share in zip(model.networks, model.shares, strict=True):
        network.eval()
        with torch.inference_mode():
            responses = network(images.to(next(network.parameters())))
            total = total + share * read(network, responses).double().cpu()
    assert isinstance(total, Tensor)
    return total


def _as_log(_network: Any, responses: Tensor) -> Tensor:
    return headings.SHARPNESS * headings.resample(responses.float())


def _from_vector(network: Any, responses: Tensor) -> Tensor:
    """Make a density around the vector of networks that were taught nothing more."""
    unit = torch.nn.functional.normalize(network.direction(responses), dim=1)
    theta = headings.bin_angles(headings.BINS).to(unit)
    table = torch.stack([theta.cos(), theta.sin()])
    return 2 * headings.SHARPNESS * (unit @ table)


def turned_back(log_p: Tensor, shift: int, mirrored: bool) -> Tensor:
    """Bring densities (n, bins) of crops into the frame they were read from.

    A car at angle θ stands at θ - shift in its crop, mirrored at π - (θ - shift).
    """
    bins = log_p.shape[-1]
    theta = torch.arange(bins) - shift
    theta = bins // 2 - theta if mirrored else theta
    return log_p[..., theta % bins]


def axial_gaps(copies: Tensor, angle: Tensor) -> Tensor:
    """Differences (n, copies) from the angle; a flipped copy counts as its axis."""
    gap = copies - angle[:, None]
    gap = torch.atan2(gap.sin(), gap.cos())
    return torch.where(gap.cos() < 0, gap - torch.pi, gap)
