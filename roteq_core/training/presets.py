"""Recipes for training: quick, for a laptop, and the best. No torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from roteq_core.config import TrainConfig
from roteq_core.net_config import CAR_NETS, CarNetConfig, MembraneNetConfig

PresetName = Literal["quick", "laptop", "best"]
Net = TypeVar("Net")


@dataclass(frozen=True)
class Preset(Generic[Net]):
    """A network and a training that go together.

    All of them stop early, once the held-out score has not grown for several epochs.

    Parameters
    ----------
    summary : str
        What it is for and how long it takes on two cores without a GPU.
    network : network config
    train : TrainConfig
    synthetic : int
        Synthetic cars to learn from besides.
    """

    summary: str
    network: Net
    train: TrainConfig
    synthetic: int = 0


MEMBRANE_PRESETS: dict[str, Preset[MembraneNetConfig]] = {
    "quick": Preset(
        "To see whether labels and images go together: about 2 minutes on two cores.",
        MembraneNetConfig(width=1),
        TrainConfig(
            steps=400,
            crop=128,
            epoch_steps=50,
            learning_rate=1e-2,
            patience=5,
            freeze=0.3,
        ),
    ),
    "laptop": Preset(
        "A useful model in about 10 minutes on two cores.",
        MembraneNetConfig(width=2),
        TrainConfig(
            steps=1200,
            crop=160,
            epoch_steps=100,
            learning_rate=8e-3,
            patience=6,
            freeze=0.3,
        ),
    ),
    "best": Preset(
        "The best score: about an hour on two cores, minutes on a GPU.",
        MembraneNetConfig(width=2),
        TrainConfig(
            steps=6000,
            crop=192,
            epoch_steps=250,
            learning_rate=6e-3,
            patience=12,
            elastic=2.0,
            intensity=0.6,
            freeze=0.3,
        ),
    ),
}

_CARS = TrainConfig(
    batch=48,
    crop=48,
    learning_rate=6e-3,
    warmup=0.05,
    scale=0.3,
    elastic=0.0,
    intensity=0.7,
)
CAR_PRESETS: dict[str, Preset[CarNetConfig]] = {
    "quick": Preset(
        "To see whether boxes and images go together: about 2 minutes on two cores.",
        CAR_NETS["wide"],
        replace(_CARS, steps=250, epoch_steps=25, patience=6),
        synthetic=160,
    ),
    "laptop": Preset(
        "A useful model in about 15 minutes on two cores.",
        CAR_NETS["wide"],
        replace(_CARS, steps=1500, epoch_steps=75, patience=10),
        synthetic=800,
    ),
    "best": Preset(
        "The best error: an hour or more on two cores, minutes on a GPU.",
        CAR_NETS["wide"],
        replace(_CARS, steps=10_000, batch=32, epoch_steps=500, patience=15),
        synthetic=13_200,
    ),
}


def car_preset(
    name: str | None, otherwise: TrainConfig, **changes: Any
) -> Preset[CarNetConfig]:
    """Give a preset for headings, with some options of its training changed.

    Parameters
    ----------
    name : {"quick", "laptop", "best"} or None
    otherwise : TrainConfig
        The training if there is no name.
    **changes
        Fields of `TrainConfig`; None leaves one as it is.
    """
    if name is None:
        preset = Preset("", CAR_NETS["wide"], otherwise, synthetic=1200)
    elif name in CAR_PRESETS:
        preset = CAR_PRESETS[name]
    else:
        raise ValueError(f"preset must be one of {list(CAR_PRESETS)}, got {name!r}")
    return replace(preset, train=_changed(preset.train, changes))


def _changed(train: TrainConfig, changes: dict[str, Any]) -> TrainConfig:
    given = {key: value for key, value in changes.items() if value is not None}
    train = replace(train, **given)
    if train.epoch_steps > train.steps:
        train = replace(train, epoch_steps=train.steps)
    return train


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
    network = preset.network if width is None else replace(preset.network, width=width)
    return network, _changed(preset.train, changes)
