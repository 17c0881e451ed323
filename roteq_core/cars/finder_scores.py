"""Judge a car finder on images whose cars are all known: how many it finds, and how.

Finds are those of `iter_find_cars`, with the headings that its table would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from roteq_core.angles import angle_from_heading
from roteq_core.angular import summarize_headings
from roteq_core.cars.find_cars import iter_find_cars, threshold_for
from roteq_core.cars.frames import CarFrames
from roteq_core.cars.heading_scores import figures_of
from roteq_core.cars.splits import read_split
from roteq_core.cars.train import LEFT_OUT
from roteq_core.cars.train_finder import cars_of_drawing
from roteq_core.config import FindOptions
from roteq_core.jobs import Job, Report
from roteq_core.model import load_model
from roteq_core.synthetic import aerial_scene, sample_aerial_scene
from roteq_core.synthetic.samples import RESERVED_SEEDS
from roteq_core.tables import Car
from roteq_core.tasks.car_detections import MATCH_LENGTHS, matched_cars

RULE = (
    f"a find matches the nearest free car whose center is within {MATCH_LENGTHS} of "
    "that car's length, the surest find first; finds that match a car which is not "
    "scored count neither for nor against"
)
DRAWN = 8  # scenes of the styles that were left out
DRAWN_SIDE, DRAWN_LENGTH = 384, 30.0  # pixels
_DRAWN_SEED = RESERVED_SEEDS + 100


@dataclass(frozen=True)
class KnownImage:
    """An image and all of its cars.

    Parameters
    ----------
    image : array of shape (H, W, 3), or path
    cars : sequence of Car
        To be found; with length and heading.
    others : sequence of Car
        That are not scored, found or not.
    """

    image: np.ndarray | Path
    cars: Sequence[Car]
    others: Sequence[Car] = ()


def iter_finder_scores(
    data: Path, *, model: str = "car-finder", heading_model: str = "cars"
) -> Job[dict[str, Any]]:
    """Score a finder on the test frames, the sample scene and styles it has not seen.

    Parameters
    ----------
    data : path
        With `cars.csv` and `frames/`. Rows of the split `test` are scored, other rows
        of their frames are not; the length that is given is the median of `train`.
    model, heading_model : str
        Names or files.
    """
    length = usual_length(read_split(data, "train"))
    frames = _images_of(read_split(data, "test"))
    sample = sample_aerial_scene()
    scene = [KnownImage(sample.image, *cars_of_drawing(sample))]
    sample_length = float(np.median([car.length for car in scene[0].cars]))
    drawn = yield from _iter_drawn(DRAWN)
    plan = {
        "test_frames": (frames, length),
        "test_frames_length_found_out": (frames, None),
        "sample_scene": (scene, sample_length),
        "sample_scene_length_found_out": (scene, None),
        "left_out_styles": (drawn, DRAWN_LENGTH),
    }
    rows = {}
    for name, (images, given) in plan.items():
        options = FindOptions(
            model=model, orient_model=heading_model, car_length_px=given
        )
        rows[name] = yield from iter_score_images(images, options, name)
    return {
        "model": model,
        "heading_model": heading_model,
        "threshold": threshold_for(load_model(model, task="car-finder"), FindOptions()),
        "matching": {"rule": RULE, "distance_in_lengths": MATCH_LENGTHS},
        "rows": rows,
    }


def usual_length(frames: CarFrames) -> float:
    """Give the median length of cars in pixels."""
    return float(np.median([car.length for row in frames.cars for car in row]))


def _images_of(frames: CarFrames) -> list[KnownImage]:
    rows = zip(frames.images, frames.cars, frames.doubtful, strict=True)
    return [KnownImage(*row) for row in rows]


def _iter_drawn(count: int) -> Job[list[KnownImage]]:
    images = []
    for index in range(count):
        style = LEFT_OUT[index % len(LEFT_OUT)]
        scene = aerial_scene(
            (DRAWN_SIDE, DRAWN_SIDE),
            seed=_DRAWN_SEED + index,
            style=style,
            car_length_px=(DRAWN_LENGTH, DRAWN_LENGTH),
        )
        images.append(KnownImage(scene.image, *cars_of_drawing(scene)))
        yield Report(index + 1, count, f"drawing a scene of the style {style}")
    return images


def iter_score_images(
    images: Sequence[KnownImage], options: FindOptions, name: str = "scoring"
) -> Job[dict[str, Any]]:
    """Find the cars of images, and count: see `RULE`.

    Returns
    -------
    dict
        `images`, `cars`, `found` (that count), `matched`, `not_counted` (finds), the
        shares `precision`, `recall` and `f1`, `car_length_px` as given or None, and
        `heading`: the errors of matched cars in degrees.
    """
    cars = found = matched = not_counted = 0
    told: list[float] = []
    truth: list[float] = []
    for index, known in enumerate(images):
        table = tuple((yield from iter_find_cars(known.image, options)))
        every = [*known.cars, *known.others]
        match = matched_cars(_places(table)[:, :2], _places(every))
        is_scored = (match >= 0) & (match < len(known.cars))
        ignored = int((match >= len(known.cars)).sum())
        cars += len(known.cars)
        found += len(table) - ignored
        matched += int(is_scored.sum())
        not_counted += ignored
        for car, place in zip(table, match.tolist(), strict=True):
            if 0 <= place < len(known.cars) and car.heading_cw_from_up_deg is not None:
                told.append(car.heading_cw_from_up_deg)
                truth.append(known.cars[place].heading_cw_from_up_deg or 0.0)
        yield Report(index + 1, len(images), f"{name}: image {index + 1}")
    return {
        "images": len(images),
        "car_length_px": options.car_length_px,
        "cars": cars,
        "found": found,
        "matched": matched,
        "not_counted": not_counted,
        "precision": matched / max(found, 1),
        "recall": matched / max(cars, 1),
        "f1": 2 * matched / max(found + cars, 1),
        "heading": _heading_errors(told, truth),
    }


def _places(cars: Sequence[Car]) -> np.ndarray:
    """Give x, y and length (n, 3)."""
    return np.array([(c.cx, c.cy, c.length) for c in cars], float).reshape(-1, 3)


def _heading_errors(told: Sequence[float], truth: Sequence[float]) -> dict[str, float]:
    if not told:
        return {"cars": 0}
    summary = summarize_headings(angle_from_heading(told), angle_from_heading(truth))
    return figures_of(summary)
