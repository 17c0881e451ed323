"""Train a heading model on one's own images: from files to a model with error bars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from roteq_core.cars.drawn import learnt_families, synthetic_patches
from roteq_core.cars.frames import CarFrames, frame_patches, split_frames
from roteq_core.cars.heading_scores import calibrated
from roteq_core.cars.runs import asked_of, begun_run
from roteq_core.config import TrainConfig
from roteq_core.jobs import Job, Report
from roteq_core.model import Model, make_model
from roteq_core.net_config import CAR_NETS, CarNetConfig
from roteq_core.tasks.car_patches import join_patches
from roteq_core.tasks.cars import CarTask, LossKind
from roteq_core.training.fine_tuning import weights_of
from roteq_core.training.run_folder import keep_log
from roteq_core.training.train import Trained, iter_train

LEFT_OUT = ("winter", "tropics")  # styles to validate on instead of learning from them
CHECKS = 120  # drawn cars to validate on
REAL = 0.35  # share of the cars of a batch that are not drawn
DRAWN_SEED, CHECK_SEED = 11, 2

TRAIN_CARS = TrainConfig(
    steps=1500,
    batch=48,
    crop=48,
    learning_rate=6e-3,
    warmup=0.05,
    epoch_steps=100,
    average=0.2,
    scale=0.3,
    elastic=0.0,
    intensity=0.7,
)
# The paper's: 80 epochs of 409 cars, weights averaged over the last 30.
TRAIN_CARS_PAPER = TrainConfig(
    steps=80 * 13,
    batch=32,
    crop=48,
    learning_rate=5e-3,
    warmup=0.0,
    weight_decay=1e-2,
    epoch_steps=13,
    average=30 / 80,
    scale=0.0,
    elastic=0.0,
    intensity=0.0,
)


def iter_train_cars(
    frames: CarFrames,
    *,
    network: CarNetConfig | None = None,
    config: TrainConfig = TRAIN_CARS,
    synthetic: int = 1200,
    left_out: Sequence[str] = LEFT_OUT,
    loss: LossKind = "density",
    name: str = "my-cars",
    folder: Path | None = None,
    resume: bool = False,
    start_from: str | None = None,
    held: CarFrames | None = None,
) -> Job[Model]:
    """Train on frames and synthetic cars, then calibrate on what was held out.

    Parameters
    ----------
    frames : CarFrames
        The last fifth is held out; a single one is learnt from and not held out.
    network : CarNetConfig, optional
        If not given, that of `start_from`, or else `CAR_NETS["wide"]`.
    config : TrainConfig
    synthetic : int
        How many synthetic cars to learn from besides.
    left_out : sequence of str
        Families of synthetic styles to validate on instead of learning from them.
    loss : str
        See `CarTask`.
    name : str
        Of the model.
    folder : path, optional
        For checkpoints, log and curves.
    resume : bool
        Go on with the run in the folder, with the same images, cars and options.
    start_from : str, optional
        Name or file of a model to start from. If a network is given too, it may turn
        its filters in another way: see `rebased_weights`.
    held : CarFrames, optional
        To validate on in place of the last fifth of `frames`, which are then all
        learnt from.
    """
    start: dict[str, Tensor] | None = None
    if start_from is not None:
        network, start = weights_of(start_from, "cars", network)
    network = network or CAR_NETS["wide"]
    train, held = (frames, held) if held is not None else split_frames(frames)
    asked = asked_of(
        "cars",
        network,
        config,
        name=name,
        data=f"{train.count} cars of {len(train.images)} images, {synthetic} synthetic",
        synthetic=synthetic,
        left_out=left_out,
        start_from=start_from,
        settings={"reading": "density" if loss == "density" else "vector"},
    )
    yield from begun_run(folder, asked, train, held, resume=resume)
    parts = [frame_patches(train, "real")]
    checks = [frame_patches(held, "real")] if held.count else []
    if synthetic:
        kept = learnt_families(left_out)
        parts.append(
            (yield from synthetic_patches(synthetic, DRAWN_SEED, kept, "synthetic"))
        )
        checks.append(
            (yield from synthetic_patches(CHECKS, CHECK_SEED, left_out, "left-out"))
        )
    task = CarTask(
        join_patches(parts),
        join_patches(checks) if checks else None,
        network=network,
        loss=loss,
        shares={"real": REAL, "synthetic": 1 - REAL} if synthetic else None,
    )
    job = iter_train(task, config, folder=folder, resume=resume, start=start)
    trained = yield from (job if folder is None else keep_log(job, folder))
    model = model_of_run(trained, asked, trained.log[-1] if trained.log else {})
    if task.held_out is None or len(task.held_out) < 20:
        return model
    yield Report(config.steps, config.steps, "fitting the error bars")
    return calibrated(model, task.held_out)


def model_of_run(
    trained: Trained, asked: dict[str, Any], scores: dict[str, Any]
) -> Model:
    """Make a model of a network and what its run was asked; error bars are not fitted.

    Parameters
    ----------
    trained : Trained
    asked : dict of plain values
        See `asked_of`.
    scores : dict
    """
    return make_model(
        [trained.network],
        name=asked["card"]["name"],
        task="cars",
        summary="Headings of cars seen from above, 0-360 degrees, with error bars.",
        pixel_unit="px",
        data=asked["card"]["data"],
        training=asked["train"],
        scores=scores,
        settings=asked["settings"],
    )
