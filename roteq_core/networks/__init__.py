"""The paper's four networks, as modules built from configs.

Marcos et al., ICCV 2017, arXiv:1612.09346; docs/networks.md says how the doubtful rows
of the paper's tables are read. A network knows its `stride`, to which tiles align,
and its `reach`: how far, in pixels, an output depends on its input.
"""

from __future__ import annotations

from torch import nn

from roteq_core.layers import RotConv
from roteq_core.net_config import (
    CarFinderNetConfig,
    CarNetConfig,
    DigitNetConfig,
    MembraneNetConfig,
    NetConfig,
    PatchNetConfig,
    PlainCarNetConfig,
)
from roteq_core.networks.cars import CarFinderNet, CarMaps, CarNet, PlainCarNet
from roteq_core.networks.digits import DigitNet
from roteq_core.networks.membranes import AxialHead, MembraneMaps, MembraneNet
from roteq_core.networks.parts import rot_conv
from roteq_core.networks.patches import PatchNet

__all__ = [
    "AxialHead",
    "CarFinderNet",
    "CarMaps",
    "CarNet",
    "DigitNet",
    "MembraneMaps",
    "MembraneNet",
    "PatchNet",
    "PlainCarNet",
    "build_network",
    "count_parameters",
    "rot_conv",
    "set_orientations",
]


def build_network(config: NetConfig) -> nn.Module:
    """Build the network of a config."""
    kinds = {
        MembraneNetConfig: MembraneNet,
        CarNetConfig: CarNet,
        CarFinderNetConfig: CarFinderNet,
        PlainCarNetConfig: PlainCarNet,
        DigitNetConfig: DigitNet,
        PatchNetConfig: PatchNet,
    }
    if type(config) not in kinds:
        raise ValueError(
            f"config must be a network config, got {type(config).__name__}"
        )
    return kinds[type(config)](config)  # type: ignore[no-any-return]


def count_parameters(network: nn.Module) -> int:
    """Count what is learnt."""
    return sum(p.numel() for p in network.parameters())


def set_orientations(network: nn.Module, orientations: int) -> None:
    """Turn the filters of a trained network to another number of angles R."""
    for module in network.modules():
        if isinstance(module, RotConv):
            module.orientations = orientations
