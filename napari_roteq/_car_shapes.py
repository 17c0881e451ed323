"""Cars drawn as oriented boxes, and the boxes read back as cars (no Qt)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from napari_roteq._layers import LayerData, boxes_layer, row_column
from roteq_core.tables import Car, CarTable, box_corners, car_from_corners
from roteq_core.tables.car import ACCEPTED, EDITED, MACHINE

TABLE = "roteq cars"  # in a layer's metadata: the table its boxes were drawn from
_STILL = 1e-3  # pixels; a box that moved less was not moved
_STRAIGHT = 0.01  # degrees; a box that turned less was not turned
_GEOMETRY = (
    "cx",
    "cy",
    "length",
    "width",
    "heading_cw_from_up_deg",
    "axis_cw_from_up_deg",
)


def table_layer(table: CarTable, *, name: str, **options: Any) -> LayerData:
    """Show a table as oriented boxes that remember it."""
    metadata = {TABLE: table, **options.pop("metadata", {})}
    return boxes_layer(table.cars, name=name, metadata=metadata, **options)


def cars_in_shapes(
    corners: Sequence[np.ndarray], features: Mapping[str, Any], table: CarTable | None
) -> CarTable:
    """Read boxes back as cars.

    A box that stands where its car was gives that very car, with all that its file
    said; one that was moved or turned gives the car in its new place, edited if the
    heading changed. A box that somebody drew is a new car, whose front is its first
    edge's.

    Parameters
    ----------
    corners : sequence of arrays of shape (4, D)
        The boxes; the last two coordinates are row and column.
    features : mapping
        Of the Shapes layer; `car` tells which car of the table a box is.
    table : CarTable, optional
        What the boxes were drawn from.
    """
    table = table or CarTable()
    numbers = features.get("car", ())
    seen: set[int] = set()
    cars = []
    for row, points in enumerate(corners):
        box = row_column(np.asarray(points, float)[:, -2:])
        number = _number(numbers, row, len(table))
        if number is None or number in seen:  # drawn by hand, or a copy
            cars.append(car_from_corners(box))
            continue
        seen.add(number)
        cars.append(_moved(table.cars[number], box))
    cars += [car for car in table.cars if not car.has_box]  # never drawn
    return table.with_cars(cars)


def _number(numbers: Any, row: int, count: int) -> int | None:
    """Give the car of a row, if its feature names one."""
    if row >= len(numbers):
        return None
    number = np.asarray(numbers)[row]
    if not np.isfinite(number) or not 0 <= number < count:
        return None
    return int(number)


def _moved(car: Car, box: np.ndarray) -> Car:
    """Give a car the place of its box, unless it is there already."""
    if np.abs(box_corners(car) - box).max() < _STILL:
        return car
    moved = car_from_corners(box)
    place = {name: getattr(moved, name) for name in _GEOMETRY}
    before, heading = car.heading_cw_from_up_deg, place["heading_cw_from_up_deg"]
    if before is None:  # still only an axis
        place |= {"heading_cw_from_up_deg": None, "axis_cw_from_up_deg": heading}
    elif abs((heading - before + 180) % 360 - 180) > _STRAIGHT:
        place |= _edited(car)
    return replace(car, **place)


def _edited(car: Car) -> dict[str, Any]:
    """What a person's new heading says of the old one: it no longer holds."""
    unsure = {"heading_sd_deg": None, "p_flip": None}
    if car.status not in (MACHINE, ACCEPTED, EDITED):
        return unsure
    kept = car.machine_heading_cw_from_up_deg
    if car.status == MACHINE:
        kept = car.heading_cw_from_up_deg
    return {**unsure, "status": EDITED, "machine_heading_cw_from_up_deg": kept}
