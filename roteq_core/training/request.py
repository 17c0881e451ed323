"""What a training is asked, as plain values that fit into a file. No torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any, Literal

from roteq_core.card_text import CardText
from roteq_core.config import TrainConfig
from roteq_core.net_config import (
    CarNetConfig,
    MembraneNetConfig,
    net_config_from_dict,
    net_config_to_dict,
)

TrainTask = Literal["membranes", "cars"]


@dataclass(frozen=True)
class TrainRequest:
    """What a training is asked.

    Parameters
    ----------
    task : {"membranes", "cars"}
    network : MembraneNetConfig or CarNetConfig
        Built from scratch, unless `start_from` brings its own.
    train : TrainConfig
    start_from : str, optional
        Name or file of a model whose weights to start from.
    synthetic : int
        Synthetic cars to learn from besides.
    card : CardText
    """

    task: TrainTask
    network: MembraneNetConfig | CarNetConfig
    train: TrainConfig
    start_from: str | None = None
    synthetic: int = 0
    card: CardText = field(default_factory=CardText)

    def as_dict(self) -> dict[str, Any]:
        """Give plain values, for `run.json`."""
        return {
            "task": self.task,
            "version": version("napari-roteq"),
            "network": net_config_to_dict(self.network),
            "train": asdict(self.train),
            "start_from": self.start_from,
            "synthetic": self.synthetic,
            "card": asdict(self.card),
        }


def request_from_dict(values: dict[str, Any]) -> TrainRequest:
    """Build the request that `TrainRequest.as_dict` wrote, or an older run's."""
    try:
        return TrainRequest(
            values["task"],
            net_config_from_dict(values["network"]),
            TrainConfig(**values["train"]),
            values.get("start_from"),
            values.get("synthetic", 0),
            CardText(**values["card"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"the run says too little of itself: {error}") from error
