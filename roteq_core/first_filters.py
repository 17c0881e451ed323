"""How canonical filters are drawn before training: smooth, and of a stable size."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from roteq_core.geometry import Basis, TurningOperator, smooth_correlation


def draw_stable(weight: Tensor, operator: TurningOperator, basis: Basis) -> None:
    """Draw filters that keep the size of vectors through a layer, in place.

    Inputs are smooth, so neighboring taps answer together: the energy of a turned
    filter is taken against an input that is correlated as usual.

    Parameters
    ----------
    weight : Tensor of shape (F, C, 1 or 2, k, k)
    operator : TurningOperator
    basis : Basis
    """
    _, maps, parts, side, _ = weight.shape
    blur = _first_blur(side, basis)
    reach, winner = _usual_input(side, parts, basis)
    both = torch.eye(parts, dtype=torch.float64, device="cpu")
    correlation = torch.kron(both, smooth_correlation(side, reach))
    matrices = operator.matrices() @ torch.kron(both, torch.kron(blur, blur))
    energy = torch.einsum("rpq,pa,raq->r", matrices, correlation, matrices).mean()
    # A component of a vector is 1/√2 of it.
    std = math.sqrt(2) / (winner * math.sqrt(maps * float(energy)))
    nn.init.normal_(weight, std=std)
    blur = blur.to(weight)
    with torch.no_grad():
        weight.copy_(blur @ weight @ blur.T)


def _first_blur(kernel_size: int, basis: Basis) -> Tensor:
    """(k, k): how far first weights are blurred along rows and along columns.

    White noise has many orientations that answer nearly alike, and fields that jump
    between them do not turn well. Smooth first filters have few, and turn 1.3 to 2.6
    times as exactly (docs/method.md); training may sharpen them.
    """
    if basis.kind != "smooth":
        return torch.eye(kernel_size, dtype=torch.float64, device="cpu")
    places = torch.arange(kernel_size, dtype=torch.float64, device="cpu")
    gap = places[:, None] - places
    return torch.exp(-gap.square() / (2 * (kernel_size / 6) ** 2))


def _usual_input(kernel_size: int, parts: int, basis: Basis) -> tuple[float, float]:
    """How far inputs are correlated, in pixels, and how large winners are.

    That is the root mean square of the winners of R responses over that of all of
    them; both as measured on fields behind several layers of a kind (docs/method.md).
    """
    if parts == 1:
        return 2.0, 1.6
    if basis.kind != "smooth":
        return 0.4 + 0.05 * kernel_size, 1.75
    return 0.27 * kernel_size + 0.67 * basis.bump(kernel_size), 1.45
