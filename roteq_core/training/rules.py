"""What a training is asked and told: task, errors, rates, the same options again."""

from __future__ import annotations

import json
import math
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from roteq_core.config import TrainConfig
from roteq_core.layers import FieldNorm


class TrainingError(ValueError):
    """Training cannot go on; the message says why and what to do."""


class Task(Protocol):
    """What is particular to a training: data, loss and validation.

    A task may also have ``iter_validate``, validation as a job, and ``refresh``, which
    is called before each epoch and says whether the data have changed.
    """

    network: Any

    def batch(self, config: TrainConfig, rng: np.random.Generator) -> dict[str, Tensor]:
        """Draw a batch."""
        ...

    def loss(
        self, network: nn.Module, batch: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, float]]:
        """Give the loss and its parts."""
        ...

    def validate(self, network: nn.Module, device: torch.device) -> dict[str, Any]:
        """Score held-out data; ``score`` is what matters, higher is better."""
        ...


def set_training(network: nn.Module, step: int, config: TrainConfig) -> None:
    """Prepare a step: statistics of normalizations are fixed in the last ones.

    Those of a few crops waver, and no image that is predicted has them.
    """
    network.train()
    if step >= config.steps * (1 - config.freeze):
        for module in network.modules():
            if isinstance(module, (FieldNorm, nn.BatchNorm2d)):
                module.eval()


def check_same(before: dict[str, Any], now: dict[str, Any], but: str = "") -> None:
    """Refuse to go on with other options; tuples come back from JSON as lists."""
    now = json.loads(json.dumps(now))
    changed = sorted(k for k in {*before, *now} if before.get(k) != now.get(k))
    if changed := [k for k in changed if k != but]:
        told = [f"{k} (was {before.get(k)!r}, now {now.get(k)!r})" for k in changed]
        raise TrainingError(
            "a run is resumed with the options it had; these differ: " + ", ".join(told)
        )


def learning_rate_at(step: int, config: TrainConfig) -> float:
    """One-cycle schedule: a linear rise, then half a cosine down to a hundredth."""
    rise = max(1, round(config.steps * config.warmup))
    if step < rise:
        return config.learning_rate * (0.1 + 0.9 * step / rise)
    progress = (step - rise) / max(1, config.steps - rise)
    fall = 0.01 + 0.99 * (1 + math.cos(math.pi * progress)) / 2
    return config.learning_rate * fall


def epoch_text(row: dict[str, Any]) -> str:
    """Say how an epoch ended."""
    hidden = ("seconds", "score")
    numbers = {k: v for k, v in row.items() if isinstance(v, float) and k not in hidden}
    shown = [f"{k} {v:.4f}" for k, v in numbers.items()]
    return ", ".join(shown)


def load_weights(network: nn.Module, weights: dict[str, Tensor]) -> None:
    """Give a network weights, or say that they are another one's."""
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise TrainingError(
            f"the weights to start from do not fit this network: {error}"
        ) from error
