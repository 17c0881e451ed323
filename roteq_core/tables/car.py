"""One car: where it is, which way it points, how sure we are, and who says so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from roteq_core import angles

MACHINE = "machine"
AXIS_ONLY = "axis only"
EDITED = "edited"
ACCEPTED = "accepted"
REJECTED = "rejected"
# How notes on fronts that are not known end: they are stale once a model has told them.
AXES_ONLY = "axes only"
REVIEWED = (ACCEPTED, EDITED, REJECTED)

CornerOrder = Literal["box", "front edge first", "unknown"]


@dataclass(frozen=True)
class Car:
    """A car of one image, in pixels: x to the right, y down.

    Numbers become plain floats; angles are brought into their range.

    Parameters
    ----------
    cx, cy : float
        Center.
    length, width : float, optional
        Size along and across the car; None where only the center is known.
    heading_cw_from_up_deg : float, optional
        Where the front points, in [0, 360): 0 up, 90 right. None while not known.
    axis_cw_from_up_deg : float, optional
        In [0, 180): the line the car lies on, where its front is not known.
    heading_sd_deg, p_flip : float, optional
        Standard deviation of the heading, and the chance that front and rear are
        swapped, in [0, 1].
    status, source : str
        What became of it (`machine`, `axis only`, `edited`, `accepted`, `rejected`, or
        empty), and what first gave the heading, such as a model's name.
    label : str
        Its kind or class.
    score : float, optional
        How sure the finder was that this is a car.
    machine_heading_cw_from_up_deg : float, optional
        What the model said, kept when a person changes the heading.
    reviewer, reviewed_at : str
        By whom and when (ISO 8601) it was last reviewed.
    file : str
        The image, in tables of several images.
    id : str
        Names the car for good; empty until someone gives it one.
    extra : mapping
        Every other column of the file it came from, untouched.
    """

    cx: float
    cy: float
    length: float | None = None
    width: float | None = None
    heading_cw_from_up_deg: float | None = None
    axis_cw_from_up_deg: float | None = None
    heading_sd_deg: float | None = None
    p_flip: float | None = None
    status: str = ""
    source: str = ""
    label: str = ""
    score: float | None = None
    machine_heading_cw_from_up_deg: float | None = None
    reviewer: str = ""
    reviewed_at: str = ""
    file: str = ""
    id: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in NUMBER_FIELDS:
            value = getattr(self, name)
            if value is None:
                if name in ("cx", "cy"):
                    raise ValueError(f"{name} must be a number, got None")
                continue
            object.__setattr__(self, name, _checked(name, value))

    @property
    def angle_ccw_from_right_deg(self) -> float | None:
        """The heading as a mathematical angle, y up, in [0, 360)."""
        if self.heading_cw_from_up_deg is None:
            return None
        # Rounded, since 90 - 89.89 is not quite 0.11.
        ccw = angles.ccw_from_heading(self.heading_cw_from_up_deg)
        return round(float(ccw), 9) % 360.0

    @property
    def drawn_cw_from_up_deg(self) -> float | None:
        """The way its box is drawn: the heading, else the axis, either end first."""
        if self.heading_cw_from_up_deg is not None:
            return self.heading_cw_from_up_deg
        return self.axis_cw_from_up_deg

    @property
    def has_box(self) -> bool:
        """Whether size and direction are known, so that a box can be drawn."""
        return None not in (self.length, self.width, self.drawn_cw_from_up_deg)

    def with_heading(self, heading_cw_from_up_deg: float, **fields: Any) -> Car:
        """Give the car a front; other fields may be set along with it."""
        return replace(
            self,
            heading_cw_from_up_deg=heading_cw_from_up_deg,
            axis_cw_from_up_deg=None,
            **fields,
        )


_PERIODS = {
    "heading_cw_from_up_deg": 360.0,
    "machine_heading_cw_from_up_deg": 360.0,
    "axis_cw_from_up_deg": 180.0,
}
NUMBER_FIELDS = (
    *("cx", "cy", "length", "width", "heading_sd_deg", "p_flip", "score"),
    *_PERIODS,
)
TEXT_FIELDS = ("status", "source", "label", "reviewer", "reviewed_at", "file", "id")


def _checked(name: str, value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    if name in _PERIODS:
        # The second remainder: a tiny negative angle rounds up to the period itself.
        return number % _PERIODS[name] % _PERIODS[name]
    if name in ("length", "width") and number <= 0:
        raise ValueError(f"{name} must be positive, got {number}")
    if name == "heading_sd_deg" and number < 0:
        raise ValueError(f"{name} must not be negative, got {number}")
    if name == "p_flip" and not 0 <= number <= 1:
        raise ValueError(f"{name} must lie in [0, 1], got {number}")
    return number


def check_box(car: Car) -> None:
    """Refuse a car without a box, and say what is missing."""
    direction = car.drawn_cw_from_up_deg
    parts = {"length": car.length, "width": car.width, "heading or axis": direction}
    missing = [name for name, value in parts.items() if value is None]
    if missing:
        raise ValueError(
            "a box needs length, width and a heading or an axis, got no "
            f"{' and no '.join(missing)} at ({car.cx:g}, {car.cy:g})"
        )


def box_corners(car: Car) -> np.ndarray:
    """Give the corners of a car's box, in the order of our Shapes layers.

    For a car that points up:

        0 front left  ┌──▲──┐ 3 front right
                      │     │
        1 rear left   └─────┘ 2 rear right

    Parameters
    ----------
    car : Car
        With length, width, and a heading or an axis.

    Returns
    -------
    array of shape (4, 2)
        x, y of front-left, rear-left, rear-right, front-right.
    """
    check_box(car)
    assert car.length is not None
    assert car.width is not None
    assert car.drawn_cw_from_up_deg is not None
    angle = angles.angle_from_heading(car.drawn_cw_from_up_deg)
    u, v = angles.vector_from_angle(angle).tolist()
    front = u * car.length / 2, v * car.length / 2
    right = -v * car.width / 2, u * car.width / 2  # a quarter turn clockwise
    signs = ((1, -1), (-1, -1), (-1, 1), (1, 1))
    return np.array(
        [
            (car.cx + f * front[0] + r * right[0], car.cy + f * front[1] + r * right[1])
            for f, r in signs
        ]
    )


def car_from_corners(
    corners: npt.ArrayLike, *, order: CornerOrder = "box", **fields: Any
) -> Car:
    """Make a car from the four corners of its box.

    Quadrilaterals that are not quite rectangles get the rectangle between the middles
    of their edges. Numbers are rounded to a millionth.

    Parameters
    ----------
    corners : array of shape (4, 2)
        x, y around the box, either way round.
    order : {"box", "front edge first", "unknown"}
        "box": the order of `box_corners`. "front edge first": the edge from the first
        to the second corner is the front. "unknown": nothing is known of the order, so
        the long sides give an axis and the front stays open (status "axis only").
    **fields
        Other fields of the car.
    """
    box = fit_box(corners, order)
    direction: dict[str, Any] = {"heading_cw_from_up_deg": box.heading_cw_from_up_deg}
    if order == "unknown":
        axis = box.heading_cw_from_up_deg
        direction = {"axis_cw_from_up_deg": axis, "status": AXIS_ONLY}
    size = {"length": box.length, "width": box.width}
    return Car(box.cx, box.cy, **{**size, **direction, **fields})


class Box(NamedTuple):
    """A rectangle: center, size, and the way its front points."""

    cx: float
    cy: float
    length: float
    width: float
    heading_cw_from_up_deg: float


def fit_box(corners: npt.ArrayLike, order: CornerOrder) -> Box:
    """Fit a rectangle to corners; see `car_from_corners`."""
    points = np.asarray(corners, dtype=float)
    if points.shape != (4, 2) or not np.isfinite(points).all():
        raise ValueError(
            f"corners must be 4 finite points (x, y), got {points.tolist()}"
        )
    if order == "box":
        points = points[[0, 3, 2, 1]]
    # Plain numbers from here, since arrays of two are slow: front edge first.
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = points.tolist()
    along = (ax + bx - cx - dx) / 2, (ay + by - cy - dy) / 2
    across = (bx + cx - dx - ax) / 2, (by + cy - dy - ay) / 2
    length, width = round(math.hypot(*along), 6), round(math.hypot(*across), 6)
    if order == "unknown" and width > length:
        along, length, width = across, width, length
    if length == 0 or width == 0:
        raise ValueError(f"a box must have an area, got corners {points.tolist()}")
    heading = angles.heading_from_angle(math.atan2(along[1], along[0]))
    middle = (ax + bx + cx + dx) / 4, (ay + by + cy + dy) / 4
    return Box(
        round(middle[0], 6),
        round(middle[1], 6),
        length,
        width,
        round(float(heading), 6) % 360.0,
    )


def gap_deg(a: float, b: float, period: float = 360.0) -> float:
    """Give the smallest angle between two, as `angles.difference` but for one pair."""
    return abs((a - b + period / 2) % period - period / 2)
