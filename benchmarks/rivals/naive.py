"""The naive reference: one convolution per orientation, a stack, a maximum.

This is how the paper reads, and how other implementations do it: bilinear filters, the
two components convolved together, all R responses kept.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from roteq_core.layers import RotConv


class NaiveRotConv(nn.Module):
    """A `RotConv` with the paper's filters, done naively."""

    def __init__(self, like: RotConv):
        super().__init__()
        self.filters, self.orientations = like.filters, like.orientations
        self.pool, self.padding = like.pool, like.padding
        self.vector_input = like.vector_input
        paper = RotConv(
            like.in_maps,
            like.filters,
            like.kernel_size,
            orientations=like.orientations,
            vector_input=like.vector_input,
            basis="bilinear",
        )
        self.weight, self.bias = paper.weight, paper.bias
        self.turning = paper.operator.matrices().to(paper.weight)  # (R, P, P)

    def forward(self, x: Tensor) -> Tensor:
        maps = x.flatten(1, 2) if self.vector_input else x
        taps = self.weight.flatten(2)
        responses = []
        for turn in self.turning:
            turned = (taps @ turn.T).view_as(self.weight).flatten(1, 2)
            responses.append(F.conv2d(maps, turned, self.bias, padding=self.padding))
        stack = torch.stack(responses, 2)  # (B, F, R, H, W)
        if self.pool == "none":
            return stack
        strength, index = stack.max(2)
        strength = strength.relu()
        if self.pool == "magnitude":
            return strength
        theta = index * (2 * math.pi / self.orientations)
        return torch.stack([strength * theta.cos(), strength * theta.sin()], 2)
