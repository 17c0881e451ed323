"""The paper's four networks, as modules built from configs.

Marcos et al., ICCV 2017, arXiv:1612.09346; docs/networks.md says how the doubtful rows
of the paper's tables are read. A network knows its `stride`, to which tiles align,
and its `reach`: how far, in pixels, an output depends on its input.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from roteq_core import functional as rf
from roteq_core.circle_head import CircleHead
from roteq_core.config import (
    CarFinderNetConfig,
    CarNetConfig,
    DigitNetConfig,
    MembraneNetConfig,
    NetConfig,
    PatchNetConfig,
    PlainCarNetConfig,
    TurningConfig,
)
from roteq_core.geometry import Basis
from roteq_core.layers import FieldMaxPool, FieldNorm, Pool, RotConv


def rot_conv(
    turning: TurningConfig,
    in_maps: int,
    filters: int,
    kernel_size: int,
    *,
    image: bool = False,
    pool: Pool = "vector",
    bins: int = 1,
    padding: int | None = None,
    stride: int = 1,
) -> RotConv:
    """Make a `RotConv` that turns its filters as a config says."""
    return RotConv(
        in_maps,
        filters,
        kernel_size,
        orientations=turning.orientations,
        basis=Basis(turning.basis, turning.sigma, turning.rim, turning.frequencies),
        refine=turning.refine,
        vector_input=not image,
        pool=pool,
        bins=bins,
        padding="same" if padding is None else padding,
        stride=stride,
    )


class MembraneMaps(NamedTuple):
    """What the membrane network gives for each pixel."""

    scores: Tensor  # (B, classes, H, W), before softmax
    direction: Tensor  # (B, 2, H, W): strength · (cos 2θ, sin 2θ) of the membrane


class MembraneNet(nn.Module):
    """Segment membranes and tell their direction: the table "isbi_arch".

    Four blocks of rotating convolutions at strides 1, 2, 4 and 8 are brought to full
    size and stacked (10N fields); a 1×1 and a k×k rotating convolution look at the
    stack; magnitudes go to the class scores, and pairs of the last fields to the
    direction.

    Parameters
    ----------
    config : MembraneNetConfig
    """

    stride = 8

    def __init__(self, config: MembraneNetConfig):
        super().__init__()
        self.config = config
        n, k, turning = config.width, config.kernel_size, config.turning
        widths = [n, 2 * n, 3 * n, 4 * n]
        inputs = [config.in_maps, *widths[:-1]]
        self.blocks = nn.ModuleList(
            rot_conv(turning, i, f, k, image=level == 0)
            for level, (i, f) in enumerate(zip(inputs, widths, strict=True))
        )
        self.norms = nn.ModuleList(FieldNorm(f) for f in widths)
        self.pool = FieldMaxPool(2)
        self.mix = rot_conv(turning, sum(widths), 5 * n, 1)
        self.mix_norm = FieldNorm(5 * n)
        self.last = rot_conv(turning, 5 * n, 4 * n, k)
        self.last_norm = FieldNorm(4 * n)
        self.hidden = rot_conv(turning, 4 * n, 8 * n, 1, pool="magnitude")
        self.classify = nn.Conv2d(8 * n, config.classes, 1)
        self.direct = AxialHead(4 * n)

    @property
    def reach(self) -> int:
        """Pixels to each side on which an output depends."""
        half = self.config.kernel_size // 2
        blocks = half * (1 + 2 + 4 + 8)  # at strides 1, 2, 4, 8
        pools = 1 + 2 + 4
        upsampling = 8
        return blocks + pools + upsampling + half + self.direct.reach

    def forward(self, image: Tensor) -> MembraneMaps:
        """(B, C, H, W), sides multiples of 8 → maps of the same size."""
        last = self.fields(image)["last"]
        return MembraneMaps(self.classify(self.hidden(last)), self.direct(last))

    def fields(self, image: Tensor) -> dict[str, Tensor]:
        """Give the vector field of every layer, by name."""
        _check_multiple(image, self.stride)
        size = (image.shape[-2], image.shape[-1])
        fields: dict[str, Tensor] = {}
        stack = []
        x = image
        for level, (block, norm) in enumerate(
            zip(self.blocks, self.norms, strict=True)
        ):
            full = norm(block(x))
            fields[f"block{level + 1}"] = full
            x = self.pool(full) if level < 3 else full
            skipped = full if self.config.skip == "full" else x
            is_full = skipped.shape[-2:] == size
            stack.append(skipped if is_full else rf.field_upsample(skipped, size))
        fields["mix"] = self.mix_norm(self.mix(torch.cat(stack, 1)))
        fields["last"] = self.last_norm(self.last(fields["mix"]))
        return fields


class AxialHead(nn.Module):
    """An axis (mod 180°) from vectors, equivariant by construction.

    With vectors as complex numbers z = u + iv, a product of two turns twice as fast as
    the image, and so does any sum

        d = Σ_fg c_fg z_f z_g / √(|z_f| |z_g|)       with complex c_fg,

    which is therefore strength · e^{2iθ} of an axis θ. A Gaussian, the same in all
    directions, then averages it along the membrane. See docs/method.md (16).

    Parameters
    ----------
    maps : int
        Fields at the input.
    sigma : float
        Width of the Gaussian in pixels; it is cut off at three times that.
    """

    line: Tensor

    def __init__(self, maps: int, sigma: float = 2.5):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, maps, maps) * (0.1 / maps))
        self.reach = round(3 * sigma)
        places = torch.arange(-self.reach, self.reach + 1, dtype=torch.float64)
        line = torch.exp(-places.square() / (2 * sigma**2))
        self.register_buffer("line", (line / line.sum()).float(), persistent=False)

    def forward(self, field: Tensor) -> Tensor:
        """(B, C, 2, H, W) → (B, 2, H, W)."""
        # Divided by the root of its length, so that products grow like z, not like z².
        root = field * torch.rsqrt(rf.magnitude(field) + 1e-6).unsqueeze(2)
        real, imaginary = self.weight
        # A complex 1×1 convolution on maps (u, v): [[re, -im], [im, re]].
        kernel = torch.stack(
            [torch.stack([real, -imaginary], -1), torch.stack([imaginary, real], -1)], 1
        )
        mixed = F.conv2d(
            root.flatten(1, 2), kernel.flatten(2).flatten(0, 1)[..., None, None]
        )
        a, b = root.unbind(2)
        c, d = mixed.unflatten(1, (-1, 2)).unbind(2)
        axis = torch.stack([(a * c - b * d).sum(1), (a * d + b * c).sum(1)], 1)
        return self._averaged(axis)

    def _averaged(self, axis: Tensor) -> Tensor:
        line = self.line.to(axis.dtype).expand(2, 1, -1)
        down = F.conv2d(axis, line[..., None], padding=(self.reach, 0), groups=2)
        return F.conv2d(down, line[:, :, None], padding=(0, self.reach), groups=2)


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
        _check_multiple(image, self.stride)
        x = self.norms[0](self.pool(self.first(image)))
        for block, norm in zip(self.blocks, list(self.norms)[1:], strict=True):
            x = norm(block(x))
        heat, log_length = self.decide(self.look(x)).unbind(1)
        return CarMaps(heat, log_length, self.point(x)[:, 0])


class DigitNet(nn.Module):
    """Recognize turned digits: the table "mnist_arch".

    Parameters
    ----------
    config : DigitNetConfig
    """

    def __init__(self, config: DigitNetConfig):
        super().__init__()
        self.config = config
        turning, (a, b, c) = config.turning, config.filters
        self.first = rot_conv(turning, 1, a, 9, image=True)
        self.second = rot_conv(turning, a, b, 9)
        self.third = rot_conv(turning, b, c, 9, pool="magnitude", padding=1)
        self.norms = nn.ModuleList([FieldNorm(a), FieldNorm(b)])
        self.pool = FieldMaxPool(2)
        self.head = nn.Sequential(
            nn.BatchNorm2d(c),
            nn.Conv2d(c, config.hidden, 1),
            nn.BatchNorm2d(config.hidden),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Conv2d(config.hidden, config.classes, 1),
        )

    def forward(self, image: Tensor) -> Tensor:
        """(B, 1, 28, 28) → (B, classes)."""
        x = self.norms[0](self.pool(self.first(image)))
        x = self.norms[1](self.pool(self.second(x)))
        scores: Tensor = self.head(self.third(x))
        return scores.flatten(1)


class PatchNet(nn.Module):
    """Describe a patch, with a tunable amount of rotation invariance.

    Parameters
    ----------
    config : PatchNetConfig
    """

    def __init__(self, config: PatchNetConfig):
        super().__init__()
        self.config = config
        turning, (a, b, c), k = config.turning, config.filters, config.kernel_size
        self.first = rot_conv(turning, 1, a, k, image=True)
        self.second = rot_conv(turning, a, b, k)
        self.third = rot_conv(turning, b, c, k, pool="magnitude", bins=config.bins)
        self.norms = nn.ModuleList([FieldNorm(a), FieldNorm(b)])
        self.pool = FieldMaxPool(2)

    def forward(self, image: Tensor) -> Tensor:
        """(B, 1, H, W) → unit descriptors (B, filters · bins)."""
        x = self.norms[0](self.pool(self.first(image)))
        x = self.norms[1](self.pool(self.second(x)))
        center = self.third(x).amax((-2, -1))
        return F.normalize(center, dim=1)


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


def _check_multiple(image: Tensor, stride: int) -> None:
    if any(side % stride for side in image.shape[-2:]):
        raise ValueError(
            f"image sides must be multiples of {stride}, got "
            f"{tuple(image.shape[-2:])}; roteq_core.predict pads for you"
        )
