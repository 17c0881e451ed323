"""The network that describes patches, to match them."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from roteq_core.layers import FieldMaxPool, FieldNorm
from roteq_core.net_config import PatchNetConfig
from roteq_core.networks.parts import rot_conv


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
