"""The networks that find cars and tell where they point, and a plain one."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import torch
from torch import Tensor, nn

from roteq_core.layers import FieldMaxPool, FieldNorm
from roteq_core.net_config import CarFinderNetConfig, CarNetConfig, PlainCarNetConfig
from roteq_core.networks.circle_head import CircleHead
from roteq_core.networks.parts import check_multiple, rot_conv


class CarNet(nn.Module):
    """Tell where a car points: the table "cars_arch".

    Rotating convolutions without padding, one 2×2 pooling, and one filter over the
    whole remaining map, whose R responses shift around the circle as the car turns.
    With `hidden` there are several such filters, and a `CircleHead` mixes them.

    Parameters
    ----------
    config : CarNetConfig
    """

    stride = 2

    def __init__(self, config: CarNetConfig):
        super().__init__()
        self.config = config
        k, turning = config.kernel_size, config.turning
        inputs = [config.in_maps, *config.filters[:-1]]
        strides = [config.first_stride] + [1] * (len(inputs) - 1)
        self.blocks = nn.ModuleList(
            rot_conv(turning, i, f, k, image=level == 0, padding=0, stride=stride)
            for level, (i, f, stride) in enumerate(
                zip(inputs, config.filters, strides, strict=True)
            )
        )
        self.norms = nn.ModuleList(
            FieldNorm(f) if config.norm else nn.Identity() for f in config.filters
        )
        self.pool = FieldMaxPool(2) if config.first_stride == 1 else nn.Identity()
        side = _car_net_side(config)
        last, hidden = config.filters[-1], config.hidden
        self.whole = rot_conv(
            config.whole_turning, last, hidden or 1, side, pool="none", padding=0
        )
        self.head = CircleHead(hidden) if hidden else None
        if self.head is None:
            with torch.no_grad():  # start undecided: all headings about equally likely
                self.whole.weight.mul_(0.1)

    def forward(self, image: Tensor) -> Tensor:
        """(B, C, crop, crop) → R responses (B, R), or (B, R, H', W') if larger."""
        x = image
        for block, norm in zip(self.blocks, self.norms, strict=True):
            x = norm(block(x))
        templates = self.whole(self.pool(x))  # (B, F, R, H', W')
        mixed = templates[:, 0] if self.head is None else self.head(templates)
        responses: Tensor = mixed  # (B, R, H', W')
        return responses[..., 0, 0] if responses.shape[-1] == 1 else responses

    def direction(self, responses: Tensor) -> Tensor:
        """Hard-coded cosine and sine layer: (B, R, …) → vectors (B, 2, …).

        The paper's tanh and unit norm are left to the loss.
        """
        angles = self.whole.angles
        count = responses.shape[1]
        theta = angles.first + angles.step * torch.arange(
            count, device=responses.device
        )
        table = torch.stack([theta.cos(), theta.sin()]).to(responses) * (2 / count)
        return torch.einsum("br...,cr->bc...", responses, table)


def _car_net_side(config: CarNetConfig) -> int:
    """Side of the map that is left of a crop before the last filter."""
    k, stride = config.kernel_size, config.first_stride
    if (config.crop - k) % stride:
        raise ValueError(
            f"crop - kernel_size must be a multiple of first_stride = {stride}, so "
            f"that the crop stays centered, got {config.crop} - {k}"
        )
    side = (config.crop - k) // stride + 1 - (len(config.filters) - 1) * (k - 1)
    side = -(-side // 2) if stride == 1 else side
    if side < 1:
        raise ValueError(
            f"crop must exceed what {len(config.filters)} unpadded {k}x{k} layers eat, "
            f"got {config.crop}"
        )
    return side


class PlainCarNet(nn.Module):
    """An ordinary network with the layers of `CarNet`, to compare with.

    Parameters
    ----------
    config : PlainCarNetConfig
    """

    def __init__(self, config: PlainCarNetConfig):
        super().__init__()
        self.config = config
        k = config.kernel_size
        layers: list[nn.Module] = []
        for i, f in itertools.pairwise([config.in_maps, *config.filters]):
            layers += [nn.Conv2d(i, f, k), nn.BatchNorm2d(f), nn.ReLU()]
        side = (config.crop - len(config.filters) * (k - 1)) // 2
        self.layers = nn.Sequential(*layers, nn.MaxPool2d(2))
        self.whole = nn.Conv2d(config.filters[-1], 2, side)

    def forward(self, image: Tensor) -> Tensor:
        """(B, C, crop, crop) → vectors (B, 2)."""
        vectors: Tensor = self.whole(self.layers(image))[..., 0, 0]
        return vectors

    def direction(self, vectors: Tensor) -> Tensor:
        """Give what `forward` gives; the same step as in `CarNet`."""
        return vectors


class CarMaps(NamedTuple):
    """What the car finder gives for each cell of 4×4 pixels."""

    heat: Tensor  # (B, H/4, W/4), before the sigmoid
    log_length: Tensor  # (B, H/4, W/4), of the length in pixels over the usual one
    responses: Tensor  # (B, R, H/4, W/4), as of `CarNet`
    offset: Tensor | None = None  # (B, 2, H/4, W/4), to the car's center, in cells


class CarFinderNet(nn.Module):
    """Find cars: how likely one is centered here, how long, and which way it points.

    An even first filter with stride 2 and the pooling after it lie symmetrically about
    the center of the image, so that quarter turns are exact.

    Parameters
    ----------
    config : CarFinderNetConfig
    """

    stride = 4

    def __init__(self, config: CarFinderNetConfig):
        super().__init__()
        self.config = config
        k, turning, filters = config.kernel_size, config.turning, config.filters
        self.first = rot_conv(
            turning, config.in_maps, filters[0], 8, image=True, padding=3, stride=2
        )
        self.blocks = nn.ModuleList(
            rot_conv(turning, i, f, k) for i, f in itertools.pairwise(filters)
        )
        self.norms = nn.ModuleList(FieldNorm(f) for f in filters)
        self.pool = FieldMaxPool(2)
        last = filters[-1]
        self.look = rot_conv(turning, last, config.hidden, k, pool="magnitude")
        self.decide = nn.Conv2d(config.hidden, 2, 1)
        self.point = rot_conv(turning, last, 1, k, pool="none")
        self.aim: nn.Module | None = None
        if config.offsets:
            self.aim = rot_conv(turning, last, config.offsets, k)
            self.offset = VectorHead(config.offsets)
        with torch.no_grad():
            self.point.weight.mul_(0.1)
            self.decide.weight.mul_(0.1)
            assert self.decide.bias is not None
            self.decide.bias.copy_(torch.tensor([-3.0, 0.0]))  # cars are rare

    @property
    def reach(self) -> int:
        """Pixels to each side on which an output depends."""
        half = self.config.kernel_size // 2
        return 8 + 4 * half * (len(self.config.filters)) + 4

    def forward(self, image: Tensor) -> CarMaps:
        """(B, C, H, W), sides multiples of 4 → maps of cells."""
        check_multiple(image, self.stride)
        x = self.norms[0](self.pool(self.first(image)))
        for block, norm in zip(self.blocks, list(self.norms)[1:], strict=True):
            x = norm(block(x))
        heat, log_length = self.decide(self.look(x)).unbind(1)
        offset = None if self.aim is None else self.offset(self.aim(x))
        return CarMaps(heat, log_length, self.point(x)[:, 0], offset)


class VectorHead(nn.Module):
    """One vector from several, each scaled and turned by what was learnt.

    With vectors as complex numbers, d = Σ c_f z_f turns with the image as they do: see
    docs/method.md (17).

    Parameters
    ----------
    maps : int
        Fields at the input.
    """

    def __init__(self, maps: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, maps) / maps)

    def forward(self, field: Tensor) -> Tensor:
        """(B, C, 2, H, W) → (B, 2, H, W)."""
        real, imaginary = (part[:, None, None] for part in self.weight)
        u, v = field.unbind(2)
        along, across = real * u - imaginary * v, imaginary * u + real * v
        return torch.stack([along.sum(1), across.sum(1)], 1)
