"""Train a membrane model from a stack and its labels to a model file, as a job."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from roteq_core.card import check_model_output, find_model, read_card
from roteq_core.card_text import CardText
from roteq_core.config import TrainConfig
from roteq_core.device import choose_device
from roteq_core.jobs import Job
from roteq_core.membranes.evaluate import membrane_task
from roteq_core.membranes.examples import MembraneExamples
from roteq_core.model import Model, make_model
from roteq_core.net_config import (
    MembraneNetConfig,
    net_config_from_dict,
    net_config_to_dict,
)
from roteq_core.tasks.membranes import MembraneTask, predict_plane
from roteq_core.training.fine_tuning import weights_of
from roteq_core.training.run_folder import (
    keep_log,
    read_run,
    run_folder_of,
    start_run,
)
from roteq_core.training.train import Trained, iter_train, load_trained

_SCORES = ("v_rand", "v_info", "direction_deg", "pixels_right")


def iter_train_membranes(
    examples: MembraneExamples,
    output: Path | str,
    *,
    network: MembraneNetConfig,
    train: TrainConfig,
    card: CardText | None = None,
    folder: Path | str | None = None,
    resume: bool = False,
    start_from: Path | str | None = None,
) -> Job[Path]:
    """Train, score on the held-out slices and save a model.

    Parameters
    ----------
    examples : MembraneExamples
    output : path
        The model file, ``.safetensors``.
    network : MembraneNetConfig
    train : TrainConfig
    card : CardText, optional
    folder : path, optional
        For checkpoints, log and curves; ``NAME_run`` beside the output if not given.
    resume : bool
        Go on with the run in the folder.
    start_from : str or path, optional
        A model to start from; its network is taken instead of `network`.
    """
    output = Path(output)
    check_model_output(output)
    card = card or CardText(output.stem)
    start: dict[str, Tensor] | None = None
    if start_from is not None:
        network, start = weights_of(start_from, "membranes")
        _check_network(network, start_from)
        size = card.pixel_size_nm or read_card(find_model(start_from)).pixel_size
        card = replace(card, pixel_size_nm=size)
    folder = Path(folder) if folder else run_folder_of(output)
    asked = {
        "task": "membranes",
        "version": version("napari-roteq"),
        "network": net_config_to_dict(network),
        "train": asdict(train),
        "start_from": None if start_from is None else str(start_from),
        "data": examples.description,
        "card": asdict(card),
    }
    task = membrane_task(examples, network)
    start_run(folder, asked, resume=resume)
    job = iter_train(task, train, folder=folder, resume=resume, start=start)
    trained = yield from keep_log(job, folder)
    scores = score_held_out(task, trained.network, choose_device(train.device))
    model_of_run(folder, trained, scores).save(output)
    return output


def _check_network(network: Any, start_from: Path | str) -> None:
    if not isinstance(network, MembraneNetConfig):
        raise ValueError(
            f"a training starts from a network with turning filters, such as "
            f"membranes; {start_from} is a {type(network).__name__}"
        )


def save_unfinished(folder: Path | str, output: Path | str) -> Path:
    """Save what a run has come to as a model, from its last checkpoint."""
    network = net_config_from_dict(read_run(folder)["network"])
    trained = load_trained(folder, network)
    last = trained.log[-1]
    scores: dict[str, Any] = {"unfinished": True}
    scores |= {k: last[k] for k in _SCORES if k in last}
    model_of_run(folder, trained, scores).save(output)
    return Path(output)


def model_of_run(folder: Path | str, trained: Trained, scores: dict[str, Any]) -> Model:
    """Put a trained network and what its run was asked into a model."""
    asked = read_run(folder)
    text = asked["card"]
    log = trained.log
    return make_model(
        [trained.network.cpu()],
        name=text["name"],
        task="membranes",
        summary=text["summary"] or _summary(asked["data"]),
        pixel_size=text["pixel_size_nm"],
        pixel_unit="nm" if text["pixel_size_nm"] else "",
        data=text["data"] or f"{asked['data']['images']}, {asked['data']['labels']}",
        terms=text["terms"],
        limits=text["limits"],
        training={
            "recipe": asked["train"],
            "start_from": asked["start_from"] and Path(asked["start_from"]).name,
            "data": asked["data"],
            "normalization": "per image: median and 5th to 95th percentile",
            "steps": log[-1]["step"] if log else 0,
            "seconds": round(log[-1].get("seconds", 0)) if log else 0,
            "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, "
            f"torch {torch.__version__}",
        },
        scores=scores,
    )


def score_held_out(
    task: MembraneTask, network: nn.Module, device: torch.device
) -> dict[str, Any]:
    """Score a network as `roteq score` does, for its card.

    Sparse labels do not tell whole cells apart: then it is the share of labelled pixels
    that are right, membrane and cell counting alike.
    """
    if not task.held_out:
        return {}
    network.to(device).eval()
    maps = [predict_plane(network, task.images[z], device) for z in task.held_out]
    slices = f"{task.held_out[0]}-{task.held_out[-1]}"
    if task.is_sparse:
        right = task.pixels_right(maps, task.held_out)
        return {"slices": slices, "pixels_right": round(right, 5)}
    result, direction = task.score(maps)
    return {
        "slices": slices,
        "v_rand": round(result.v_rand, 5),
        "v_info": round(result.v_info, 5),
        "threshold": result.threshold,
        "pixel_error": round(result.pixel_error, 5),
        "direction_deg": None if direction is None else round(direction, 2),
    }


def _summary(data: dict[str, Any]) -> str:
    slices, height, width = data["shape"]
    return f"Membranes, trained on {slices} slices of {height} × {width} pixels."
