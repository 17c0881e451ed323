"""The floor: one `conv2d` with R·F output maps in the best layout, and no pooling.

The convolution that a bank of R turned filters asks for, if turning and pooling cost
nothing. Layouts: the default, `channels_last`, and `channels_last` in strips of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from roteq_core.layers import RotConv

LAYOUTS = ("default", "channels_last", "strips 32", "strips 64", "strips 128")


class FloorConv(nn.Module):
    """A `RotConv` reduced to its convolution; some of the R·F maps are passed on."""

    def __init__(self, like: RotConv, layout: str = "channels_last"):
        super().__init__()
        self.filters, self.padding, self.layout = like.filters, like.padding, layout
        self.pool, self.vector_input = like.pool, like.vector_input
        self.orientations = like.orientations
        maps = like.in_maps * (2 if like.vector_input else 1)
        shape = (like.filters * like.orientations, maps, *[like.kernel_size] * 2)
        self.weight = nn.Parameter(torch.randn(shape) * 0.01)

    def forward(self, x: Tensor) -> Tensor:
        maps = x.flatten(1, 2) if self.vector_input else x
        passed = {"vector": 2, "magnitude": 1, "none": self.orientations}[self.pool]
        parts = [
            out[:, : passed * self.filters] for out in self.convolve(maps, self.weight)
        ]
        out = torch.cat(parts, 2) if len(parts) > 1 else parts[0]
        if self.pool == "magnitude":
            return out
        return out.unflatten(1, (self.filters, passed))

    def convolve(self, maps: Tensor, weight: Tensor) -> Iterator[Tensor]:
        """Give all R·F maps, whole or strip by strip."""
        if self.layout == "default":
            yield F.conv2d(maps, weight, padding=self.padding)
            return
        last = torch.channels_last
        weight = weight.contiguous(memory_format=last)
        if self.layout == "channels_last":
            maps = maps.contiguous(memory_format=last)
            yield F.conv2d(maps, weight, padding=self.padding)
            return
        rows = int(self.layout.split()[1])
        padded = F.pad(maps, [self.padding] * 4).contiguous(memory_format=last)
        reach = weight.shape[-1] - 1
        for top in range(0, padded.shape[2] - reach, rows):
            yield F.conv2d(padded[:, :, top : top + rows + reach], weight)


def floor_step(conv: FloorConv, maps: Tensor) -> Callable[[], object]:
    """Forward and backward of the bare convolution, every map with a gradient."""
    maps = maps.flatten(1, 2).requires_grad_()
    with torch.no_grad():
        shapes = [out.shape for out in conv.convolve(maps, conv.weight)]
    memory = torch.contiguous_format
    memory = memory if conv.layout == "default" else torch.channels_last
    grads = [torch.randn(s).contiguous(memory_format=memory) for s in shapes]

    def step() -> None:
        conv.weight.grad = maps.grad = None
        for out, grad in zip(conv.convolve(maps, conv.weight), grads, strict=True):
            out.backward(grad)

    return step
