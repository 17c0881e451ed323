"""What becomes of a car's row when a model has looked at the car. No torch.

A box that was drawn without a front is kept: the model chooses its front edge. Only
where the model sees the car lie another way is the box turned, and then too a column
keeps the axis as it was drawn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from roteq_core.cars.calibration import Z
from roteq_core.tables.car import (
    ACCEPTED,
    AXES_ONLY,
    AXIS_ONLY,
    EDITED,
    MACHINE,
    REJECTED,
    REVIEWED,
    Car,
    gap_deg,
)

OUTSIDE = "outside image"
NO_CONTRAST = "no contrast"
_STATUSES = ("", MACHINE, AXIS_ONLY, OUTSIDE, NO_CONTRAST, *REVIEWED)
DRAWN_AXIS = "drawn_axis_cw_from_up_deg"
# A drawn box is kept if it is this close to the model's axis, or within the model's
# 90 % interval, but for boxes that lie across.
SAME_AXIS_DEG, OTHER_AXIS_DEG = 10.0, 45.0


class Answer(NamedTuple):
    """What a model says of a car; degrees, and the chance of a flip."""

    heading_cw_from_up_deg: float
    sd_deg: float
    p_flip: float


def with_answer(car: Car, answer: Answer | str, source: str, *, redo: bool) -> Car:
    """Fill in what a model says.

    Parameters
    ----------
    car : Car
    answer : Answer or str
        Or the status of a car of which nothing can be said.
    source : str
        The model and its hash.
    redo : bool
        Also replace what a person accepted, edited or rejected.
    """
    is_reviewed = car.status in REVIEWED and not redo
    if isinstance(answer, str):
        if is_reviewed:
            return car
        return _without_heading(car, answer, source)
    told = answer.heading_cw_from_up_deg
    if is_reviewed:
        return replace(car, machine_heading_cw_from_up_deg=told)
    drawn = _drawn_axis(car)
    heading, sd_deg = _along(drawn, answer)
    return car.with_heading(
        heading,
        heading_sd_deg=sd_deg,
        p_flip=answer.p_flip,
        machine_heading_cw_from_up_deg=told,
        status=MACHINE,
        source=source,
        extra=car.extra if drawn is None else {**car.extra, DRAWN_AXIS: drawn},
    )


def _drawn_axis(car: Car) -> float | None:
    """Give the axis of a box that came without a front, also after an earlier run."""
    if car.heading_cw_from_up_deg is None:
        return car.axis_cw_from_up_deg
    try:
        return float(car.extra[DRAWN_AXIS]) if car.status == MACHINE else None
    except (KeyError, TypeError, ValueError):
        return None


def _along(drawn: float | None, answer: Answer) -> tuple[float, float]:
    """Give heading and deviation: along the drawn axis, if it is about the model's.

    The deviation then holds both, the drawn axis and the model's.
    """
    told = answer.heading_cw_from_up_deg
    near = min(max(SAME_AXIS_DEG, Z * answer.sd_deg), OTHER_AXIS_DEG)
    if drawn is None or gap_deg(told, drawn, 180.0) > near:
        return told, answer.sd_deg
    heading = drawn if gap_deg(told, drawn) < 90 else drawn + 180.0
    return heading % 360, round(math.hypot(answer.sd_deg, gap_deg(told, heading)), 2)


def _without_heading(car: Car, status: str, source: str) -> Car:
    """Take back what was said of the front; the box stays where it was drawn."""
    return replace(
        car,
        heading_cw_from_up_deg=None,
        axis_cw_from_up_deg=car.drawn_cw_from_up_deg,
        heading_sd_deg=None,
        p_flip=None,
        machine_heading_cw_from_up_deg=None,
        status=status,
        source=source,
    )


def notes_now(notes: Iterable[str], *more: str) -> tuple[str, ...]:
    """Add notes to those of a table; drop those on fronts, which have been told."""
    kept = (note for note in notes if not note.endswith(AXES_ONLY))
    return (*kept, *filter(None, more))


def status_notes(cars: Iterable[Car]) -> tuple[str, ...]:
    """Say which statuses are not known, so that their headings are not kept."""
    counts = Counter(car.status for car in cars if car.status not in _STATUSES)
    return tuple(
        f"status {status!r} of {count} cars is not known and counts as not reviewed; "
        f"{ACCEPTED}, {EDITED} and {REJECTED} are kept"
        for status, count in counts.items()
    )
