"""Plain networks, the paper's baseline: 4 times the filters, 10 times the weights."""

from __future__ import annotations

from torch import nn


def car_cnn() -> nn.Module:
    """The car network with ordinary convolutions; two outputs, cosine and sine."""
    return nn.Sequential(
        nn.Conv2d(1, 12, 11),
        nn.ReLU(),
        nn.Conv2d(12, 24, 11),
        nn.ReLU(),
        nn.Conv2d(24, 12, 11),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(12, 2, 9),
        nn.Flatten(),
    )


def digit_cnn() -> nn.Module:
    """The digit network with ordinary convolutions."""
    return nn.Sequential(
        nn.Conv2d(1, 24, 9, padding=4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(24, 64, 9, padding=4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 9, padding=1),
        nn.ReLU(),
        nn.Conv2d(128, 128, 1),
        nn.ReLU(),
        nn.Conv2d(128, 10, 1),
        nn.Flatten(),
    )
