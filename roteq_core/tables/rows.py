"""A row of any table made a car, and a car made a row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from roteq_core import angles
from roteq_core.tables.car import (
    AXIS_ONLY,
    MACHINE,
    NUMBER_FIELDS,
    REVIEWED,
    TEXT_FIELDS,
    Car,
    box_corners,
    fit_box,
    gap_deg,
)
from roteq_core.tables.columns import CCW, Plan

_MISSING = ("", "nan", "na", "n/a", "none", "null")
# Two spellings of one heading may be rounded to whole degrees, no more.
_AGREE_DEG = 1.0
_SAME_BOX = 1e-3
_STATUSES = (MACHINE, AXIS_ONLY, *REVIEWED)


def car_from_row(row: Mapping[str, Any], plan: Plan) -> Car:
    """Make a car of one row.

    Parameters
    ----------
    row : mapping
        Column to text, or to a JSON value.
    plan : Plan
        Of the same columns.
    """
    known = plan.known
    fields: dict[str, Any] = {
        field: _number(known[field], row.get(known[field]))
        for field in NUMBER_FIELDS
        if field in known
    }
    for field in TEXT_FIELDS:
        if field in known:
            fields[field] = _text(row.get(known[field]))
    if "status" in fields:
        fields["status"] = _status(fields["status"])
    heading = _heading(fields.get("heading_cw_from_up_deg"), row, plan)
    fields["heading_cw_from_up_deg"] = heading
    if heading is None and fields.get("axis_cw_from_up_deg") is not None:
        fields["status"] = fields.get("status") or AXIS_ONLY
    taken = plan.taken
    fields["extra"] = {name: row[name] for name in row if name not in taken}
    return Car(**_filled_from_box(fields, row, plan))


def _heading(heading: float | None, row: Mapping[str, Any], plan: Plan) -> float | None:
    """Read the heading from either convention; refuse two that disagree."""
    ccw = None if plan.ccw is None else _number(CCW, row.get(plan.ccw))
    if ccw is None:
        return heading
    other = float(angles.heading_from_ccw(ccw))
    if heading is None:
        return other
    if gap_deg(heading, other) > _AGREE_DEG:
        raise ValueError(
            f"heading_cw_from_up_deg and {CCW} must be the same direction, got "
            f"{heading:g} and {ccw:g} (which is heading {other:g})"
        )
    return heading


def _filled_from_box(
    fields: dict[str, Any], row: Mapping[str, Any], plan: Plan
) -> dict[str, Any]:
    """Take from corners or bounds what the row's own columns leave open."""
    found: dict[str, Any] = {}
    if plan.corners:
        corners = _numbers(row, plan.corners)
        if corners is not None:
            found = fields_from_corners(corners, fields["heading_cw_from_up_deg"])
    if not found and plan.bounds:
        bounds = _numbers(row, plan.bounds)
        if bounds is not None:
            left, top, right, bottom = bounds
            found = {"cx": (left + right) / 2, "cy": (top + bottom) / 2}
    filled = dict(fields)
    for field, value in found.items():
        if filled.get(field) in (None, ""):
            filled[field] = value
    for field in ("cx", "cy"):
        if filled.get(field) is None:
            raise ValueError(f"{field} must be a number, got an empty cell")
    return filled


def fields_from_corners(
    corners: Sequence[float] | np.ndarray, heading: float | None
) -> dict[str, Any]:
    """Read a foreign box: its length lies along the heading, else along the long side.

    Parameters
    ----------
    corners : 8 floats, or array of shape (4, 2)
        x, y around the box.
    heading : float, optional
        `heading_cw_from_up_deg`, where the file gives it.
    """
    cx, cy, length, width, axis = fit_box(np.reshape(corners, (4, 2)), "unknown")
    found: dict[str, Any] = {"cx": cx, "cy": cy}
    if heading is None:
        found |= {"axis_cw_from_up_deg": axis, "status": AXIS_ONLY}
    elif gap_deg(heading, axis, 180.0) > 45:
        length, width = width, length
    return found | {"length": length, "width": width}


def _numbers(row: Mapping[str, Any], columns: Sequence[str]) -> list[float] | None:
    """Read several cells: all of them, or none."""
    values = [_number(column, row.get(column)) for column in columns]
    given = [value for value in values if value is not None]
    if given and len(given) < len(values):
        raise ValueError(
            f"{columns[0]} … {columns[-1]} must be all given or all empty, got "
            f"{len(given)} of {len(values)}"
        )
    return given or None


def _number(column: str, value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isfinite(number):
        return number
    if isinstance(value, str) and value.strip().lower() in _MISSING:
        return None
    raise ValueError(f"{column} must be a finite number, got {value!r}")


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _status(text: str) -> str:
    """Read a known status however it is spelt; keep any other."""
    plain = " ".join(text.split()).lower()
    return plain if plain in ("", *_STATUSES) else text


def row_from_car(car: Car, plan: Plan) -> dict[str, Any]:
    """Give a car's value for each column, None where it has none."""
    row: dict[str, Any] = dict(_fresh_box_columns(car, plan))
    for field, column in plan.known.items():
        row[column] = getattr(car, field)
    if plan.ccw is not None:
        row[plan.ccw] = car.angle_ccw_from_right_deg
    return row


def _fresh_box_columns(car: Car, plan: Plan) -> Mapping[str, Any]:
    """Keep corner columns as they were, unless the box has been moved or reviewed."""
    extra = car.extra
    if plan.corners and _is_stale(car, _numbers(extra, plan.corners)):
        corners = box_corners(car)[[0, 3, 2, 1]].ravel()  # front edge first
        extra = {**extra, **dict(zip(plan.corners, corners.tolist(), strict=True))}
    bounds = _numbers(extra, plan.bounds) if plan.bounds else None
    if bounds is not None:
        dx = car.cx - (bounds[0] + bounds[2]) / 2
        dy = car.cy - (bounds[1] + bounds[3]) / 2
        if max(abs(dx), abs(dy)) > _SAME_BOX:
            moved = np.add(bounds, [dx, dy, dx, dy]).tolist()
            extra = {**extra, **dict(zip(plan.bounds, moved, strict=True))}
    return extra


def _is_stale(car: Car, corners: list[float] | None) -> bool:
    if not car.has_box:
        return False
    if corners is None:
        return True
    drawn = car.drawn_cw_from_up_deg or 0.0
    was = fields_from_corners(corners, drawn)
    for name in ("cx", "cy", "length", "width"):
        if abs(was[name] - getattr(car, name)) > _SAME_BOX:
            return True
    # A model's heading says nothing of the box as it was drawn; a reviewer's does.
    axis = fit_box(np.reshape(corners, (4, 2)), "unknown").heading_cw_from_up_deg
    return car.status in REVIEWED and gap_deg(axis, drawn, 90.0) > _SAME_BOX
