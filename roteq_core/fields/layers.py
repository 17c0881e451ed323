"""Which layers of a network give vector fields, and where their vectors lie. No torch.

Everything follows from a network's config, so that a form can list the layers of a
model without loading it. `roteq_core.fields.compute` computes the fields.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from roteq_core.net_config import (
    CarFinderNetConfig,
    CarNetConfig,
    DigitNetConfig,
    MembraneNetConfig,
    PatchNetConfig,
    TurningConfig,
    net_config_from_dict,
)


@dataclass(frozen=True)
class FieldLayer:
    """A rotating convolution of a network, whose winning orientations make a field.

    Parameters
    ----------
    name : str
        Path of the module in the network, such as "blocks.0".
    title : str
        What a person calls it.
    filters : int
        Canonical filters: fields that it gives.
    kernel_size : int
        Side of the filters.
    in_maps, parts : int
        Maps that a filter looks at, and numbers in each of their pixels: 1 for images,
        2 (u and v) for fields.
    orientations : int
        R.
    stride : int
        Pixels of the network's input between neighboring vectors.
    offset : float
        Where the first vector lies, in pixels of the input, along both axes.
    reach : int
        Pixels to each side on which a vector depends.
    """

    name: str
    title: str
    filters: int
    kernel_size: int
    in_maps: int
    parts: int
    orientations: int
    stride: int
    offset: float
    reach: int

    @property
    def about(self) -> str:
        """Title, number of filters and stride if it is not 1, for a list."""
        words = [self.title, f"{self.filters} filter{'s' if self.filters > 1 else ''}"]
        return " · ".join(words if self.stride == 1 else [*words, f"1:{self.stride}"])


def field_layers(config: Any) -> tuple[FieldLayer, ...]:
    """List the layers of a network that give fields, first to last.

    Parameters
    ----------
    config : network config, or mapping as in a model's card
        Plain networks have none.
    """
    if isinstance(config, Mapping):
        if config.get("kind") in ("plain", "unet"):
            return ()
        config = net_config_from_dict(dict(config))
    listed = _LISTED.get(type(config))
    return () if listed is None else tuple(listed(config))


def find_layer(layers: tuple[FieldLayer, ...], name: str) -> FieldLayer:
    """Give the layer of a name; without one the last that is not hidden."""
    if not layers:
        raise ValueError("a model with rotating filters is needed, this one has none")
    by_name = {layer.name: layer for layer in layers}
    if not name:
        return by_name.get("last", layers[-1])
    if name not in by_name:
        raise ValueError(f"layer must be one of {list(by_name)}, got {name!r}")
    return by_name[name]


def input_stride(config: Any) -> int:
    """Give what the sides and the corners of the parts of an image are multiples of."""
    if isinstance(config, MembraneNetConfig):
        return 8
    if isinstance(config, CarNetConfig):
        return 2
    return 4


@dataclass(frozen=True)
class _Trail:
    """Where the pixels of a map lie in the network's input."""

    stride: int = 1
    offset: float = 0.0
    reach: float = 0.0

    def convolved(self, kernel: int, padding: int, stride: int = 1) -> _Trail:
        middle = (kernel - 1) / 2
        return _Trail(
            self.stride * stride,
            self.offset + self.stride * (middle - padding),
            self.reach + self.stride * middle,
        )

    def pooled(self) -> _Trail:
        half = self.stride / 2
        return _Trail(2 * self.stride, self.offset + half, self.reach + half)

    def layer(
        self,
        name: str,
        title: str,
        filters: int,
        kernel: int,
        maps: int,
        turning: TurningConfig,
        *,
        sees_image: bool = False,
    ) -> FieldLayer:
        """Make the layer whose output lies here."""
        return FieldLayer(
            name,
            title,
            filters,
            kernel,
            maps,
            1 if sees_image else 2,
            turning.orientations,
            self.stride,
            self.offset,
            math.ceil(self.reach),
        )


def _membrane_layers(config: MembraneNetConfig) -> list[FieldLayer]:
    n, k, turning = config.width, config.kernel_size, config.turning
    widths = [n, 2 * n, 3 * n, 4 * n]
    layers = []
    trail = _Trail()
    pairs = itertools.pairwise([config.in_maps, *widths])
    for level, (maps, filters) in enumerate(pairs):
        trail = (trail.pooled() if level else trail).convolved(k, k // 2)
        names = f"blocks.{level}", f"Block {level + 1}"
        first = level == 0
        layers.append(trail.layer(*names, filters, k, maps, turning, sees_image=first))
    # All blocks are brought to full size; between two coarse pixels both count.
    full = _Trail(reach=trail.reach + 8)
    layers.append(full.layer("mix", "Mix of blocks", 5 * n, 1, sum(widths), turning))
    full = full.convolved(k, k // 2)
    layers.append(full.layer("last", "Last field", 4 * n, k, 5 * n, turning))
    layers.append(full.layer("hidden", "Hidden", 8 * n, 1, 4 * n, turning))
    return layers


def _car_layers(config: CarNetConfig) -> list[FieldLayer]:
    k, turning = config.kernel_size, config.turning
    layers = []
    trail = _Trail()
    side = config.crop
    pairs = itertools.pairwise([config.in_maps, *config.filters])
    for level, (maps, filters) in enumerate(pairs):
        first = level == 0
        stride = config.first_stride if first else 1
        trail = trail.convolved(k, 0, stride)
        side = (side - k) // stride + 1
        names = f"blocks.{level}", f"Block {level + 1}"
        layers.append(trail.layer(*names, filters, k, maps, turning, sees_image=first))
    if config.first_stride == 1:
        trail, side = trail.pooled(), -(-side // 2)
    trail = trail.convolved(side, 0)
    maps = config.filters[-1]
    count, turning = config.hidden or 1, config.whole_turning
    title = "Templates" if config.hidden else "Heading"
    layers.append(trail.layer("whole", title, count, side, maps, turning))
    return layers


def _finder_layers(config: CarFinderNetConfig) -> list[FieldLayer]:
    k, turning = config.kernel_size, config.turning
    filters, maps = config.filters, config.in_maps
    trail = _Trail().convolved(8, 3, 2)
    layers = [
        trail.layer("first", "Block 1", filters[0], 8, maps, turning, sees_image=True)
    ]
    trail = trail.pooled()
    for level, (maps, count) in enumerate(itertools.pairwise(filters)):
        trail = trail.convolved(k, k // 2)
        names = f"blocks.{level}", f"Block {level + 2}"
        layers.append(trail.layer(*names, count, k, maps, turning))
    trail, maps = trail.convolved(k, k // 2), filters[-1]
    layers.append(trail.layer("look", "Look", config.hidden, k, maps, turning))
    layers.append(trail.layer("point", "Heading", 1, k, maps, turning))
    if config.offsets:
        layers.append(trail.layer("aim", "Center", config.offsets, k, maps, turning))
    return layers


def _three_layers(config: Any, k: int, last_padding: int) -> list[FieldLayer]:
    (a, b, c), turning = config.filters, config.turning
    first = _Trail().convolved(k, k // 2)
    second = first.pooled().convolved(k, k // 2)
    third = second.pooled().convolved(k, last_padding)
    return [
        first.layer("first", "Block 1", a, k, 1, turning, sees_image=True),
        second.layer("second", "Block 2", b, k, a, turning),
        third.layer("third", "Block 3", c, k, b, turning),
    ]


_LISTED: dict[type[Any], Any] = {
    MembraneNetConfig: _membrane_layers,
    CarNetConfig: _car_layers,
    CarFinderNetConfig: _finder_layers,
    DigitNetConfig: lambda config: _three_layers(config, 9, 1),
    PatchNetConfig: lambda config: _three_layers(
        config, config.kernel_size, config.kernel_size // 2
    ),
}
