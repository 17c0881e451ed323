"""Networks to compare with: a plain CNN of the same topology, and the U-Net.

Neither is equivariant. Both give the same maps as `MembraneNet`, direction included, so
that they are trained, tiled and scored by the same code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from roteq_core.config import check_options, option
from roteq_core.net_config import net_config_from_dict
from roteq_core.networks import MembraneMaps, build_network


@dataclass(frozen=True)
class PlainNetConfig:
    """A standard CNN with the topology of the membrane network.

    A width of 9 has ten times the weights of the equivariant network with N = 2.
    """

    kind: ClassVar[str] = "plain"
    width: int = option(9, "Width", "Filters per layer: M, 2M, 3M, 4M.", low=1, high=64)
    kernel_size: int = option(9, "Kernel", low=3, high=21)
    classes: int = option(3, "Classes", low=2, high=16)

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class UNetConfig:
    """The U-Net of Ronneberger et al. 2015 with padding; 64 filters make 31 million."""

    kind: ClassVar[str] = "unet"
    width: int = option(64, "Width", "Filters of the first level.", low=1, high=128)
    classes: int = option(3, "Classes", low=2, high=16)

    def __post_init__(self) -> None:
        check_options(self)


class PlainNet(nn.Module):
    """Plain convolutions where `MembraneNet` has rotating ones; batch norm and ReLU.

    Parameters
    ----------
    config : PlainNetConfig
    """

    stride = 8

    def __init__(self, config: PlainNetConfig):
        super().__init__()
        self.config = config
        m, k = config.width, config.kernel_size
        widths = [m, 2 * m, 3 * m, 4 * m]
        inputs = [1, *widths[:-1]]
        self.blocks = nn.ModuleList(
            _conv(i, f, k) for i, f in zip(inputs, widths, strict=True)
        )
        self.mix = _conv(sum(widths), 5 * m, 1)
        self.last = _conv(5 * m, 4 * m, k)
        self.hidden = _conv(4 * m, 8 * m, 1)
        self.classify = nn.Conv2d(8 * m, config.classes, 1)
        self.direct = nn.Conv2d(8 * m, 2, 1)

    @property
    def reach(self) -> int:
        """Pixels to each side on which an output depends."""
        half = self.config.kernel_size // 2
        return half * (1 + 2 + 4 + 8) + (1 + 2 + 4) + 8 + half

    def forward(self, image: Tensor) -> MembraneMaps:
        """(B, 1, H, W), sides multiples of 8 → maps of the same size."""
        size = image.shape[-2:]
        stack, x = [], image
        for level, block in enumerate(self.blocks):
            full = block(x)
            stack.append(_to_size(full, size))
            x = F.max_pool2d(full, 2) if level < 3 else full
        hidden = self.hidden(self.last(self.mix(torch.cat(stack, 1))))
        return MembraneMaps(self.classify(hidden), self.direct(hidden))


class UNet(nn.Module):
    """Five levels of two 3×3 convolutions, skips, and 2×2 up-convolutions.

    Parameters
    ----------
    config : UNetConfig
    """

    stride = 16
    reach = 128

    def __init__(self, config: UNetConfig):
        super().__init__()
        self.config = config
        widths = [config.width * 2**level for level in range(5)]
        self.down = nn.ModuleList(
            _twice(i, f) for i, f in zip([1, *widths[:-1]], widths, strict=True)
        )
        pairs = list(zip(widths[:0:-1], widths[-2::-1], strict=True))
        self.up = nn.ModuleList(nn.ConvTranspose2d(i, f, 2, stride=2) for i, f in pairs)
        self.join = nn.ModuleList(_twice(2 * f, f) for _, f in pairs)
        self.classify = nn.Conv2d(config.width, config.classes, 1)
        self.direct = nn.Conv2d(config.width, 2, 1)
        for module in self.modules():  # without normalization the start matters
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        nn.init.normal_(self.direct.weight, std=1e-2)

    def forward(self, image: Tensor) -> MembraneMaps:
        """(B, 1, H, W), sides multiples of 16 → maps of the same size."""
        skips: list[Tensor] = []
        x = image
        for level, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if level else x)
            skips.append(x)
        skips.pop()
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat([skips.pop(), up(x)], 1))
        return MembraneMaps(self.classify(x), self.direct(x))


BASELINES: dict[str, type[Any]] = {
    PlainNetConfig.kind: PlainNetConfig,
    UNetConfig.kind: UNetConfig,
}


def any_config_from_dict(values: dict[str, Any]) -> Any:
    """Build the config of a baseline or of one of the paper's networks."""
    rest = dict(values)
    kind = rest.pop("kind", None)
    return (
        BASELINES[kind](**rest) if kind in BASELINES else net_config_from_dict(values)
    )


def build_any(config: Any) -> nn.Module:
    """Build a baseline, or one of the paper's networks."""
    if isinstance(config, PlainNetConfig):
        return PlainNet(config)
    if isinstance(config, UNetConfig):
        return UNet(config)
    return build_network(config)


def _conv(in_maps: int, filters: int, kernel_size: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(in_maps, filters, kernel_size, padding=kernel_size // 2, bias=False),
        nn.BatchNorm2d(filters),
        nn.ReLU(),
    )


def _twice(in_maps: int, filters: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(in_maps, filters, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(filters, filters, 3, padding=1),
        nn.ReLU(),
    )


def _to_size(maps: Tensor, size: torch.Size) -> Tensor:
    if maps.shape[-2:] == size:
        return maps
    return F.interpolate(maps, size=size, mode="bilinear", align_corners=False)
