"""First filters: vectors keep their size through a stack of layers."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from roteq_core.layers import Magnitude, RotConv


def growth_of_stack(kernel_size: int, basis: str, seed: int) -> float:
    """How many times as long vectors are after the last of nine layers as the first."""
    torch.manual_seed(seed)
    side, lengths = 13 + 10 * (kernel_size - 1), []
    field = F.avg_pool2d(torch.randn(1, 1, side + 4, side + 4), 5, 1)
    with torch.no_grad():
        for maps in [1] + 9 * [16]:
            options = {"basis": basis, "vector_input": maps > 1, "padding": 0}
            field = RotConv(maps, 16, kernel_size, **options)(field)
            lengths.append(Magnitude()(field).square().mean().sqrt())
    return float(lengths[-1] / lengths[1])


@pytest.mark.parametrize("kernel_size", [3, 5, 7, 9, 11])
def test_magnitudes_stay_stable_through_nine_layers(kernel_size):
    growth = [growth_of_stack(kernel_size, "smooth", seed) for seed in range(3)]
    assert 0.65 < math.prod(growth) ** (1 / 3) < 1.5


@pytest.mark.parametrize("basis", ["bilinear", "spread"])
def test_magnitudes_stay_stable_in_other_bases(basis):
    assert 0.65 < growth_of_stack(5, basis, 0) < 1.5


@pytest.mark.parametrize("basis", ["smooth", "bilinear"])
@pytest.mark.parametrize("vector", [False, True])
def test_layers_are_made_on_any_device(vector, basis):
    options = {"vector_input": vector, "basis": basis}
    with torch.device("meta"):
        made = RotConv(1, 2, 5, **options)
    assert made.weight.is_meta
    other = RotConv(1, 2, 5, **options)
    made = made.to_empty(device="cpu")
    made.load_state_dict(other.state_dict())
    x = torch.randn(1, 1, 2, 9, 9) if vector else torch.randn(1, 1, 9, 9)
    assert torch.equal(made(x), other(x))


def test_paper_initialization_is_tiny():
    made = RotConv(4, 8, 9, init="paper")
    assert made.weight.std().item() == pytest.approx(1e-3, rel=0.05)
