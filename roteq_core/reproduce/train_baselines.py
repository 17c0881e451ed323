"""Train the plain networks that the shipped models are compared with, as jobs.

Same data, same held-out part, same loss and the same turned and mirrored crops as for
the equivariant networks: only the layers are ordinary.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from roteq_core.cars.frames import frame_patches
from roteq_core.cars.heading_scores import predict_patches, summary_of
from roteq_core.cars.splits import read_split
from roteq_core.cars.train import TRAIN_CARS, iter_train_cars
from roteq_core.config import TrainConfig
from roteq_core.device import choose_device
from roteq_core.jobs import Job, Report
from roteq_core.membranes.evaluate import membrane_task
from roteq_core.membranes.train import score_held_out
from roteq_core.model import Model, make_model, with_card
from roteq_core.net_config import PlainCarNetConfig
from roteq_core.networks.baselines import PlainNetConfig, build_any
from roteq_core.reproduce.isbi import (
    ISBI_DATA,
    ISBI_TERMS,
    ReproduceOptions,
    read_isbi,
)
from roteq_core.training.train import iter_train

PLAIN_MEMBRANES = PlainNetConfig(width=5)
PLAIN_CARS = PlainCarNetConfig(filters=(8, 16, 8), in_maps=3)
TRAIN_PLAIN_MEMBRANES = TrainConfig(
    steps=1200, batch=2, crop=160, learning_rate=6e-3, epoch_steps=300
)
TRAIN_PLAIN_CARS = replace(TRAIN_CARS, steps=500)
_BASELINE = {"baseline": True}
_LIMITS = "A baseline to compare with: its answers change when the image is turned."


def iter_train_plain_membranes(
    data: Path | str,
    *,
    network: PlainNetConfig = PLAIN_MEMBRANES,
    train: TrainConfig = TRAIN_PLAIN_MEMBRANES,
    options: ReproduceOptions | None = None,
    folder: Path | None = None,
    resume: bool = False,
) -> Job[Model]:
    """Train the plain membrane network on slices 0-23 of the ISBI 2012 stack.

    Parameters
    ----------
    data : path
        A folder with ``train-volume.tif`` and ``train-labels.tif``.
    network : PlainNetConfig
    train : TrainConfig
    options : ReproduceOptions, optional
        Says which slices are held out.
    folder, resume
        See `iter_train`.
    """
    options = options or ReproduceOptions()
    examples = read_isbi(data, options)
    task = membrane_task(examples, network)
    trained = yield from iter_train(
        task, train, folder=folder, resume=resume, build=build_any
    )
    yield Report(train.steps, train.steps, "scoring the held-out slices")
    scores = score_held_out(task, trained.network, choose_device(train.device))
    return make_model(
        [trained.network.cpu()],
        name="plain-membranes",
        task="membranes",
        summary="Baseline, to compare with: membranes by an ordinary CNN",
        pixel_size=4.0,
        pixel_unit="nm",
        data=f"{ISBI_DATA}; slices {options.held_out} were held out",
        terms=ISBI_TERMS,
        limits=_LIMITS,
        training=_record(train, trained.log),
        scores=scores,
        settings=dict(_BASELINE),
    )


def iter_train_plain_cars(
    data: Path | str,
    *,
    network: PlainCarNetConfig = PLAIN_CARS,
    train: TrainConfig = TRAIN_PLAIN_CARS,
    synthetic: int = 1200,
    folder: Path | None = None,
    resume: bool = False,
) -> Job[Model]:
    """Train the plain heading network on real and drawn cars, and score it.

    Parameters
    ----------
    data : path
        With `cars.csv` and `frames/`; splits `train` and `test`.
    network : PlainCarNetConfig
    train : TrainConfig
    synthetic : int
        How many drawn cars to learn from besides.
    folder, resume
        See `iter_train`.
    """
    frames = read_split(Path(data), "train")
    model = yield from iter_train_cars(
        frames,
        network=network,  # type: ignore[arg-type]
        config=train,
        synthetic=synthetic,
        loss="vector",
        name="plain-cars",
        folder=folder,
        resume=resume,
    )
    yield Report(train.steps, train.steps, "scoring the test cars")
    test = frame_patches(read_split(Path(data), "test"), "test")
    return with_card(
        model,
        summary="Baseline, to compare with: headings of cars by an ordinary CNN",
        data=f"Real: {model.card.data.partition(',')[0]} of one drone video of a "
        f"roundabout. Drawn: {synthetic} cars of several synthetic styles.",
        terms="Free to use under the license of this package. The frames it learnt "
        "from are not included and may not be redistributed.",
        limits=_LIMITS,
        training=_record(train, [model.card.scores]),
        scores={
            "held_out": _rounded(model.card.scores),
            "test_8_copies": _short(
                summary_of(predict_patches(model, test), test.angles)
            ),
            "test_1_copy": _short(
                summary_of(predict_patches(model, test, copies=1), test.angles)
            ),
        },
        settings={**model.card.settings, **_BASELINE},
    )


def _record(train: TrainConfig, log: list[dict[str, Any]]) -> dict[str, Any]:
    """Say how a network was trained."""
    last = log[-1] if log else {}
    return {
        "recipe": asdict(replace(train, device="auto")),
        "optimizer": "AdamW, one cycle; weights averaged over the last fifth",
        "steps": last.get("step", 0),
        "seconds": round(last.get("seconds", 0)),
    }


def _rounded(log: dict[str, Any]) -> dict[str, float]:
    """Keep the scores of the last line of a log."""
    names = [name for name in log if name.endswith("_deg") and name != "train_deg"]
    shares = [name for name in ("good", "flipped") if name in log]
    return {name: round(log[name], 2) for name in (*names, *shares)}


def _short(figures: dict[str, Any]) -> dict[str, float]:
    """Keep the figures that a card shows."""
    names = ("cars", "mean_deg", "median_deg", "share_under_15", "share_above_150")
    return {name: round(figures[name], 4) for name in names}
