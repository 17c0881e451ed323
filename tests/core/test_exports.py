"""Layers and networks written down by torch, for the same sizes and for others."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from roteq_core.layers import (
    FieldMaxPool,
    FieldNorm,
    FieldUpsample,
    Magnitude,
    OrientationPool,
    RotConv,
)
from roteq_core.net_config import (
    CarFinderNetConfig,
    CarNetConfig,
    DigitNetConfig,
    MembraneNetConfig,
    PatchNetConfig,
    TurningConfig,
)
from roteq_core.networks import build_network

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
    pytest.mark.filterwarnings("ignore:`torch.jit.trace:DeprecationWarning"),
]

TURNING = TurningConfig(orientations=8, frequencies=2)
# With sides for which each network is written down.
NETWORKS = [
    (MembraneNetConfig(width=1, kernel_size=3, turning=TURNING), (32, 24)),
    (CarFinderNetConfig((1, 1, 2), hidden=2, offsets=1, turning=TURNING), (32, 24)),
    (CarNetConfig((1, 1, 1), kernel_size=5, turning=TURNING), (48, 48)),
    (DigitNetConfig((1, 1, 2), hidden=4, turning=TURNING), (28, 28)),
    (PatchNetConfig((1, 1, 2), turning=TURNING), (24, 24)),
]
LAYERS = [
    FieldMaxPool(2),
    FieldMaxPool(3),
    FieldNorm(2),
    FieldUpsample(2),
    Magnitude(),
    RotConv(2, 3, 1),
    RotConv(2, 3, 5, stride=2),
]


def field(*sides: int) -> Tensor:
    """Draw two fields of which many vectors are equally long."""
    random = torch.Generator().manual_seed(sum(sides))
    return torch.randint(-2, 3, (2, 2, 2, *sides), generator=random).float()


def image(*sides: int) -> Tensor:
    return torch.randn(1, 1, *sides, generator=torch.Generator().manual_seed(0))


def build(config) -> nn.Module:
    torch.manual_seed(0)
    return build_network(config).eval()


def assert_same(found, expected) -> None:
    """Compare tensors, or tuples of them."""
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def exported(network: nn.Module, x: Tensor) -> nn.Module:
    """Write a network down for any height and width."""
    sides = dict.fromkeys((x.ndim - 2, x.ndim - 1), torch.export.Dim.AUTO)
    return torch.export.export(network, (x,), dynamic_shapes=(sides,)).module()


def named(case) -> str:
    return type(case).__name__


@pytest.mark.parametrize("orientations", [1, 2, 4, 17])
@pytest.mark.parametrize("pool", ["vector", "magnitude", "none"])
def test_rotating_convolutions_can_be_traced(pool, orientations):
    made = RotConv(1, 2, 5, orientations=orientations, vector_input=False, pool=pool)
    traced = torch.jit.trace(made.eval(), image(12, 11))
    for x in (image(12, 11), image(17, 20)):
        assert_same(traced(x), made(x))


@pytest.mark.parametrize("bins", [None, 4])
def test_orientation_pooling_can_be_traced(bins):
    made = OrientationPool(bins)
    traced = torch.jit.trace(made, torch.randn(1, 2, 8, 5, 5))
    x = torch.randn(2, 2, 8, 4, 6)
    assert_same(traced(x), made(x))


@pytest.mark.parametrize("write", [torch.jit.trace, exported])
@pytest.mark.parametrize("made", LAYERS, ids=named)
def test_layers_are_written_down_for_every_size(made, write):
    made.eval()
    with torch.no_grad():
        written = write(made, field(9, 8))
        for sides in [(9, 8), (8, 8), (10, 13), (11, 7)]:
            assert_same(written(field(*sides)), made(field(*sides)))


@pytest.mark.parametrize(("config", "sides"), NETWORKS, ids=named)
def test_networks_can_be_traced(config, sides):
    network, x = build(config), image(*sides)
    assert_same(torch.jit.trace(network, x)(x), network(x))


@pytest.mark.parametrize("write", [torch.jit.trace, exported])
@pytest.mark.parametrize(("config", "sides"), NETWORKS[:2], ids=named)
def test_networks_for_images_are_written_down_for_every_size(config, sides, write):
    network, other = build(config), image(40, 64)
    with torch.no_grad():
        written = write(network, image(*sides))
        assert_same(tuple(written(other)), tuple(network(other)))
