"""What is measured: one layer and the paper's networks, by us and by rivals.

A subject is a module and its input. `subject("layer R=16", "naive", 512)` builds one;
the last argument is the side of the image, or the batch for small images.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from benchmarks.rivals import cnn, equivariant, floor, naive, unet
from roteq_core.layers import RotConv
from roteq_core.net_config import (
    PAPER_TURNING,
    CarNetConfig,
    DigitNetConfig,
    MembraneNetConfig,
    NetConfig,
)
from roteq_core.networks import build_network

OURS = "roteq"
PAPER = "roteq, paper's filters"
NAIVE = "naive"
ESCNN_VECTOR = "escnn, vector"
ESCNN_REGULAR = "escnn, regular C16"
UNET = "U-Net 31M"
CNN = "CNN x4"
FLOORS = tuple(f"floor, {layout}" for layout in floor.LAYOUTS)


@dataclass(frozen=True)
class Subject:
    """A module and its input, which has a gradient if it asks for one."""

    module: nn.Module
    x: Tensor
    run_step: Callable[[], object] | None = None
    grads: list[Tensor] = field(default_factory=list)

    def forward(self) -> None:
        if self.module.training:
            self.module.eval()
        with torch.no_grad():
            self.module(self.x.detach())

    def step(self) -> None:
        """Forward and backward, as a training step does."""
        if self.run_step is not None:
            self.run_step()
            return
        if not self.module.training:
            self.module.train()
        self.module.zero_grad(set_to_none=True)
        self.x.grad = None
        out = self.module(self.x)
        outputs = out if isinstance(out, tuple) else (out,)
        torch.autograd.backward(outputs, self.grads)

    def prepare_step(self) -> None:
        """Draw the gradients that come from behind, so that no loss is measured."""
        with torch.no_grad():
            out = self.module.train()(self.x)
        outputs = out if isinstance(out, tuple) else (out,)
        self.grads[:] = [torch.randn_like(o) for o in outputs]


@dataclass(frozen=True)
class Workload:
    """A named thing to do, with those who can do it and the sizes to do it at."""

    name: str
    build: Callable[[str, int], Subject]
    rivals: tuple[str, ...]
    sizes: tuple[int, ...]
    small: int  # enough to warm up


def _layer(orientations: int) -> Callable[[str, int], Subject]:
    def build(rival: str, size: int) -> Subject:
        x = torch.randn(1, 10, 2, size, size)
        basis, refine = ("bilinear", False) if rival == PAPER else ("smooth", True)
        ours = RotConv(10, 8, 9, orientations=orientations, basis=basis, refine=refine)
        if rival in (OURS, PAPER):
            return Subject(ours, x.requires_grad_())
        if rival == NAIVE:
            return Subject(naive.NaiveRotConv(ours), x.requires_grad_())
        if rival in FLOORS:
            conv = floor.FloorConv(ours, floor.LAYOUTS[FLOORS.index(rival)])
            return Subject(conv, x, floor.floor_step(conv, x.clone()))
        form: equivariant.Form = "vector" if rival == ESCNN_VECTOR else "regular"
        layer = equivariant.Layer(form, orientations, 10, 8, 9)
        x = torch.randn(1, layer.in_type.size, size, size)
        return Subject(layer, x.requires_grad_())

    return build


def _network(
    config: NetConfig,
    shape: Callable[[int], tuple[int, ...]],
    in_escnn: Callable[[equivariant.Form, int], nn.Module],
    plain: Callable[[], nn.Module],
) -> Callable[[str, int], Subject]:
    orientations = 21 if isinstance(config, CarNetConfig) else 17
    paper = replace(PAPER_TURNING, orientations=orientations)

    def module(rival: str) -> nn.Module:
        if rival == OURS:
            return build_network(config)
        if rival == PAPER:
            return build_network(replace(config, turning=paper))
        if rival == ESCNN_VECTOR:
            return in_escnn("vector", orientations)
        if rival == ESCNN_REGULAR:
            return in_escnn("regular", 16)
        if rival in (UNET, CNN):
            return plain()
        network = build_network(replace(config, turning=paper))
        if rival == NAIVE:
            return _with_layers(network, naive.NaiveRotConv)
        layout = floor.LAYOUTS[FLOORS.index(rival)]
        return _with_layers(network, lambda like: floor.FloorConv(like, layout))

    return lambda rival, size: Subject(module(rival), torch.randn(shape(size)))


def _with_layers(network: nn.Module, make: Callable[[RotConv], nn.Module]) -> nn.Module:
    """Put other layers in the place of ours."""
    for parent in list(network.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, RotConv):
                setattr(parent, name, make(child))
    return network


_RIVALS = (OURS, PAPER, NAIVE, ESCNN_VECTOR, ESCNN_REGULAR)
_ALL = (*_RIVALS, *FLOORS)
# In whole networks the floor is taken in the two layouts that are fast in the layer.
_IN_NETWORKS = (*_RIVALS, "floor, channels_last", "floor, strips 64")

LAYERS = (
    Workload("layer R=16", _layer(16), _ALL, (256, 512), 32),
    Workload(
        "layer R=17",
        _layer(17),
        tuple(r for r in _ALL if r != ESCNN_REGULAR),
        (256, 512),
        32,
    ),
)

NETWORKS = (
    Workload(
        "membranes",
        _network(
            MembraneNetConfig(skip="pooled"),
            lambda size: (1, 1, size, size),
            equivariant.Membranes,
            unet.UNet,
        ),
        (*_IN_NETWORKS, UNET),
        (512,),
        64,
    ),
    Workload(
        "digits",
        _network(
            DigitNetConfig(),
            lambda batch: (batch, 1, 28, 28),
            equivariant.Digits,
            cnn.digit_cnn,
        ),
        (*_IN_NETWORKS, CNN),
        (64,),
        2,
    ),
    Workload(
        "cars",
        _network(
            CarNetConfig(),
            lambda batch: (batch, 1, 48, 48),
            equivariant.Cars,
            cnn.car_cnn,
        ),
        (*_IN_NETWORKS, CNN),
        (64,),
        2,
    ),
)


def workload(name: str) -> Workload:
    """Find a workload by its name."""
    return next(w for w in (*LAYERS, *NETWORKS) if w.name == name)


def available(rivals: tuple[str, ...]) -> list[str]:
    """Leave out who is not installed."""
    has_escnn = equivariant.is_installed()
    return [r for r in rivals if has_escnn or not r.startswith("escnn")]
