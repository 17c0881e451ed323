"""What a reviewer does with a car: each action gives the car after (no Qt)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy.typing as npt
from psygnal import Signal

from napari_roteq._review.edits import (
    Change,
    Edit,
    accepted,
    direction_of,
    moved_values,
    rejected,
    restored_status,
    reviewed,
)
from napari_roteq._review.history import History
from napari_roteq._review.order import Route
from roteq_core.tables import (
    AXIS_ONLY,
    EDITED,
    MACHINE,
    REJECTED,
    Car,
    car_from_corners,
)


class ReviewActions:
    """The actions of a review, each one undoable and written down.

    They work on the current car, or on the one named by id or row. Each gives the edit
    it made; `changed` is emitted with it, and with the reverse when it is undone.

    Parameters
    ----------
    history : History
        Of the cars.
    reviewer : str
        Goes into the cars one touches.
    """

    changed = Signal(Edit)
    moved = Signal(object)

    def __init__(self, history: History, reviewer: str) -> None:
        self.reviewer = reviewer
        self._history = history
        self._cars = history.cars
        self._route = Route(self._cars.by_id)

    @property
    def current(self) -> str | None:
        """The id of the current car; None if nothing is left to see."""
        return self._route.current

    def car(self, which: str | int | None = None) -> Car:
        """Give a car by id or row, or the current one."""
        return self._cars.by_id[self.id_of(which)]

    def find(self, car_id: str) -> Car | None:
        """Give a car by id; None if it is there no more."""
        return self._cars.by_id.get(car_id)

    def cars(self) -> Iterator[Car]:
        """Go through all cars in the table's order."""
        return iter(self._cars)

    def id_of(self, which: str | int | None = None) -> str:
        """Give the id of a car named by id or row, or of the current one."""
        if which is not None and not isinstance(which, str):
            return self._cars.id_in(int(which))  # numpy's numbers too
        car_id = self.current if which is None else which
        if car_id is None or car_id not in self._cars.by_id:
            raise ValueError(f"there must be such a car, got {car_id!r}")
        return car_id

    def row_of(self, car_id: str) -> int:
        """Give the row of a car in the table."""
        return self._cars.row_of(car_id)

    def accept(self, which: str | int | None = None) -> Edit:
        """Say that the heading is right as drawn."""
        car = self.car(which)
        return self._replace("accept", car, accepted(car, *self._signature()))

    def flip(self, which: str | int | None = None) -> Edit:
        """Swap front and rear."""
        car = self.car(which)
        return self._turn("flip", car, direction_of(car) + 180.0)

    def nudge(self, degrees: float, which: str | int | None = None) -> Edit:
        """Turn the car, clockwise on the screen."""
        car = self.car(which)
        return self._turn("nudge", car, direction_of(car) + degrees)

    def set_heading(
        self, heading_cw_from_up_deg: float, which: str | int | None = None
    ) -> Edit:
        """Give the car a heading."""
        return self._turn("set heading", self.car(which), heading_cw_from_up_deg)

    def reject(self, which: str | int | None = None) -> Edit:
        """Say that this is no car, or of no use; it stays in the table."""
        car = self.car(which)
        return self._replace("reject", car, rejected(car, *self._signature()))

    def restore(self, which: str | int | None = None) -> Edit:
        """Take a rejection back, also one of another day."""
        car = self.car(which)
        if car.status != REJECTED:
            raise ValueError(f"only a rejected car is restored, got {car.status!r}")
        status = self._status_before_rejection(car)
        return self._replace("restore", car, self._edited(car, status))

    def move(self, dx: float, dy: float, which: str | int | None = None) -> Edit:
        """Shift the box, in pixels."""
        car = self.car(which)
        return self._replace(
            "move", car, self._edited(car, cx=car.cx + dx, cy=car.cy + dy)
        )

    def resize(
        self, length: float, width: float, which: str | int | None = None
    ) -> Edit:
        """Give the box a size, in pixels."""
        car = self.car(which)
        return self._replace(
            "resize", car, self._edited(car, length=length, width=width)
        )

    def set_prediction(
        self,
        heading_cw_from_up_deg: float,
        which: str | int | None = None,
        *,
        heading_sd_deg: float | None = None,
        p_flip: float | None = None,
        source: str = "",
        keep_heading: bool = False,
    ) -> Edit:
        """Take a model's word for a heading, such as that of a car just added.

        With `keep_heading` a person's own heading stands, and the model's is only
        written beside it.
        """
        car = self.car(which)
        told: dict[str, Any] = {
            "machine_heading_cw_from_up_deg": heading_cw_from_up_deg,
            "heading_sd_deg": heading_sd_deg,
            "p_flip": p_flip,
            "source": source,
        }
        if keep_heading:
            return self._replace("predict", car, replace(car, **told))
        after = car.with_heading(heading_cw_from_up_deg, **told, status=MACHINE)
        return self._replace("predict", car, after)

    def add(self, car: Car) -> Edit:
        """Add a car that was missed, and go to it; its id is given here.

        It gets the image that the table names, if one, and the commonest label.
        """
        by, at = self._signature()
        new = replace(
            self._cars.completed(car),
            id=self._cars.new_id(),
            status=car.status or EDITED,
            reviewer=by,
            reviewed_at=at,
        )
        return self._do("add", (Change(new.id, None, new, len(self._cars)),))

    def delete(self, which: str | int | None = None) -> Edit:
        """Take a car out of the table."""
        return self.delete_all([self.id_of(which)])

    def delete_all(self, which: Iterable[str | int]) -> Edit:
        """Take several cars out of the table in one action."""
        ids = {self.id_of(each) for each in which}
        rows = sorted((self._cars.row_of(car_id), car_id) for car_id in ids)
        changes = tuple(
            Change(car_id, self.car(car_id), None, row) for row, car_id in rows[::-1]
        )
        return self._do("delete", changes)

    def apply_external(self, which: str | int, corners: npt.ArrayLike) -> Edit | None:
        """Take over a box that was changed with napari's own handles.

        Parameters
        ----------
        which : str or int
            Id, or row in the table and the layer.
        corners : array of shape (4, 2)
            x, y in the order of `roteq_core.tables.box_corners`.

        Returns
        -------
        Edit or None
            None if nothing has moved.
        """
        return self.apply_external_all({which: corners})

    def apply_external_all(
        self, corners: Mapping[str | int, npt.ArrayLike]
    ) -> Edit | None:
        """Take over several boxes changed in one gesture; see `apply_external`."""
        changes = []
        for which, box in corners.items():
            car = self.car(which)
            values = moved_values(car, car_from_corners(box))
            if values:
                changes.append(self._change(car, self._edited(car, None, **values)))
        return self._do("drag", tuple(changes)) if changes else None

    def _turn(self, action: str, car: Car, heading: float) -> Edit:
        if not math.isfinite(heading):
            raise ValueError(f"a heading must be finite, got {heading}")
        after = reviewed(
            car, EDITED, *self._signature(), heading_cw_from_up_deg=heading
        )
        return self._replace(action, car, after)

    def _edited(self, car: Car, status: str | None = None, **values: Any) -> Car:
        """Give a car that a person has changed; without a front it stays open."""
        knows_front = {**vars(car), **values}["heading_cw_from_up_deg"] is not None
        if status is None:
            is_axis = not knows_front and car.axis_cw_from_up_deg is not None
            status = AXIS_ONLY if is_axis else EDITED
        return reviewed(car, status, *self._signature(), **values)

    def _status_before_rejection(self, car: Car) -> str:
        for edit in reversed(self._history.done):
            for change in edit.changes:
                before, after = change.before, change.after
                if change.car_id != car.id or before is None or after is None:
                    continue
                if after.status == REJECTED and before.status != REJECTED:
                    return before.status
        return restored_status(car)

    def _signature(self) -> tuple[str, str]:
        return self.reviewer, self._history.now()

    def _change(self, before: Car, after: Car) -> Change:
        return Change(before.id, before, after, self._cars.row_of(before.id))

    def _replace(self, action: str, before: Car, after: Car) -> Edit:
        return self._do(action, (self._change(before, after),))

    def _do(self, action: str, changes: tuple[Change, ...]) -> Edit:
        edit = self._history.do(action, changes, self.reviewer)
        self._show(edit, follow=action == "add")
        return edit

    def _show(self, edit: Edit, *, follow: bool) -> None:
        """Tell the listeners, the current car being one that exists."""
        before = self.current
        there = [c.car_id for c in edit.changes if c.after is not None]
        if follow and there:
            self._route.go_to(there[0])
        self._route.leave_deleted()
        self.changed.emit(edit)
        if self.current != before:
            self.moved.emit(self.current)
