"""What to learn headings from: boxes in layers or tables, read and checked (no Qt)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_roteq._errors import JobError
from napari_roteq._headings.cars import cars_of_layer
from napari_roteq._images import Planes, planes_of
from napari_roteq._train.data import TrainingData
from roteq_core.cars.examples import CarFrame, frames_from_folder, usable_cars
from roteq_core.cars.held import hold_out_again, hold_out_cars
from roteq_core.tables import Car
from roteq_core.tables.car import REVIEWED


@dataclass(frozen=True)
class CarPair:
    """A plane of an image and its cars, ready to be read in a thread."""

    name: str
    cars_name: str
    planes: Planes
    index: tuple[int, ...]
    cars: tuple[Car, ...]


def car_pairs(image: Any, boxes: Any) -> list[CarPair]:
    """Take the planes of an image and the cars of a Shapes layer in each."""
    if image is None:
        raise JobError("There is no image: open one with File ▸ Open.")
    if boxes is None:
        raise JobError(
            "There are no boxes of cars: run Car headings and review them, or open a "
            "table of cars."
        )
    planes = planes_of(image)
    pairs = []
    for index in planes.indices():
        cars = cars_of_layer(boxes, image, index).cars
        name = image.name if not index else f"{image.name} {list(index)}"
        if cars:
            pairs.append(CarPair(name, boxes.name, planes, index, tuple(cars)))
    if not pairs:
        raise JobError(f"“{boxes.name}” has no box within “{image.name}”.")
    return pairs


def read_car_layers(
    pairs: Sequence[CarPair],
    held_out: str,
    before: TrainingData | None = None,
) -> TrainingData:
    """Read images and choose the cars to learn from; slow, for a thread.

    Parameters
    ----------
    pairs : sequence of CarPair
    held_out : str
        See `roteq_core.cars.held.hold_out_cars`.
    before : TrainingData, optional
        What a running training has: the same is held out again.
    """
    frames: list[CarFrame] = []
    left_out: dict[str, int] = {}
    anybody = any(_is_reviewed(car) for pair in pairs for car in pair.cars)
    for pair in pairs:
        shape = pair.planes.shape[-2:]
        found = usable_cars(
            pair.cars, (shape[0], shape[1]), reviewed_only=anybody or None
        )
        for reason, count in found.left_out.items():
            left_out[reason] = left_out.get(reason, 0) + count
        pixels = np.ascontiguousarray(pair.planes.array[pair.index])
        frames.append(
            CarFrame(
                pair.name, pair.cars_name, pixels, (shape[0], shape[1]), found.cars
            )
        )
    names = ", ".join(dict.fromkeys(f"“{pair.cars_name}”" for pair in pairs))
    if not any(frame.cars for frame in frames):
        told = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
        raise JobError(f"{names} has no car to learn from: {told}.")
    try:
        if before is not None:
            frames = hold_out_again(frames, before.regions)
        else:
            frames = hold_out_cars(frames, held_out)
    except ValueError as error:
        raise JobError(f"{names}: {error}.") from error
    return _cars(frames, left_out)


def _cars(frames: list[CarFrame], left_out: Mapping[str, int]) -> TrainingData:
    regions = {frame.name: frame.region for frame in frames}
    return TrainingData("cars", frames, left_out, regions)


def _is_reviewed(car: Car) -> bool:
    return car.status in REVIEWED


def read_car_files(images: str, cars: str, held_out: str) -> TrainingData:
    """Pair a folder of images with a table of cars, or a folder of tables."""
    for name, path in (("images", images), ("cars", cars)):
        if not path.strip():
            raise JobError(f"There is no folder of {name} yet: choose one.")
    return _cars(hold_out_cars(frames_from_folder(images, cars), held_out), {})
