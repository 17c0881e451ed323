"""The same layer and networks in escnn (Cesa et al., ICLR 2022), in two forms.

``vector`` is RotEqNet written in it: vector fields → regular fields of C_R → its
vector-field non-linearity. ``regular`` is what its users build: regular fields of C16
with as many fields, rectified, and pooled over the group at the end.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import types
import warnings
from typing import Any, Literal

import torch
from torch import Tensor, nn

Form = Literal["vector", "regular"]


def is_installed() -> bool:
    return importlib.util.find_spec("escnn") is not None


@functools.cache
def _escnn() -> tuple[Any, Any]:
    """Import escnn without the packages that only its SO(3) needs."""
    name = "lie_learn"
    if importlib.util.find_spec(name) is None:
        for part in ("", ".representations", ".SO3", ".wigner_d"):
            name += part
            sys.modules[name] = types.ModuleType(name)
        sys.modules[name].wigner_D_matrix = None  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from escnn import gspaces, nn as enn
    return gspaces, enn


class Block(nn.Module):
    """Convolution, non-linearity and normalization of either form."""

    def __init__(
        self,
        form: Form,
        inputs: Any,
        fields: int,
        kernel: int,
        padding: int,
        *,
        norm: bool = True,
        pool: int = 1,
        invariant: bool = False,
    ):
        super().__init__()
        _, enn = _escnn()
        space = inputs.gspace
        regular = enn.FieldType(space, fields * [space.regular_repr])
        steps = [enn.R2Conv(inputs, regular, kernel, padding=padding)]
        if invariant:
            steps += [enn.GroupPooling(regular)]
        elif form == "vector":
            steps += [enn.VectorFieldNonLinearity(regular)]
            here = steps[-1].out_type
            steps += [enn.NormBatchNorm(here)] if norm else []
            steps += [enn.NormMaxPool(here, pool, pool)] if pool > 1 else []
        else:
            steps += [enn.InnerBatchNorm(regular)] if norm else []
            steps += [enn.ReLU(regular)]
            steps += [enn.PointwiseMaxPool(regular, pool, pool)] if pool > 1 else []
        self.steps = enn.SequentialModule(*steps)
        self.out_type = steps[-1].out_type

    def forward(self, x: Any) -> Any:
        return self.steps(x)


def _trivial(orientations: int) -> Any:
    gspaces, enn = _escnn()
    space = gspaces.rot2dOnR2(orientations)
    return enn.FieldType(space, [space.trivial_repr])


class Layer(nn.Module):
    """The layer of workload (a): C fields → F fields."""

    def __init__(
        self, form: Form, orientations: int, maps: int, filters: int, kernel: int
    ):
        super().__init__()
        gspaces, enn = _escnn()
        space = gspaces.rot2dOnR2(orientations)
        kind = space.irrep(1) if form == "vector" else space.regular_repr
        self.in_type = enn.FieldType(space, maps * [kind])
        padding = kernel // 2
        self.block = Block(form, self.in_type, filters, kernel, padding, norm=False)

    def forward(self, x: Tensor) -> Tensor:
        _, enn = _escnn()
        out: Tensor = self.block(enn.GeometricTensor(x, self.in_type)).tensor
        return out


class Membranes(nn.Module):
    """The membrane network, N = width."""

    def __init__(self, form: Form, orientations: int, width: int = 2):
        super().__init__()
        _, enn = _escnn()
        n, x = width, _trivial(orientations)
        self.in_type = x
        blocks, pools, ups, types_ = [], [], [], []
        for level in range(4):
            block = Block(form, x, (level + 1) * n, 9, 4)
            pooling = enn.NormMaxPool if form == "vector" else enn.PointwiseMaxPool
            x = block.out_type
            blocks.append(block)
            pools.append(pooling(x, 2, 2))
            types_.append(x)
            ups.append(enn.R2Upsampling(x, min(2 ** (level + 1), 8)))
        self.blocks, self.pools = nn.ModuleList(blocks), nn.ModuleList(pools)
        self.ups = nn.ModuleList(ups)
        stack = types_[0] + types_[1] + types_[2] + types_[3]
        self.mix = Block(form, stack, 5 * n, 1, 0)
        self.last = Block(form, self.mix.out_type, 4 * n, 9, 4)
        self.hidden = Block(form, self.last.out_type, 8 * n, 1, 0, invariant=True)
        self.classify = nn.Conv2d(8 * n, 3, 1)

    def forward(self, image: Tensor) -> Tensor:
        _, enn = _escnn()
        x = enn.GeometricTensor(image, self.in_type)
        stack = []
        for level in range(4):
            x = self.blocks[level](x)
            x = self.pools[level](x) if level < 3 else x
            stack.append(self.ups[level](x))
        x = self.last(self.mix(enn.tensor_directsum(stack)))
        out: Tensor = self.classify(self.hidden(x).tensor.relu())
        return out


class Digits(nn.Module):
    """The digit network."""

    def __init__(self, form: Form, orientations: int):
        super().__init__()
        self.in_type = _trivial(orientations)
        self.first = Block(form, self.in_type, 6, 9, 4, pool=2)
        self.second = Block(form, self.first.out_type, 16, 9, 4, pool=2)
        self.third = Block(form, self.second.out_type, 32, 9, 1, invariant=True)
        self.head = nn.Sequential(
            nn.BatchNorm2d(32),
            nn.Conv2d(32, 128, 1),
            nn.BatchNorm2d(128),
            nn.ReLU(),
            nn.Dropout(0.7),
            nn.Conv2d(128, 10, 1),
        )

    def forward(self, image: Tensor) -> Tensor:
        _, enn = _escnn()
        x = enn.GeometricTensor(image, self.in_type)
        x = self.third(self.second(self.first(x))).tensor.relu()
        return torch.flatten(self.head(x), 1)


class Cars(nn.Module):
    """The car network; the responses of its last filter are not pooled."""

    def __init__(self, form: Form, orientations: int):
        super().__init__()
        _, enn = _escnn()
        self.in_type = _trivial(orientations)
        self.blocks = nn.Sequential()
        x = self.in_type
        for fields, pool in ((3, 1), (6, 1), (3, 2)):
            self.blocks.append(Block(form, x, fields, 11, 0, pool=pool))
            x = self.blocks[-1].out_type
        regular = enn.FieldType(x.gspace, [x.gspace.regular_repr])
        self.whole = enn.R2Conv(x, regular, 9)

    def forward(self, image: Tensor) -> Tensor:
        _, enn = _escnn()
        x = self.blocks(enn.GeometricTensor(image, self.in_type))
        out: Tensor = self.whole(x).tensor[..., 0, 0]
        return out
