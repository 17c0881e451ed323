"""What "Turn the image" turns: the crop in view and the cars in it (no Qt)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from napari.layers import Points, Shapes

from napari_roteq._field.recipe import named_model, plane_number
from napari_roteq._headings.cars import cars_of_layer
from napari_roteq._images import Area, Index
from napari_roteq._recipes import Recipe
from napari_roteq._segment.source import Source, plan_work, source_of
from napari_roteq._session import ModelChoice
from roteq_core.config import FieldOptions
from roteq_core.tables import Car

_LARGEST = 2048  # pixels that are read at most; the model looks at fewer


@dataclass(frozen=True)
class Crop:
    """A part of a plane to turn.

    Parameters
    ----------
    source : Source
        Reads it.
    index : tuple of int
        The plane.
    cars : array of shape (n, 3), or None
        x, y and length of the cars in it, in its own pixels; None without any.
    """

    source: Source
    index: Index
    cars: np.ndarray | None = None


def crop_in_view(
    viewer: Any, image: Any, level: int = 0, *, car_length: float | None = None
) -> Crop:
    """Give what the canvas shows of an image, at most its middle.

    Parameters
    ----------
    viewer : Viewer
    image : Image
    level : int
        Of a multiscale image.
    car_length : float, optional
        Pixels; give the cars in it too, with this length where none is known.
    """
    work = plan_work(viewer, image, "visible area", level)
    assert work.source.area is not None
    area = middle_of(work.source.area, _LARGEST)
    cars = None
    if car_length is not None and level == 0:
        cars = cars_in(viewer, image, work.focus, area, car_length)
    return Crop(source_of(image, level, area), work.focus, cars)


def turn_recipe(
    path: str | None, crop: Crop, options: FieldOptions, model: ModelChoice
) -> Recipe:
    """Say what made a curve: the same again from the file of the image."""
    source = crop.source
    if any(step != 1 for step in source.planes.step):
        path = None  # files are read at their finest level only
    area = source.area or source.planes.whole
    part: dict[str, Any] = {
        "plane": plane_number(source.planes, crop.index),
        "area": (area.top, area.left, area.bottom, area.right),
    }
    if crop.cars is not None:
        part["cars"] = crop.cars.tolist()
    return Recipe(
        job="roteq_core.fields.turns:iter_turn_part",
        args=(path, options),
        kwargs=part,
        input=path,
        model=named_model(model),
    )


def middle_of(area: Area, most: int) -> Area:
    """Give the middle of an area, at most so many pixels wide and high."""
    height, width = (min(side, most) for side in area.shape)
    top = area.top + (area.shape[0] - height) // 2
    left = area.left + (area.shape[1] - width) // 2
    return Area(top, left, top + height, left + width)


def cars_in(
    viewer: Any, image: Any, index: Index, area: Area, length: float
) -> np.ndarray | None:
    """Give x, y and length of the cars of a layer that lie in an area, (n, 3).

    Of the layers with points or boxes the topmost visible one counts; `length` is for
    cars that have none.
    """
    for layer in reversed(viewer.layers):
        if not (isinstance(layer, Points | Shapes) and layer.visible):
            continue
        cars = cars_of_layer(layer, image, index).cars
        found = [_row(car, area, length) for car in cars]
        inside = [row for row in found if _is_inside(row, area)]
        if inside:
            return np.array(inside)
    return None


def _row(car: Car, area: Area, length: float) -> tuple[float, float, float]:
    return car.cx - area.left, car.cy - area.top, car.length or length


def _is_inside(row: tuple[float, float, float], area: Area) -> bool:
    x, y, _ = row
    height, width = area.shape
    return -0.5 <= x < width - 0.5 and -0.5 <= y < height - 0.5
