"""What becomes of a car's row when a model has looked at the car. No torch."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from roteq_core.tables.car import MACHINE, REVIEWED, Car

OUTSIDE = "outside image"
NO_CONTRAST = "no contrast"


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
    heading = answer.heading_cw_from_up_deg
    if is_reviewed:
        return replace(car, machine_heading_cw_from_up_deg=heading)
    return car.with_heading(
        heading,
        heading_sd_deg=answer.sd_deg,
        p_flip=answer.p_flip,
        machine_heading_cw_from_up_deg=heading,
        status=MACHINE,
        source=source,
    )


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
