"""The standard U-Net: 64 to 1024 maps, 31 million parameters, no normalization.

Ronneberger et al., MICCAI 2015, with padding, so that the output has the input's size.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Double(nn.Sequential):
    def __init__(self, inputs: int, outputs: int):
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1),
            nn.ReLU(),
        )


class UNet(nn.Module):
    def __init__(self, in_maps: int = 1, classes: int = 3, base: int = 64):
        super().__init__()
        widths = [base * 2**level for level in range(5)]
        inputs = [in_maps, *widths[:-1]]
        self.down = nn.ModuleList(map(Double, inputs, widths))
        pairs = list(zip(widths[1:], widths[:-1], strict=True))[::-1]
        self.widen = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in pairs)
        self.up = nn.ModuleList(Double(a, b) for a, b in pairs)
        self.classify = nn.Conv2d(base, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        for level, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if level else x)
            skips.append(x)
        skips.pop()
        for widen, block in zip(self.widen, self.up, strict=True):
            x = block(torch.cat([skips.pop(), widen(x)], 1))
        return self.classify(x)
