"""The network that recognizes turned digits."""

from __future__ import annotations

from torch import Tensor, nn

from roteq_core.layers import FieldMaxPool, FieldNorm
from roteq_core.net_config import DigitNetConfig
from roteq_core.networks.parts import rot_conv


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
