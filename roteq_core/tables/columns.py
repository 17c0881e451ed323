"""What the columns of a table mean: the one list of names.

A column is read only if its name leaves no doubt. `angle` or `heading` alone say
nothing of where zero is or which way round: such a column is kept, not understood.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from roteq_core.tables.car import (
    Car,
)
from roteq_core.tables.files import summarize

# Field: our column first, then other people's. Matched without regard to case.
NAMES: dict[str, tuple[str, ...]] = {
    "file": ("file", "filename", "file_name", "image", "image_name"),
    "id": ("car_id",),
    "label": ("label", "class", "class_name", "category", "kind"),
    "cx": ("cx", "cx_px", "center_x", "x_center", "x"),
    "cy": ("cy", "cy_px", "center_y", "y_center", "y"),
    "length": ("length_px", "length"),
    "width": ("width_px", "width"),
    "heading_cw_from_up_deg": ("heading_cw_from_up_deg",),
    "axis_cw_from_up_deg": ("axis_cw_from_up_deg",),
    "heading_sd_deg": ("heading_sd_deg",),
    "p_flip": ("p_flip",),
    "status": ("status",),
    "source": ("source",),
    "score": ("score", "confidence", "conf"),
    "machine_heading_cw_from_up_deg": ("machine_heading_cw_from_up_deg",),
    "reviewer": ("reviewer",),
    "reviewed_at": ("reviewed_at",),
}
CCW = "angle_ccw_from_right_deg"
ADDED_COLUMNS = (
    "heading_cw_from_up_deg",
    CCW,
    "heading_sd_deg",
    "p_flip",
    "status",
    "source",
)
GEOMETRY_COLUMNS = ("cx", "cy", "length_px", "width_px")
CORNERS = ("x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4")
BOUNDS = ("xmin", "ymin", "xmax", "ymax")

_OUTPUT_ORDER = (
    *("file", "car_id", "label"),
    *GEOMETRY_COLUMNS,
    *("heading_cw_from_up_deg", CCW, "axis_cw_from_up_deg"),
    *("heading_sd_deg", "p_flip", "status", "source", "score"),
    *("machine_heading_cw_from_up_deg", "reviewer", "reviewed_at"),
)
_FIELD_OF = {names[0]: field for field, names in NAMES.items()}
_NO_CONVENTION = ("angle", "heading", "orientation", "theta", "rotation", "yaw", "dir")


@dataclass(frozen=True)
class Plan:
    """Which column of a file holds what.

    Parameters
    ----------
    known : mapping
        Our field to the file's column.
    ccw : str, optional
        The column of `angle_ccw_from_right_deg`.
    corners, bounds : tuples of str
        The columns of x1 … y4 and of xmin … ymax, or empty.
    notes : tuple of str
        Columns that look like angles and are not understood.
    """

    known: Mapping[str, str]
    ccw: str | None = None
    corners: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def has_centers(self) -> bool:
        """Whether the columns tell where the cars are."""
        centers = "cx" in self.known and "cy" in self.known
        return centers or bool(self.corners) or bool(self.bounds)

    @cached_property
    def taken(self) -> frozenset[str]:
        """The columns whose content lives in the cars' own fields."""
        ccw = () if self.ccw is None else (self.ccw,)
        return frozenset((*self.known.values(), *ccw))


def plan_columns(columns: Sequence[str]) -> Plan:
    """Find our fields among the columns of a file."""
    lower = {column.strip().lower(): column for column in reversed(columns)}
    known = {}
    for field, names in NAMES.items():
        found = next((lower[name] for name in names if name in lower), None)
        if found is not None:
            known[field] = found
    _refuse_ambiguous_boxes(known, lower)
    if "height" in lower and known.get("width", "").strip().lower() == "width":
        del known["width"]  # a box's sides on the page, not a car's
    doubtful = [lower[name] for name in _NO_CONVENTION if name in lower]
    notes = tuple(
        f"column {column!r} names no angle convention and was kept unread; rename it "
        f"to heading_cw_from_up_deg or {CCW} to use it"
        for column in doubtful
    )
    return Plan(
        known,
        lower.get(CCW),
        _all_of(CORNERS, lower),
        _all_of(BOUNDS, lower),
        notes,
    )


def _all_of(names: Sequence[str], lower: Mapping[str, str]) -> tuple[str, ...]:
    if not all(name in lower for name in names):
        return ()
    return tuple(lower[name] for name in names)


def _refuse_ambiguous_boxes(known: Mapping[str, str], lower: Mapping[str, str]) -> None:
    is_plain_x = known.get("cx", "").strip().lower() == "x"
    sizes = {"w", "h"} <= lower.keys() or {"width", "height"} <= lower.keys()
    if is_plain_x and sizes:
        raise ValueError(
            "columns x, y beside a width and a height may be a center or a corner; "
            "rename them to cx, cy or to xmin, ymin, xmax, ymax"
        )


def require_centers(plan: Plan, columns: Sequence[str]) -> None:
    """Refuse a table that does not say where the cars are."""
    if not plan.has_centers:
        raise ValueError(
            "a table of cars needs columns cx and cy, or x1, y1 … x4, y4, or xmin, "
            f"ymin, xmax, ymax; got {summarize(columns, 12) or 'none'}"
        )


def output_columns(
    cars: Iterable[Car], columns: Sequence[str], *, geometry: bool = True
) -> tuple[str, ...]:
    """List the columns to write: the file's own, ours, then what single cars bring.

    Parameters
    ----------
    cars : iterable of Car
        All that will be written.
    columns : sequence of str
        Of the file that was read.
    geometry : bool
        Whether center and size are columns; GeoJSON has them in its shapes, but for
        the size of a car without direction.
    """
    cars = tuple(cars)
    plan = plan_columns(columns)
    always = {"cx", "cy", *ADDED_COLUMNS}
    wanted = list(columns)
    for column in _OUTPUT_ORDER:
        field = _FIELD_OF.get(column)
        if field in plan.known or (column == CCW and plan.ccw is not None):
            continue
        told_by_shape = not geometry and column in GEOMETRY_COLUMNS
        told = (car for car in cars if not (told_by_shape and car.has_box))
        if column in always:
            is_wanted = not told_by_shape
        else:
            is_wanted = any(getattr(car, str(field)) not in (None, "") for car in told)
        if is_wanted:
            wanted.append(column)
    extra = dict.fromkeys(name for car in cars for name in car.extra)
    taken = plan_columns(wanted).taken
    return (*dict.fromkeys(wanted), *(n for n in extra if n not in {*wanted, *taken}))
