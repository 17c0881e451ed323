"""The run of a training on cars: what it was asked and learns from, its model so far.

A run goes on with the images, the table and the split that it had; see `begun_run`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from roteq_core.cars.frames import CarFrames
from roteq_core.cars.pictures import read_image
from roteq_core.config import TrainConfig
from roteq_core.jobs import Job, Report
from roteq_core.model import Model
from roteq_core.net_config import net_config_from_dict, net_config_to_dict
from roteq_core.tables import Car
from roteq_core.tasks.car_patches import parked_weights
from roteq_core.training.checkpoint import read_checkpoint
from roteq_core.training.rules import check_same
from roteq_core.training.run import check_options
from roteq_core.training.run_folder import (
    LAST,
    RUN,
    fingerprint,
    read_run,
    start_run,
    write_run,
)
from roteq_core.training.train import Trained, load_trained

# Makes a model of a trained network, of what its run was asked, and of scores.
MakeModel = Callable[[Trained, dict[str, Any], dict[str, Any]], Model]


def asked_of(
    task: str,
    network: Any,
    train: TrainConfig,
    *,
    name: str,
    data: str,
    synthetic: int,
    left_out: Sequence[str],
    start_from: str | None,
    settings: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Give what a training is asked as plain values, all that its model's card tells.

    Parameters
    ----------
    task : {"cars", "car-finder"}
    network : network config
    train : TrainConfig
    name, data : str
        For the model's card.
    synthetic : int
        Cars or scenes that are drawn.
    left_out : sequence of str
        Families of synthetic styles that are validated on.
    start_from : str, optional
        Name or file of a model.
    settings : dict, optional
        Of the model.
    """
    return {
        "task": task,
        "version": version("napari-roteq"),
        "network": net_config_to_dict(network),
        "train": asdict(train),
        "start_from": start_from,
        "synthetic": synthetic,
        "left_out": list(left_out),
        "settings": settings or {},
        "card": {"name": name, "data": data},
    }


def describe_split(train: CarFrames, held: CarFrames) -> dict[str, Any]:
    """Give sources, counts and fingerprint of what is learnt from and validated on."""
    prints = [print_ for frames in (train, held) for print_ in _prints(frames)]
    together = " ".join([str(len(train.images)), *prints]).encode()
    return {
        "images": ", ".join(path.name for path in train.images),
        "held_out_images": ", ".join(path.name for path in held.images),
        "cars": train.count,
        "held_out_cars": held.count,
        "fingerprint": fingerprint(np.frombuffer(together, np.uint8)),
    }


def _prints(frames: CarFrames) -> list[str]:
    """Give a fingerprint of each image with its cars."""
    weights = parked_weights([car for cars in frames.cars for car in cars])
    found, first = [], 0
    rows = zip(frames.images, frames.cars, frames.doubtful, strict=True)
    for path, cars, doubtful in rows:
        own = weights[first : first + len(cars)]
        first += len(cars)
        places = _numbers(cars), _numbers(doubtful)
        found.append(fingerprint(read_image(path), *places, own))
    return found


def _numbers(cars: Sequence[Car]) -> np.ndarray:
    """Give center, length, width and heading of cars (n, 5), NaN where not known."""
    rows = [
        (car.cx, car.cy, car.length, car.width, car.heading_cw_from_up_deg)
        for car in cars
    ]
    return np.array(rows, float).reshape(len(cars), 5)


def begun_run(
    folder: Path | None,
    asked: dict[str, Any],
    train: CarFrames,
    held: CarFrames,
    *,
    resume: bool,
) -> Job[None]:
    """Write down what a run is asked, or see that it is asked the same again.

    A run that is there is never overwritten. Where one goes on of which nothing was
    written down, a report whose values have ``note`` says so.

    Parameters
    ----------
    folder : path, optional
        Without one nothing is kept.
    asked : dict of plain values
        From `asked_of`.
    train, held : CarFrames
        What is learnt from, and what is validated on.
    resume : bool
        Whether a run in the folder goes on.
    """
    if folder is None:
        return
    folder, steps = Path(folder), asked["train"]["steps"]
    yield Report(0, steps, "preparing the data")
    asked = {**asked, "data": describe_split(train, held)}
    if resume and (folder / LAST).is_file() and not (folder / RUN).is_file():
        record = read_checkpoint(folder / LAST).record
        check_options(record, asked["train"], _network_of(asked))
        write_run(folder, asked)
        yield Report(0, steps, text := _unchecked(folder), {"note": text})
        return
    start_run(folder, asked, resume=resume)
    if resume:
        check_same(_drawn(read_run(folder)), _drawn(asked))


def _unchecked(folder: Path) -> str:
    return (
        f"the run in {folder} does not say what it learnt from, so that nobody can "
        "check whether images and table are the same; they are written down now"
    )


def _drawn(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: asked.get(name) for name in ("synthetic", "left_out")}


def _network_of(asked: dict[str, Any]) -> dict[str, Any]:
    return asdict(net_config_from_dict(asked["network"]))


def save_unfinished(folder: Path, output: Path, make: MakeModel) -> Path:
    """Save what a run has come to as a model, from its last checkpoint.

    Parameters
    ----------
    folder, output : path
        Of the run, and of the model.
    make : callable
    """
    asked = read_run(folder)
    trained = load_trained(folder, net_config_from_dict(asked["network"]))
    scores = {**trained.log[-1], "unfinished": True}
    make(trained, asked, scores).save(output)
    return output
