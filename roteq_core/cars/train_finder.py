"""Train a car finder on one's own images: from files to a model with a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from roteq_core.cars.frames import CarFrames, hold_out_last
from roteq_core.cars.pictures import read_image
from roteq_core.cars.runs import asked_of, begun_run
from roteq_core.config import TrainConfig
from roteq_core.jobs import Job, Report
from roteq_core.model import Model, make_model
from roteq_core.net_config import FINDER_NET, CarFinderNetConfig
from roteq_core.synthetic import FAMILIES, aerial_scene
from roteq_core.synthetic.aerial import AerialScene
from roteq_core.tables import Car
from roteq_core.tasks.car_finder import CarFinderTask
from roteq_core.tasks.car_scenes import CarScene, scene_from_cars
from roteq_core.training.fine_tuning import weights_of
from roteq_core.training.run_folder import keep_log
from roteq_core.training.train import Trained, iter_train

TRAIN_FINDER = TrainConfig(
    steps=4000,
    batch=6,
    crop=128,
    learning_rate=8e-3,
    warmup=0.04,
    epoch_steps=200,
    average=0.2,
    freeze=0.3,
    scale=0.35,
    elastic=0.0,
    intensity=0.6,
)
SYNTHETIC = 150  # drawn scenes to learn from
SCENE_SIDE = 288
SCENE_LENGTHS = (18.0, 27.0)  # pixels of the cars of a drawn scene
CHECKS = 6  # drawn scenes to validate on
LEAST_VISIBLE = 0.5  # share of a drawn car that must show to be looked for


def iter_train_finder(
    frames: CarFrames,
    *,
    network: CarFinderNetConfig = FINDER_NET,
    config: TrainConfig = TRAIN_FINDER,
    synthetic: int = SYNTHETIC,
    left_out: Sequence[str] = ("winter",),
    name: str = "my-car-finder",
    folder: Path | None = None,
    resume: bool = False,
    start_from: str | None = None,
) -> Job[Model]:
    """Learn to find cars in frames and in drawn scenes.

    What is no car in the table is taken for ground: every car of an image must be
    there. Doubtful ones count neither for nor against.

    Parameters
    ----------
    frames : CarFrames
        The last fifth is held out; a single one is learnt from and not held out.
    network : CarFinderNetConfig
    config : TrainConfig
    synthetic : int
        How many drawn scenes to learn from besides.
    left_out : sequence of str
        Families of synthetic styles to validate on instead of learning from them.
    name : str
        Of the model.
    folder : path, optional
        For checkpoints, log and curves.
    resume : bool
        Go on with the run in the folder, with the same images, cars and options.
    start_from : str, optional
        Name or file of a model to start from; its network is taken.
    """
    start: dict[str, Tensor] | None = None
    if start_from is not None:
        network, start = weights_of(start_from, "car-finder")
    train, held = hold_out_last(frames)
    asked = asked_of(
        "car-finder",
        network,
        config,
        name=name,
        data=f"{train.count} cars of {len(train.images)} images, {synthetic} synthetic "
        "scenes",
        synthetic=synthetic,
        left_out=left_out,
        start_from=start_from,
    )
    yield from begun_run(folder, asked, train, held, resume=resume)
    length = float(np.median([car.length for row in frames.cars for car in row]))
    scenes, checks = _scenes_of(train, length), _scenes_of(held, length)
    if synthetic:
        kept = [family for family in FAMILIES if family not in left_out]
        scenes += yield from drawn_scenes(synthetic, 1, kept, "synthetic")
        checks += yield from drawn_scenes(CHECKS, 2, list(left_out), "left-out")
    shares = {"real": 0.4, "synthetic": 0.6} if synthetic else None
    task = CarFinderTask(scenes, checks, network=network, shares=shares)
    job = iter_train(task, config, folder=folder, resume=resume, start=start)
    trained = yield from (job if folder is None else keep_log(job, folder))
    return model_of_run(trained, asked, trained.log[-1] if trained.log else {})


def model_of_run(
    trained: Trained, asked: dict[str, Any], scores: dict[str, Any]
) -> Model:
    """Make a model of a network and what its run was asked, with its threshold.

    Parameters
    ----------
    trained : Trained
    asked : dict of plain values
        See `asked_of`.
    scores : dict
        Of the last epoch.
    """
    return make_model(
        [trained.network],
        name=asked["card"]["name"],
        task="car-finder",
        summary="Finds cars seen from above: centers, lengths, headings and scores.",
        pixel_unit="px",
        data=asked["card"]["data"],
        training=asked["train"],
        scores=scores,
        settings=_threshold_of(scores),
    )


def _scenes_of(frames: CarFrames, length: float) -> list[CarScene]:
    """Read the images of frames; those without cars as if cars were so long."""
    rows = zip(frames.images, frames.cars, frames.doubtful, strict=True)
    return [
        scene_from_cars(read_image(path), cars, doubtful, length=length)
        for path, cars, doubtful in rows
    ]


def drawn_scenes(
    count: int, seed: int, families: Sequence[str], domain: str
) -> Job[list[CarScene]]:
    """Draw scenes with cars, one family of styles after the other."""
    scenes: list[CarScene] = []
    for index in range(count):
        family = families[index % len(families)]
        drawn = aerial_scene(
            (SCENE_SIDE, SCENE_SIDE),
            seed=1000 * seed + index,
            style=family,
            car_length_px=SCENE_LENGTHS,
        )
        if scene := scene_from_drawing(drawn, domain):
            scenes.append(scene)
        yield Report(index + 1, count, f"drawing synthetic scenes: {family}")
    return scenes


def scene_from_drawing(drawn: AerialScene, domain: str) -> CarScene | None:
    """Take a drawn scene; one without cars is None."""
    cars, doubtful = cars_of_drawing(drawn)
    if not cars:
        return None
    return scene_from_cars(drawn.image, cars, doubtful, domain=domain)


def cars_of_drawing(drawn: AerialScene) -> tuple[list[Car], list[Car]]:
    """Give the cars of a drawn scene, and what is doubtful: other and hidden ones."""
    cars: list[Car] = []
    doubtful: list[Car] = []
    for c in drawn.cars:
        car = Car(c.cx, c.cy, c.length, c.width, c.heading_cw_from_up_deg)
        is_plain = c.is_car and c.visible >= LEAST_VISIBLE
        (cars if is_plain else doubtful).append(car)
    return cars, doubtful


def _threshold_of(scores: dict[str, Any]) -> dict[str, float]:
    """Keep the threshold that suits all domains best."""
    found = scores.get("threshold")
    return {} if found is None else {"threshold": round(float(found), 3)}
