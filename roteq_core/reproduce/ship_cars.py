"""How the shipped `cars` was trained, judged and described, to be done again.

The frames themselves are not shipped. Labels that name the rear are turned around to
learn and to check; those of test rows only for a score beside the one as labelled.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from roteq_core.angles import angle_from_heading
from roteq_core.angular import angular_error
from roteq_core.cars.calibration import coverage
from roteq_core.cars.drawn import SKETCH, learnt_families, synthetic_patches
from roteq_core.cars.frames import CarFrames, frame_patches
from roteq_core.cars.heading_scores import calibrated, predict_patches, summary_of
from roteq_core.cars.mended_labels import WRONG_WAY_TESTED, turned_around
from roteq_core.cars.orient import iter_orient
from roteq_core.cars.splits import read_split
from roteq_core.cars.train import CHECK_SEED, LEFT_OUT, iter_train_cars
from roteq_core.config import OrientOptions, TrainConfig
from roteq_core.jobs import Job, Report
from roteq_core.model import Model, with_card
from roteq_core.net_config import CAR_NETS
from roteq_core.reproduce.cars import TURNS_DEG
from roteq_core.synthetic import sample_aerial_scene
from roteq_core.tables import Car, CarTable
from roteq_core.tasks.car_patches import CarPatches, join_patches
from roteq_core.training.presets import CAR_PRESETS

LAST_LEARNT, FIRST_CHECKED = 119, 122  # numbers of frames
_FIRST_LEG = dataclasses.replace(
    CAR_PRESETS["best"].train, steps=6000, learning_rate=4e-3, average=0.15, patience=0
)
LEGS: tuple[TrainConfig, ...] = (
    _FIRST_LEG,
    dataclasses.replace(
        _FIRST_LEG, steps=9000, learning_rate=3e-3, intensity=0.55, seed=1
    ),
)
LAST_LEG = dataclasses.replace(LEGS[-1], steps=6000, average=0.3, seed=2)
DRAWN_CHECKS = 400
_SHOWN = ("cars", "mean_deg", "median_deg", "share_under_15", "share_above_150")
_CARD = {
    "summary": "Headings of cars seen from above, 0-360 degrees, front told from rear, "
    "with error bars.",
    "terms": "Free to use under the license of this package. The frames it learnt from "
    "are not included and may not be redistributed.",
    "limits": "Learnt real cars from one drone video and drawn ones; front and rear of "
    "cars with equal ends, vans and dark or glaring windscreens may be told the wrong "
    "way round: see p_flip. Crops are scaled by the length of the car; give boxes, or "
    "--car-length.",
}


def iter_ship_cars(
    data: Path,
    *,
    start_from: str | None = None,
    legs: Sequence[TrainConfig] = LEGS,
    last: TrainConfig = LAST_LEG,
    synthetic: int = CAR_PRESETS["best"].synthetic,
) -> Job[Model]:
    """Train a heading model as the shipped one was, fit its error bars and score it.

    Parameters
    ----------
    data : path
        With `cars.csv` and `frames/`.
    start_from : str, optional
        Name or file of a model to start from; from nothing if not given.
    legs : sequence of TrainConfig
        Trainings, each of which starts from the one before.
    last : TrainConfig
        A last training, which starts from the mean of the weights after each of them.
    synthetic : int
        How many drawn cars to learn from besides.
    """
    learnt, checked = shipped_frames(data)

    def trained(leg: TrainConfig, start: str | None) -> Job[Model]:
        return iter_train_cars(
            learnt,
            held=checked,
            network=CAR_NETS["wide"],
            config=leg,
            synthetic=synthetic,
            name="cars",
            start_from=start,
        )

    with tempfile.TemporaryDirectory() as folder:
        between = str(Path(folder) / "leg.safetensors")
        start, states = start_from, []
        for leg in legs:
            model = yield from trained(leg, start)
            states.append(model.networks[0].state_dict())
            model.save(start := between)
        if states:
            model.networks[0].load_state_dict(mean_weights(states))
            model.save(between)
        model = yield from trained(last, start)
    record = {
        "start": Path(start_from).name if start_from else "nothing",
        "drawn": synthetic,
        "weights": "after the last leg, which starts from the mean after the others",
        "legs": [dataclasses.asdict(leg) for leg in (*legs, last)],
    }
    return (yield from iter_finished(model, data, record))


def mean_weights(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Average the weights of networks that come from one another."""
    return {
        name: torch.stack([state[name] for state in states]).mean(0)
        for name in states[0]
    }


def shipped_frames(data: Path, *, mended: bool = True) -> tuple[CarFrames, CarFrames]:
    """Give the frames to learn from, and those to check with their moving cars."""
    frames = read_split(data, "train")
    frames = turned_around(frames) if mended else frames
    numbers = [int(path.stem.rpartition("_")[2]) for path in frames.images]
    learnt = frames.take([i for i, n in enumerate(numbers) if n <= LAST_LEARNT])
    last = frames.take([i for i, n in enumerate(numbers) if n >= FIRST_CHECKED])
    moving = [
        [car for car in cars if int(float(car.extra["stationary_id"])) < 0]
        for cars in last.cars
    ]
    return learnt, CarFrames(last.images, moving)


def iter_finished(model: Model, data: Path, training: dict[str, Any]) -> Job[Model]:
    """Fit the error bars of a trained model, score it, and write its card.

    Error bars are fitted to the checked real cars and to drawn ones of the styles that
    were left out. The test rows are looked at for the scores alone.

    Parameters
    ----------
    model : Model
    data : path
        With `cars.csv` and `frames/`.
    training : dict
        What the card tells of the training; `drawn` is the number of drawn cars.
    """
    learnt, checked = shipped_frames(data)
    real = frame_patches(checked, "real")
    left_out = yield from synthetic_patches(
        DRAWN_CHECKS, CHECK_SEED, LEFT_OUT, "left-out"
    )
    model = calibrated(model, join_patches([real, left_out]))
    scores = yield from iter_scores(model, data)
    seen = sum(frame_patches(learnt, "real").weights)
    return with_card(
        model,
        name="cars",
        data=f"Real: {seen:.0f} cars (parked ones counted once) of "
        f"{len(learnt.images)} frames of one drone video of a roundabout; eight labels "
        f"that named the rear were turned around. Drawn: {training['drawn']} crops of "
        "ten synthetic styles and of plain sketches, some with the sun on the "
        "windscreen; the styles winter and tropics were left out.",
        training=training,
        scores=scores,
        **_CARD,
    )


def iter_scores(model: Model, data: Path) -> Job[dict[str, dict[str, float]]]:
    """Score real cars that were checked, drawn ones of all kinds, and the test rows."""
    labelled = frame_patches(shipped_frames(data, mended=False)[1], "real")
    checked = frame_patches(shipped_frames(data)[1], "real")
    scores = {
        "val_as_labelled": _scores(model, labelled),
        "val": _scores(model, checked),
        "val_one_reading": _scores(model, checked, copies=1),
    }
    families = [name for name in learnt_families(LEFT_OUT) if name != SKETCH]
    kinds_of = {"left_out": LEFT_OUT, "drawn_anew": families, "sketches": [SKETCH]}
    for name, kinds in kinds_of.items():
        drawn = yield from synthetic_patches(DRAWN_CHECKS, CHECK_SEED, kinds, name)
        scores[name] = _scores(model, drawn)
    scores["demo_scene"] = yield from _iter_sample(model)
    yield Report(1, 2, "the sample scene")
    tested = read_split(data, "test")
    test = frame_patches(tested, "test")
    for turn in TURNS_DEG:
        scores[f"test_turn_{turn:g}"] = _scores(model, test, turn=np.deg2rad(turn))
        yield Report(2, 2, f"test rows turned by {turn:g}°")
    scores["test_one_reading"] = _scores(model, test, copies=1)
    mended = frame_patches(turned_around(tested, WRONG_WAY_TESTED), "test")
    scores["test_two_labels_turned"] = _scores(model, mended)
    return scores


def _scores(
    model: Model, cars: CarPatches, copies: int = 8, turn: float = 0.0
) -> dict[str, float]:
    found = summary_of(predict_patches(model, cars, copies, turn), cars.angles)
    names = (*_SHOWN, "interval_90_holds", "mean_p_flip")
    return {name: round(found[name], 4) for name in names}


def _iter_sample(model: Model) -> Job[dict[str, float]]:
    """Score the cars of the sample scene that can be seen."""
    scene = sample_aerial_scene()
    shown = [c for c in scene.cars if c.is_car and c.visible >= 0.5]
    table = CarTable(tuple(Car(c.cx, c.cy, c.length) for c in shown))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cars.safetensors"
        model.save(path)
        options = OrientOptions(model=str(path))
        found = list((yield from iter_orient(scene.image, table, options)))
    told = angle_from_heading(np.array([c.heading_cw_from_up_deg for c in found]))
    truth = angle_from_heading(np.array([c.heading_cw_from_up_deg for c in shown]))
    errors = angular_error(told, truth)
    sd = np.array([c.heading_sd_deg for c in found], float)
    return {
        "cars": len(shown),
        "mean_deg": round(float(errors.mean()), 4),
        "median_deg": round(float(np.median(errors)), 4),
        "share_under_15": round(float((errors < 15).mean()), 4),
        "share_above_150": round(float((errors > 150).mean()), 4),
        "interval_90_holds": round(coverage(errors, sd), 4),
        "mean_p_flip": round(float(np.mean([c.p_flip or 0 for c in found])), 4),
    }
