"""The cars of a review, by id and in the table's order (no Qt)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from napari_roteq._review.edits import Change
from roteq_core.tables import REJECTED, Car, CarTable


class ReviewedCars:
    """Cars by id; rows are the order of the table, and of the Shapes layer.

    Parameters
    ----------
    table : CarTable
        Cars without an id get one from their row, so that the same file always gives
        the same ids.
    """

    def __init__(self, table: CarTable) -> None:
        self.by_id: dict[str, Car] = {}
        taken = {car.id for car in table.cars if car.id}
        for row, car in enumerate(table.cars, 1):
            car_id = car.id or _free_id(f"car-{row:05}", taken)
            if car_id in self.by_id:
                raise ValueError(f"car_id must be unique, got {car_id!r} twice")
            taken.add(car_id)
            self.by_id[car_id] = replace(car, id=car_id)
        self._rows = list(self.by_id)
        self._ever = taken

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Car]:
        return (self.by_id[car_id] for car_id in self._rows)

    def id_in(self, row: int) -> str:
        """Give the id of the car in a row."""
        if not 0 <= row < len(self._rows):
            raise ValueError(f"row must be below {len(self._rows)}, got {row}")
        return self._rows[row]

    def row_of(self, car_id: str) -> int:
        """Give the row of a car."""
        return self._rows.index(car_id)

    def new_id(self) -> str:
        """Give an id that no car has ever had here."""
        car_id = _free_id(f"new-{len(self._ever) + 1:05}", self._ever)
        return car_id

    def completed(self, car: Car) -> Car:
        """Give a new car the image that all others name, and their commonest label."""
        files = {each.file for each in self if each.file}
        only_file = files.pop() if len(files) == 1 else ""
        labels = Counter(each.label for each in self if each.status != REJECTED)
        (label, _), *_ = labels.most_common(1) or [("", 0)]
        return replace(car, file=car.file or only_file, label=car.label or label)

    def apply(self, change: Change) -> None:
        """Replace, add or remove a car."""
        car_id = change.car_id
        if change.after is None:
            del self.by_id[car_id]
            self._rows.remove(car_id)
            return
        if car_id not in self.by_id:
            self._rows.insert(change.row, car_id)
            self._ever.add(car_id)
        self.by_id[car_id] = change.after


def _free_id(wish: str, taken: set[str]) -> str:
    name, count = wish, 1
    while name in taken:
        count += 1
        name = f"{wish}-{count}"
    return name
