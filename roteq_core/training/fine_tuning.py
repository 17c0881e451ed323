"""Where a fine-tuning starts: the network and the weights of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from roteq_core.model import load_model
from roteq_core.networks.rebase import rebased_weights
from roteq_core.training.rules import TrainingError


def weights_of(
    start_from: Path | str, task: str, network: Any = None
) -> tuple[Any, dict[str, Tensor]]:
    """Give the network config and the weights of a model to start from.

    Parameters
    ----------
    start_from : str or path
        A shipped name or a file, of a single network.
    task : str
        What the model must be for.
    network : network config, optional
        To carry the weights over to; it may differ in how filters are turned.
    """
    model = load_model(start_from, task=task)
    if len(model.networks) != 1:
        raise TrainingError(
            f"{start_from} is an ensemble of {len(model.networks)} networks; start "
            "from a single one"
        )
    (found,) = model.networks
    weights = found.state_dict()
    if network is None or network == found.config:
        return found.config, weights
    return network, rebased_weights(found.config, weights, network)
