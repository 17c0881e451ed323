"""Training as a job: one report per epoch, checkpoints, exact resume.

How a run goes on after a stop or a kill is in `training.run`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from roteq_core.config import TrainConfig
from roteq_core.device import choose_device
from roteq_core.jobs import Job
from roteq_core.networks import build_network
from roteq_core.training.checkpoint import read_checkpoint
from roteq_core.training.rules import (
    Task,
    TrainingError,
    learning_rate_at,
    load_weights,
)
from roteq_core.training.run import TrainingRun

__all__ = [
    "Task",
    "Trained",
    "TrainingError",
    "iter_train",
    "learning_rate_at",
    "load_trained",
]


@dataclass
class Trained:
    """What a training leaves: the network with its final weights, and its log.

    Parameters
    ----------
    network : nn.Module
    config : network config
    log : list of dict
        One row for each epoch: step, losses, scores, seconds.
    """

    network: nn.Module
    config: Any
    log: list[dict[str, Any]]


def iter_train(
    task: Task,
    config: TrainConfig,
    *,
    folder: Path | str | None = None,
    resume: bool = False,
    start: dict[str, Tensor] | None = None,
    build: Callable[[Any], nn.Module] = build_network,
) -> Job[Trained]:
    """Train a network, yielding a report after every few steps and every epoch.

    Parameters
    ----------
    task : Task
    config : TrainConfig
    folder : path, optional
        Where checkpoints go after each epoch: ``last.safetensors`` and, judged by the
        validation score, ``best.safetensors``.
    resume : bool
        Go on from ``last.safetensors``; the result equals an uninterrupted run.
    start : dict of tensors, optional
        Weights to start from (fine-tuning).
    build : callable
        Makes the network from the task's config.

    Returns
    -------
    Trained
        With the weights averaged over the last steps or, where patience ended the
        run, those of the best epoch.
    """
    device = choose_device(config.device)
    network = _fresh_network(build, task.network, config.seed).to(device)
    if start is not None:
        load_weights(network, start)
    run = TrainingRun(task, config, network, device, Path(folder) if folder else None)
    if resume:
        run.restore()
    yield from run.epochs()
    run.use_final_weights()
    return Trained(network, task.network, run.log)


def load_trained(
    folder: Path | str,
    network: Any,
    *,
    which: Literal["last", "best"] = "last",
    build: Callable[[Any], nn.Module] = build_network,
) -> Trained:
    """Give what a run has come to, finished or not, from its checkpoints.

    Parameters
    ----------
    folder : path
        Of the run.
    network : network config
    which : {"last", "best"}
    build : callable
        Makes the network from its config.
    """
    found = read_checkpoint(Path(folder) / f"{which}.safetensors")
    made = build(network)
    load_weights(made, found.usable)
    return Trained(made.eval(), network, found.record["log"])


def _fresh_network(
    build: Callable[[Any], nn.Module], config: Any, seed: int
) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build(config)
