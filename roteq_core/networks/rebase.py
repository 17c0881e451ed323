"""Carry trained filters over to another turning basis, almost without loss.

A wide bump is a narrow one that was blurred, so that what a filter of wide bumps says
at every angle can be said with narrow ones too, and then be trained further with more
freedom than it had.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from roteq_core.geometry import Basis, turning_operator
from roteq_core.layers import RotConv
from roteq_core.networks import build_network

_RIDGE = 1e-6  # of the largest singular value squared: keeps weights small


def rebased_weights(
    old: Any, weights: Mapping[str, Tensor], new: Any
) -> dict[str, Tensor]:
    """Give the weights with which a network of another basis says about the same.

    Parameters
    ----------
    old, new : network configs
        Alike but for how filters are turned.
    weights : mapping of str to Tensor
        The state of the network of the old config.

    Returns
    -------
    dict of str to Tensor
        The state of the network of the new config.
    """
    before, after = build_network(old), build_network(new)
    shapes = [{k: v.shape for k, v in n.state_dict().items()} for n in (before, after)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            "only networks that differ in how filters are turned can be carried over, "
            f"got {old} and {new}"
        )
    moved = {name: value.clone() for name, value in weights.items()}
    layers = dict(after.named_modules())
    for name, layer in before.named_modules():
        other = layers[name]
        if isinstance(layer, RotConv) and isinstance(other, RotConv):
            key = f"{name}.weight"
            moved[key] = rebased_filters(weights[key], layer.basis, other.basis)
    return moved


def rebased_filters(filters: Tensor, old: Basis, new: Basis) -> Tensor:
    """Filters (..., k, k) of one basis, fitted in another at all angles at once.

    Solves min over w' of Σ_n ‖H'_n w' - H_n w‖² for each plane, with the harmonics H
    of `turning_operator`; frequencies that the old basis lacks shall stay zero.
    """
    side = filters.shape[-1]
    if old == new or side == 1:
        return filters.clone()
    source, target = (_harmonics(side, basis) for basis in (old, new))
    count = max(len(source), len(target))
    source, target = (
        torch.cat([h, h.new_zeros(count - len(h), *h.shape[1:])]).flatten(0, 1)
        for h in (source, target)
    )  # (count · k², k²)
    gram = target.T @ target
    ridge = _RIDGE * torch.linalg.eigvalsh(gram)[-1]
    gram = gram + ridge * torch.eye(len(gram), dtype=gram.dtype)
    map_ = torch.linalg.solve(gram, target.T @ source)  # (k², k²)
    flat = filters.double().flatten(-2) @ map_.T
    moved: Tensor = flat.reshape(filters.shape).to(filters)
    return moved


def _harmonics(side: int, basis: Basis) -> Tensor:
    if basis.frequencies is None:
        raise ValueError(
            f"only bases with few frequencies can be carried over, got {basis}"
        )
    # Enough angles that the series is not replaced by the turned filters.
    return turning_operator(side, 4 * basis.frequencies + 8, basis=basis).harmonics
