"""In which order cars are reviewed, and where in it one is (no Qt)."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import numpy as np

from napari_roteq._car_doubt import expected_error_deg
from roteq_core import angles
from roteq_core.tables import Car

Order = Literal["uncertain", "disagreement", "reading", "random"]
ORDERS: tuple[Order, ...] = get_args(Order)
_ROW_HEIGHT = 50.0  # pixels, where no car has a length


def ordered(
    cars: Mapping[str, Car],
    order: Order,
    *,
    seed: int = 0,
    sample: int | None = None,
) -> list[str]:
    """Put the ids of cars in order.

    Parameters
    ----------
    cars : mapping
        Ids to cars, in the table's order.
    order : str
        One of `ORDERS`. "uncertain": the largest error to be feared first.
        "disagreement": where heading and machine's heading differ most. "reading":
        image by image, line by line. "random": a shuffle that depends on `seed`.
    seed : int
        For "random".
    sample : int, optional
        Keep the first so many.
    """
    if order not in ORDERS:
        raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {order!r}")
    ids = list(cars)
    if order == "uncertain":
        ids = _falling(ids, [expected_error_deg(car) for car in cars.values()])
    elif order == "disagreement":
        ids = _falling(ids, _disagreements(list(cars.values())))
    elif order == "reading":
        ids = _reading(cars)
    else:
        random.Random(seed).shuffle(ids)
    return ids[:sample]


def _falling(ids: list[str], values: list[float] | np.ndarray) -> list[str]:
    """Sort by falling value, unknown ones last; equal ones as they were."""
    keys = np.nan_to_num(-np.asarray(values, dtype=float), nan=np.inf, neginf=-np.inf)
    return [ids[i] for i in np.argsort(keys, kind="stable")]


def _disagreements(cars: list[Car]) -> np.ndarray:
    pairs = [(c.heading_cw_from_up_deg, c.machine_heading_cw_from_up_deg) for c in cars]
    told = np.array(pairs, dtype=float).reshape(-1, 2)  # None becomes NaN
    return np.abs(angles.difference(told[:, 0], told[:, 1], 360.0))


def _reading(cars: Mapping[str, Car]) -> list[str]:
    lengths = [car.length for car in cars.values() if car.length is not None]
    height = float(np.median(lengths)) if lengths else _ROW_HEIGHT
    return sorted(
        cars, key=lambda i: (cars[i].file, math.floor(cars[i].cy / height), cars[i].cx)
    )


def spell_end(way: str, in_order: int, in_table: int) -> str:
    """Say that an order ends here, and how many cars nobody has reviewed yet."""
    if way == "next" and in_order:
        verb = "is" if in_order == 1 else "are"
        return (
            f"This is the last car in this order; {in_order} before it {verb} left: "
            "“Next” goes there."
        )
    end = "last" if way == "next" else "first"
    verb = "is" if in_table == 1 else "are"
    return f"This is the {end} car in this order; {in_table} of the table {verb} left."


class Route:
    """The way through the cars: an order that stays as it is while one works.

    Cars that are deleted, or that the filter hides, are passed over; the car one is at
    stays until one leaves it, though an edit may have hidden it.

    Parameters
    ----------
    cars : mapping
        Ids to cars, as they are at any time.
    """

    def __init__(self, cars: Mapping[str, Car]) -> None:
        self._cars = cars
        self._stops: list[str] = list(cars)
        self._at = 0
        self.statuses: frozenset[str] | None = None
        self.go_to_first()

    def set_order(self, stops: Iterable[str], statuses: Iterable[str] | None) -> None:
        """Take a new order and filter, and start over."""
        self._stops = list(stops)
        self.statuses = None if statuses is None else frozenset(statuses)
        self.go_to_first()

    @property
    def current(self) -> str | None:
        """The id of the car one is at; None if there is none."""
        if self._at < len(self._stops) and self._stops[self._at] in self._cars:
            return self._stops[self._at]
        return None

    @property
    def ids(self) -> list[str]:
        """The cars of the route that the filter shows."""
        return [stop for stop in self._stops if self._shows(stop)]

    def _shows(self, stop: str) -> bool:
        if stop not in self._cars:
            return False
        return self.statuses is None or self._cars[stop].status in self.statuses

    def go_to_first(self) -> str | None:
        """Go to the first car that is shown."""
        self._at = -1
        if self.step(1) is None:
            self._at = len(self._stops)
        return self.current

    def step(self, by: int) -> str | None:
        """Go on to the next car (1) or back (-1); None if there is no further one."""
        at = self._at + by
        while 0 <= at < len(self._stops):
            if self._shows(self._stops[at]):
                self._at = at
                return self._stops[at]
            at += by
        return None

    def go_to(self, car_id: str) -> None:
        """Go to a car, wherever it is.

        One that was not on the way is put before the car one is at, which comes next.
        """
        if car_id not in self._stops:
            self._stops.insert(self._at, car_id)
        self._at = self._stops.index(car_id)

    def leave_deleted(self) -> None:
        """Go on, else back, if the car one is at is gone."""
        if self.current is None and self.step(1) is None:
            self.step(-1)
