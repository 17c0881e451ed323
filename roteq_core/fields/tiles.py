"""Tiles of a layer's output, which may be coarser and smaller than the image. No torch.

Counted in vectors of the layer, not in pixels: a tile keeps some vectors and reads all
pixels on which they depend, so that the tiled field equals the whole one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from roteq_core.fields.layers import FieldLayer
from roteq_core.tiles import round_up


@dataclass(frozen=True)
class OutputSpan:
    """A range of vectors along one axis, and what is read for it.

    Parameters
    ----------
    start, stop : int
        Vectors that are kept, stop excluded.
    read_start, read_stop : int
        Pixels of the image.
    stride : int
        Pixels between vectors.
    """

    start: int
    stop: int
    read_start: int
    read_stop: int
    stride: int

    @property
    def source(self) -> slice:
        """What to read of the image."""
        return slice(self.read_start, self.read_stop)

    @property
    def target(self) -> slice:
        """Where the vectors go in the whole field."""
        return slice(self.start, self.stop)

    @property
    def kept(self) -> slice:
        """Which vectors to keep of those that the tile gives."""
        before = self.read_start // self.stride
        return slice(self.start - before, self.stop - before)


def count_outputs(length: int, layer: FieldLayer) -> int:
    """How many vectors a layer gives along a side of the network's input."""
    # The first vector is as far from one end as the last from the other.
    count = math.floor((length - 1 - 2 * layer.offset) / layer.stride) + 1
    if count < 1:
        raise ValueError(
            f"the image must be at least {math.ceil(2 * layer.offset + 1)} pixels wide "
            f"and high, as the network sees it, for {layer.name}, got {length}"
        )
    return count


def plan_outputs(
    length: int, layer: FieldLayer, *, tile: int, stride: int
) -> list[OutputSpan]:
    """Divide the vectors along one axis into spans.

    Parameters
    ----------
    length : int
        Pixels along the axis, a multiple of `stride`.
    layer : FieldLayer
    tile : int
        Pixels of the image for which a span keeps vectors.
    stride : int
        What starts and stops of what is read are multiples of.
    """
    if length % stride:
        raise ValueError(f"the length must be a multiple of {stride}, got {length}")
    count = count_outputs(length, layer)
    step = max(1, tile // layer.stride)
    spans = []
    for start in range(0, count, step):
        stop = min(start + step, count)
        first = layer.stride * start + layer.offset - layer.reach
        last = layer.stride * (stop - 1) + layer.offset + layer.reach
        read_start = max(0, math.floor(first)) // stride * stride
        read_stop = min(length, round_up(math.ceil(last) + 1, stride))
        spans.append(OutputSpan(start, stop, read_start, read_stop, layer.stride))
    return spans
