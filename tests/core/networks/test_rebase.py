"""Filters that are carried over to another turning basis say the same."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from roteq_core.geometry import Basis, turning_operator
from roteq_core.net_config import CarNetConfig, TurningConfig
from roteq_core.networks import build_network
from roteq_core.networks.rebase import rebased_filters, rebased_weights

OLD = CarNetConfig(
    filters=(2, 3),
    kernel_size=7,
    crop=41,
    first_stride=2,
    hidden=3,
    turning=TurningConfig(12, frequencies=3),
)


def turned(filters, basis):
    operator = turning_operator(filters.shape[-1], 12, basis=basis)
    return torch.einsum("rpq,fq->rfp", operator.matrices(), filters.flatten(1))


@pytest.mark.parametrize("side", [5, 6, 7])
def test_filters_of_narrow_bumps_turn_like_those_of_wide_ones(side):
    wide, narrow = Basis(frequencies=3), Basis(sigma=0.8, frequencies=4)
    filters = torch.randn(4, side, side, generator=torch.manual_seed(0)).double()
    moved = rebased_filters(filters, wide, narrow)
    before, after = turned(filters, wide), turned(moved, narrow)
    assert (before - after).norm() < 0.05 * before.norm()
    kept = turned(filters, narrow)  # were the weights simply kept
    assert (before - kept).norm() > 0.5 * before.norm()


def test_a_network_of_another_basis_answers_the_same():
    torch.manual_seed(0)
    new = dataclasses.replace(OLD, turning=TurningConfig(12, sigma=0.8))
    before, after = build_network(OLD).eval(), build_network(new).eval()
    after.load_state_dict(rebased_weights(OLD, before.state_dict(), new))
    image = torch.randn(4, 1, 41, 41)
    with torch.no_grad():
        answers = before(image), after(image)
    assert (answers[0] - answers[1]).norm() < 0.1 * answers[0].norm()


def test_other_networks_and_bases_are_refused():
    weights = build_network(OLD).state_dict()
    with pytest.raises(ValueError, match="only networks that differ in how"):
        rebased_weights(OLD, weights, dataclasses.replace(OLD, filters=(2, 4)))
    paper = Basis("bilinear", frequencies=None)
    with pytest.raises(ValueError, match="only bases with few frequencies"):
        rebased_filters(torch.ones(1, 5, 5), Basis(), paper)
