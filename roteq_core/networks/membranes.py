"""The network that segments membranes and tells their direction."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from roteq_core import functional as rf
from roteq_core.layers import FieldMaxPool, FieldNorm
from roteq_core.net_config import MembraneNetConfig
from roteq_core.networks.parts import check_multiple, rot_conv
from roteq_core.tiles import Span

# Pixels that `MembraneNet.window` takes to full size at once: an image of 512 × 512.
BAND = 2**18


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
        blocks = self._run_blocks(image)
        everywhere = Span(0, image.shape[-2]), Span(0, image.shape[-1])
        stack = self._stack(self._skipped(blocks), everywhere)
        fields = {f"block{level + 1}": field for level, field in enumerate(blocks)}
        fields["mix"] = self.mix_norm(self.mix(stack))
        fields["last"] = self.last_norm(self.last(fields["mix"]))
        return fields

    def window(self, image: Tensor, rows: slice, columns: slice) -> MembraneMaps:
        """Give what `forward` gives in a window of the image; for evaluation.

        Most of the work and of the memory is in what follows the blocks, which reaches
        no further than half a kernel. It is done for the window alone, in bands of
        rows, so that it takes no more memory than an image of 512 × 512 does.
        """
        skipped = self._skipped(self._run_blocks(image))
        sides = Span(rows.start, rows.stop), Span(columns.start, columns.stop)
        # Directions are averaged: they are needed beyond the window.
        wide = [
            side.grown(self.direct.reach, length)
            for side, length in zip(sides, image.shape[-2:], strict=True)
        ]
        height = max(self.stride, BAND // wide[1].length)
        bands = [
            self._look(skipped, (band, wide[1]), image.shape[-2:])
            for band in wide[0].cut(height)
        ]
        scores, axis = (torch.cat(parts, -2) for parts in zip(*bands, strict=True))
        inside = sides[0].within(wide[0]), sides[1].within(wide[1])
        direction = self.direct.averaged(axis)
        return MembraneMaps(scores[..., *inside], direction[..., *inside])

    def _run_blocks(self, image: Tensor) -> list[Tensor]:
        """Give the fields at strides 1, 2, 4 and 8."""
        check_multiple(image, self.stride)
        fields: list[Tensor] = []
        for block, norm in zip(self.blocks, self.norms, strict=True):
            x = self.pool(fields[-1]) if fields else image
            fields.append(norm(block(x)))
        return fields

    def _skipped(self, blocks: list[Tensor]) -> list[Tensor]:
        """Give what of the blocks' fields goes to the stack."""
        if self.config.skip == "full":
            return blocks
        return [*(self.pool(field) for field in blocks[:-1]), blocks[-1]]

    def _stack(self, skipped: list[Tensor], window: tuple[Span, Span]) -> Tensor:
        """Bring fields to full size in a window, and stack them."""
        smallest = skipped[-1].shape[-1]
        factors = [self.stride * smallest // field.shape[-1] for field in skipped]
        parts = [
            _enlarged(field, factor, window)
            for field, factor in zip(skipped, factors, strict=True)
        ]
        return torch.cat(parts, 1)

    def _look(
        self, skipped: list[Tensor], window: tuple[Span, Span], size: torch.Size
    ) -> tuple[Tensor, Tensor]:
        """Give scores and axes, not yet averaged, in a window."""
        half = self.config.kernel_size // 2
        rows, columns = (
            side.grown(half, length) for side, length in zip(window, size, strict=True)
        )
        mix = self.mix_norm(self.mix(self._stack(skipped, (rows, columns))))
        inside = window[0].within(rows), window[1].within(columns)
        last = self.last_norm(self.last(mix)[..., *inside])
        return self.classify(self.hidden(last)), self.direct.axis(last)


def _enlarged(field: Tensor, factor: int, window: tuple[Span, Span]) -> Tensor:
    """Cut a window out of a field enlarged by a factor, enlarging no more than that."""
    if factor == 1:
        return field[..., window[0].slice, window[1].slice]
    # Bilinear reading needs one vector more at each end.
    read = [
        Span(side.start // factor, -(-side.stop // factor)).grown(1, length)
        for side, length in zip(window, field.shape[-2:], strict=True)
    ]
    size = (read[0].length * factor, read[1].length * factor)
    large = rf.field_upsample(field[..., read[0].slice, read[1].slice], size)
    rows, columns = (
        slice(side.start - r.start * factor, side.stop - r.start * factor)
        for side, r in zip(window, read, strict=True)
    )
    return large[..., rows, columns]


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
        return self.averaged(self.axis(field))

    def axis(self, field: Tensor) -> Tensor:
        """Give the axis of each pixel, before it is averaged."""
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
        return torch.stack([(a * c - b * d).sum(1), (a * d + b * c).sum(1)], 1)

    def averaged(self, axis: Tensor) -> Tensor:
        """Average axes (B, 2, H, W) over their neighborhoods."""
        line = self.line.to(axis.dtype).expand(2, 1, -1)
        down = F.conv2d(axis, line[..., None], padding=(self.reach, 0), groups=2)
        return F.conv2d(down, line[:, :, None], padding=(0, self.reach), groups=2)
