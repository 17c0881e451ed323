"""Edits of a review: what a car becomes, and how that is written down (no Qt).

Cars are immutable, so an edit is the car before and the car after. Undoing it is
putting the first in the place of the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import Any

from roteq_core import angles
from roteq_core.tables import (
    ACCEPTED,
    AXIS_ONLY,
    EDITED,
    MACHINE,
    REJECTED,
    REVIEWED,
    Car,
)

# Below this, in pixels and degrees, the mouse has not moved anything.
_UNMOVED = 1e-3
_FIELDS = tuple(field.name for field in fields(Car))
# Always written down: the heading that was on the screen is what was decided about.
_DECIDED = ("heading_cw_from_up_deg", "axis_cw_from_up_deg")


@dataclass(frozen=True)
class Change:
    """One car before and after.

    Parameters
    ----------
    car_id : str
        Which one.
    before, after : Car, optional
        None before it was added, None after it was deleted.
    row : int
        Where it stands in the table.
    """

    car_id: str
    before: Car | None
    after: Car | None
    row: int

    def reversed(self) -> Change:
        """Give the change back."""
        return replace(self, before=self.after, after=self.before)


@dataclass(frozen=True)
class Edit:
    """One action of a reviewer, which may concern several cars.

    Parameters
    ----------
    action : str
        "accept", "flip", …
    changes : tuple of Change
        In the order they were made.
    by, at : str
        Who and when (ISO 8601).
    """

    action: str
    changes: tuple[Change, ...]
    by: str = ""
    at: str = ""

    def reversed(self) -> Edit:
        """Give the edit back, last change first."""
        changes = tuple(change.reversed() for change in reversed(self.changes))
        return replace(self, changes=changes)


def reviewed(car: Car, status: str, by: str, at: str, **values: Any) -> Car:
    """Give a car a reviewer's word, the machine's own kept beside it."""
    machine = car.machine_heading_cw_from_up_deg
    if machine is None and is_from_machine(car):
        machine = car.heading_cw_from_up_deg
    if values.get("heading_cw_from_up_deg") is not None:
        values["axis_cw_from_up_deg"] = None
    return replace(
        car,
        status=status,
        reviewer=by,
        reviewed_at=at,
        machine_heading_cw_from_up_deg=machine,
        **values,
    )


def is_from_machine(car: Car) -> bool:
    """Whether no person has had a say in the heading yet."""
    return car.status == MACHINE or (bool(car.source) and car.status not in REVIEWED)


def accepted(car: Car, by: str, at: str) -> Car:
    """Take the heading as drawn: it is right, and so is its front."""
    status = EDITED if is_changed(car) else ACCEPTED
    return reviewed(car, status, by, at, heading_cw_from_up_deg=direction_of(car))


def is_changed(car: Car) -> bool:
    """Whether a person has changed what the machine said."""
    machine, heading = car.machine_heading_cw_from_up_deg, car.heading_cw_from_up_deg
    return car.status == EDITED or (machine is not None and machine != heading)


def restored_status(car: Car) -> str:
    """Tell what a rejected car was, from what it still knows."""
    if car.heading_cw_from_up_deg is None:
        return "" if car.axis_cw_from_up_deg is None else AXIS_ONLY
    if car.machine_heading_cw_from_up_deg is None:
        return ""
    return EDITED if is_changed(car) else MACHINE


def direction_of(car: Car) -> float:
    """Give the way the car is drawn; an error if it has none."""
    direction = car.drawn_cw_from_up_deg
    if direction is None:
        raise ValueError(f"car {car.id} has no heading yet: set one first")
    return direction


def rejected(car: Car, by: str, at: str) -> Car:
    """Say that this is no car, or no use."""
    return reviewed(car, REJECTED, by, at)


def moved_values(car: Car, drawn: Car) -> dict[str, float]:
    """Tell what a mouse has changed of a box: what it has not touched stays exact.

    Parameters
    ----------
    car : Car
        As it was.
    drawn : Car
        From the corners on the screen.
    """
    values = {}
    for name in ("cx", "cy", "length", "width"):
        before, after = getattr(car, name), getattr(drawn, name)
        if before is None or abs(after - before) > _UNMOVED:
            values[name] = after
    heading, before = drawn.heading_cw_from_up_deg, car.drawn_cw_from_up_deg
    assert heading is not None
    if before is None or abs(angles.difference(heading, before, 360.0)) > _UNMOVED:
        values["heading_cw_from_up_deg"] = heading
    return values


def local_time(at: str) -> str:
    """Write a time of a car or a journal as the clock on the wall would."""
    try:
        return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return at


def record_of(change: Change) -> dict[str, Any]:
    """Write a change for the journal: only what differs, but always the heading."""
    row = {"id": change.car_id, "row": change.row}
    if change.after is None:
        return {**row, **_place(change.before), "delete": True}
    if change.before is None:
        return {
            **row,
            "add": {k: v for k, v in asdict(change.after).items() if v != ""},
        }
    differing = {
        name: getattr(change.after, name)
        for name in _FIELDS
        if name in _DECIDED
        or getattr(change.after, name) != getattr(change.before, name)
    }
    return {**row, **_place(change.before), "set": differing}


def _place(car: Car | None) -> dict[str, Any]:
    assert car is not None
    return {"near": [car.cx, car.cy], **({"file": car.file} if car.file else {})}


def change_of(record: Mapping[str, Any], car: Car | None) -> Change:
    """Read a change from the journal.

    Parameters
    ----------
    record : mapping
        See `record_of`.
    car : Car, optional
        As it is now; None if there is no such car.
    """
    car_id, row = record["id"], record["row"]
    if "add" in record:
        return Change(car_id, None, Car(**record["add"]), row)
    if "delete" in record:
        return Change(car_id, car, None, row)
    assert car is not None
    return Change(car_id, car, replace(car, **record["set"]), row)
