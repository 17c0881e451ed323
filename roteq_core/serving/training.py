"""Trainings that a viewer asks for: run, resume, keep, save, as jobs.

All that a run needs lies in its folder: what it was asked (`run.json`), its data
(`data.npz`), what it last predicted (`preview.npz`), log, curves and checkpoints. So it
can be resumed on another day, without the layers it began with.
"""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

import torch

from roteq_core.card_text import CardText
from roteq_core.jobs import Job, Report
from roteq_core.model import Model, with_card
from roteq_core.training.fine_tuning import weights_of
from roteq_core.training.request import TrainRequest, request_from_dict
from roteq_core.training.rules import Task
from roteq_core.training.run_data import DATA, keep_preview
from roteq_core.training.run_folder import (
    LAST,
    keep_log,
    read_log,
    read_run,
    start_run,
    write_run,
)
from roteq_core.training.train import Trained, iter_train, load_trained

MODEL = "model.safetensors"
BEST = "best.safetensors"


class Kind(Protocol):
    """What differs between trainings of one task and another."""

    def prepare(self, data: Any) -> Any:
        """Give what is kept of data that were sent."""

    def describe(self, kept: Any) -> dict[str, Any]:
        """Give plain values with a fingerprint."""

    def save(self, path: Path, kept: Any) -> None:
        """Write what is kept."""

    def load(self, path: Path) -> Any:
        """Read what is kept."""

    def task(self, kept: Any, request: TrainRequest, folder: Path) -> Job[Task]:
        """Make the training's task, which looks for new labels by itself."""

    def model(self, kept: Any, asked: dict[str, Any], trained: Trained) -> Model:
        """Make a model of trained weights."""


def kind_of(task: str) -> Kind:
    """Give the kind of a task's trainings."""
    if task == "membranes":
        from roteq_core.serving.membrane_runs import MembraneKind

        return MembraneKind()
    if task == "cars":
        from roteq_core.serving.car_runs import CarKind

        return CarKind()
    raise ValueError(f"task must be 'membranes' or 'cars', got {task!r}")


def iter_run(folder: Path | str, request: TrainRequest, data: Any) -> Job[str]:
    """Train from the beginning; see `iter_resume` for what it gives.

    Parameters
    ----------
    folder : path
        A new or empty one.
    request : TrainRequest
    data : list of LabelledStack, or list of CarFrame
    """
    folder = Path(folder)
    yield Report(0, request.train.steps, "preparing the data")
    if request.start_from is not None:
        network, _ = weights_of(request.start_from, request.task)
        request = replace(request, network=network)
    kind = kind_of(request.task)
    kept = kind.prepare(data)
    asked = {**request.as_dict(), "data": kind.describe(kept)}
    start_run(folder, asked, resume=False)
    kind.save(folder / DATA, kept)
    return (yield from iter_resume(folder))


def iter_resume(folder: Path | str) -> Job[str]:
    """Go on with a run where its last checkpoint was written, to the end.

    Returns
    -------
    str
        The model file, in the folder: the best weights by the held-out score.
    """
    folder = Path(folder)
    asked = read_run(folder)
    request = request_from_dict(asked)
    steps = request.train.steps
    yield Report(0, steps, "preparing the data")
    kind = kind_of(request.task)
    task = yield from kind.task(kind.load(folder / DATA), request, folder)
    is_begun = (folder / LAST).is_file()
    start = None
    if request.start_from is not None and not is_begun:
        _, start = weights_of(request.start_from, request.task)
    job = iter_train(task, request.train, folder=folder, resume=is_begun, start=start)
    yield from keep_preview(keep_log(job, folder), folder)
    yield Report(steps, steps, "saving the model")
    return keep_run(folder)


def keep_run(folder: Path | str, card: CardText | None = None) -> str:
    """Make a model of the best weights so far, and give its file.

    Parameters
    ----------
    folder : path
        Of a run, finished or not.
    card : CardText, optional
        What to write on the card; what the run was asked if not given.
    """
    folder = Path(folder)
    asked = read_run(folder)
    if not (folder / LAST).is_file():
        raise ValueError(
            f"nothing has been learnt in {folder} yet: no epoch came to its end"
        )
    if card is not None:
        asked["card"] = asdict(card)
        write_run(folder, asked)
    request, kind = request_from_dict(asked), kind_of(asked["task"])
    which: Any = "best" if (folder / BEST).is_file() else "last"
    trained = load_trained(folder, request.network, which=which)
    model = kind.model(kind.load(folder / DATA), asked, trained)
    training = {
        "recipe": asked["train"],
        "start_from": asked["start_from"],
        "data": asked["data"],
        "steps": trained.log[-1]["step"],
        "of_steps": request.train.steps,
        "seconds": round(read_log(folder)[-1].get("seconds", 0)),
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, "
        f"torch {torch.__version__}",
    }
    path = folder / MODEL
    with_card(model, training=training).save(path)
    return str(path)


def save_model(folder: Path | str, output: Path | str, card: CardText) -> str:
    """Write the model of a run to a file, with a card made from a form."""
    output = Path(output)
    if output.suffix != ".safetensors":
        output = output.with_name(output.name + ".safetensors")
    kept = Path(keep_run(folder, card))
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_name(output.name + ".partial")
    partial.write_bytes(kept.read_bytes())
    os.replace(partial, output)
    return str(output)
