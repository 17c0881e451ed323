"""Recipes for training: quick, for a laptop, and the best. No torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from roteq_core.config import MembraneNetConfig, TrainConfig

PresetName = Literal["quick", "laptop", "best"]


@dataclass(frozen=True)
class Preset:
    """A network and a training that go together.

    Parameters
    ----------
    summary : str
        What it is for and how long it takes on two cores without a GPU.
    network : MembraneNetConfig
    train : TrainConfig
    """

    summary: str
    network: MembraneNetConfig
    train: TrainConfig


MEMBRANE_PRESETS: dict[str, Preset] = {
    "quick": Preset(
        "To see whether labels and images go together: about 2 minutes on two cores.",
        MembraneNetConfig(width=1),
        TrainConfig(steps=400, crop=128, epoch_steps=200, learning_rate=1e-2),
    ),
    "laptop": Preset(
        "A useful model in about 10 to 15 minutes on two cores.",
        MembraneNetConfig(width=2),
        TrainConfig(steps=500, crop=160, epoch_steps=125, learning_rate=8e-3),
    ),
    "best": Preset(
        "The best score: two to three hours on two cores, minutes on a GPU.",
        MembraneNetConfig(width=2),
        TrainConfig(steps=6000, crop=192, epoch_steps=250, learning_rate=6e-3),
    ),
}


def membrane_preset(
    name: str, *, width: int | None = None, **changes: Any
) -> tuple[MembraneNetConfig, TrainConfig]:
    """Give the network and training of a preset, with some options changed.

    Parameters
    ----------
    name : {"quick", "laptop", "best"}
    width : int, optional
        Another width N of the network.
    **changes
        Fields of `TrainConfig`; None leaves one as it is.
    """
    if name not in MEMBRANE_PRESETS:
        raise ValueError(
            f"preset must be one of {list(MEMBRANE_PRESETS)}, got {name!r}"
        )
    preset = MEMBRANE_PRESETS[name]
    given = {key: value for key, value in changes.items() if value is not None}
    network = preset.network if width is None else replace(preset.network, width=width)
    train = replace(preset.train, **given)
    if train.epoch_steps > train.steps:
        train = replace(train, epoch_steps=train.steps)
    return network, train
