"""The paper's car experiment on another data set, and what it asks besides.

Figures of the shipped model on the test rows, of the paper's networks and of an
ordinary network of the same size, the sweep over R, as plain values.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from roteq_core.cars.finder_scores import iter_finder_scores
from roteq_core.cars.frames import frame_patches
from roteq_core.cars.heading_scores import predict_patches, summary_of
from roteq_core.cars.mended_labels import turned_around
from roteq_core.cars.splits import read_split
from roteq_core.cars.train import TRAIN_CARS, TRAIN_CARS_PAPER
from roteq_core.config import TrainConfig
from roteq_core.jobs import Job, Report, drain
from roteq_core.model import Model, load_model, make_model
from roteq_core.net_config import CAR_NETS, CarNetConfig, PlainCarNetConfig
from roteq_core.networks import count_parameters, set_orientations
from roteq_core.tasks.car_patches import CarPatches
from roteq_core.tasks.cars import CarTask, LossKind
from roteq_core.training.train import iter_train

PAPER: dict[str, dict[str, float]] = {
    "CNN (Henriques and Vedaldi)": {"mean_deg": 28.87, "weights": 27_000},
    "Warped CNN (Henriques and Vedaldi)": {"mean_deg": 26.44, "weights": 27_000},
    "RotEqNet 5k": {"mean_deg": 24.07, "weights": 5_000},
    "RotEqNet 9k": {
        "mean_deg": 20.46,
        "weights": 9_000,
        "share_under_15": 0.827,
        "share_above_150": 0.067,
    },
}
SWEEP = (4, 6, 8, 10, 12, 16, 20, 24, 32)
TURNS_DEG = (0.0, 13.0, 37.0, 90.0, 151.0, 245.0)


@dataclasses.dataclass(frozen=True)
class Contender:
    """A network to train for the table."""

    name: str
    network: CarNetConfig | PlainCarNetConfig
    loss: LossKind
    config: TrainConfig


def contenders(steps: int | None = None) -> list[Contender]:
    """Networks beside the shipped one; `steps` shortens their training."""

    def shortened(config: TrainConfig, **changes: Any) -> TrainConfig:
        count = steps or config.steps
        epoch = min(count, 100)
        return dataclasses.replace(config, steps=count, epoch_steps=epoch, **changes)

    ours, paper = TRAIN_CARS, TRAIN_CARS_PAPER
    plain = PlainCarNetConfig()
    still = {"rotate": False, "flip": False}
    wide, smooth = CAR_NETS["wide"], [CAR_NETS["9k"], CAR_NETS["5k"]]
    printed = [CAR_NETS["paper-9k"], CAR_NETS["paper-5k"]]
    return [
        Contender("RotEqNet wide", wide, "density", shortened(ours)),
        Contender("RotEqNet 9k, smooth", smooth[0], "density", shortened(ours)),
        Contender("RotEqNet 5k, smooth", smooth[1], "density", shortened(ours)),
        Contender("RotEqNet 9k, as printed", printed[0], "squared", shortened(paper)),
        Contender("RotEqNet 5k, as printed", printed[1], "squared", shortened(paper)),
        Contender("plain CNN, turned crops", plain, "vector", shortened(ours)),
        Contender("plain CNN, as is", plain, "vector", shortened(ours, **still)),
    ]


def iter_reproduce_cars(
    data: Path,
    *,
    model: str = "cars",
    finder: str = "car-finder",
    steps: int | None = None,
    minutes: float | None = None,
    train: bool = True,
) -> Job[dict[str, Any]]:
    """Compute all figures.

    Parameters
    ----------
    data : path
        With `cars.csv` and `frames/`; splits `train` and `test`.
    model : str
        The heading model to judge.
    finder : str
        The finder to judge, whose cars are shown to that model.
    steps : int, optional
        Weight updates for each network that is trained to compare with.
    minutes : float, optional
        Processor time for each of them instead: as many updates as fit.
    train : bool
        Whether to train those at all.
    """
    test = frame_patches(read_split(data, "test"), "test")
    judged = load_model(model, task="cars")
    yield Report(0, 3, f"{len(test)} test cars: {model}")
    result: dict[str, Any] = {"paper": PAPER, "test_cars": len(test), "model": model}
    is_file = Path(model).suffix == ".safetensors"
    name = Path(model).stem if is_file else f"{model} (shipped)"
    rows = {name: _figures(judged, test)}
    result["by_turn"] = {}
    for turn in TURNS_DEG:
        found = predict_patches(judged, test, turn=float(np.deg2rad(turn)))
        result["by_turn"][f"{turn:g}"] = summary_of(found, test.angles)["mean_deg"]
        yield Report(1, 3, f"crops turned by {turn:g}°")
    result["sweep"] = yield from _iter_sweep(model, test)
    result["finder"] = yield from iter_finder_scores(
        data, model=finder, heading_model=model
    )
    if train:
        learnt = frame_patches(turned_around(read_split(data, "train")), "real")
        for contender in contenders(steps):
            trained = yield from _iter_contender(contender, learnt, minutes)
            record = trained.card.training
            rows[contender.name] = {**_figures(trained, test), **record}
    result["rows"] = rows
    return result


def _figures(model: Model, test: CarPatches) -> dict[str, Any]:
    """Figures with the model's turned copies, and of one reading alone."""
    one = summary_of(predict_patches(model, test, copies=1), test.angles)
    turned = summary_of(predict_patches(model, test, copies=1, turn=0.65), test.angles)
    weights = sum(count_parameters(network) for network in model.networks)
    return {
        **summary_of(predict_patches(model, test), test.angles),
        "weights": weights,
        "mean_deg_one_copy": one["mean_deg"],
        "mean_deg_one_copy_turned_37": turned["mean_deg"],
    }


def _iter_contender(
    contender: Contender, cars: CarPatches, minutes: float | None
) -> Job[Model]:
    task = CarTask(cars, network=contender.network, loss=contender.loss)
    config = contender.config
    if minutes is not None:
        config = fitted_steps(task, config, 60 * minutes)
    start = time.process_time()
    trained = yield from _named(iter_train(task, config), contender.name)
    reading = "density" if contender.loss == "density" else "vector"
    spent = round(time.process_time() - start, 1)
    return make_model(
        [trained.network],
        name="contender",
        task="cars",
        settings={"reading": reading},
        training={"steps": config.steps, "cpu_seconds": spent},
    )


def fitted_steps(task: CarTask, config: TrainConfig, seconds: float) -> TrainConfig:
    """Give a training as many steps as fit into so many seconds of processor time."""
    drain(iter_train(task, dataclasses.replace(config, steps=1, epoch_steps=1)))
    tried = 3
    start = time.process_time()
    drain(iter_train(task, dataclasses.replace(config, steps=tried, epoch_steps=tried)))
    spent = (time.process_time() - start) / tried
    steps = max(tried, round(seconds / max(spent, 1e-6)))
    return dataclasses.replace(config, steps=steps, epoch_steps=min(steps, 100))


def _named(job: Job[Any], name: str) -> Job[Any]:
    while True:
        try:
            report = next(job)
        except StopIteration as end:
            return end.value
        yield dataclasses.replace(report, text=f"{name}: {report.text}")


def _iter_sweep(
    model: str, test: CarPatches, counts: Sequence[int] = SWEEP
) -> Job[list[dict[str, float]]]:
    """Mean error and milliseconds per car for each number of orientations R."""
    rows = []
    judged = load_model(model, task="cars")
    for count in counts:
        for network in judged.networks:
            set_orientations(network, count)
        start = time.perf_counter()
        found = predict_patches(judged, test, copies=1)
        seconds = time.perf_counter() - start
        figures = summary_of(found, test.angles)
        rows.append(
            {
                "orientations": count,
                "mean_deg": figures["mean_deg"],
                "median_deg": figures["median_deg"],
                "share_above_150": figures["share_above_150"],
                "ms_per_car": 1000 * seconds / len(test),
            }
        )
        yield Report(2, 3, f"R = {count}: {figures['mean_deg']:.2f}°")
    return rows
