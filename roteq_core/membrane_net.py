"""The network that segments membranes and tells their direction."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from roteq_core import functional as rf
from roteq_core.config import MembraneNetConfig
from roteq_core.layers import FieldMaxPool, FieldNorm
from roteq_core.net_parts import check_multiple, rot_conv


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
        check_multiple(image, self.stride)
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
