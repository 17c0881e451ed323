"""DOTA text: eight corner coordinates in pixels, a class and a difficulty a line.

    imagesource:GoogleEarth
    gsd:0.12
    x1 y1 x2 y2 x3 y3 x4 y4 small-vehicle 0

DOTA asks for corners clockwise, the first at the front left; few tools keep to it, so a
foreign file gives the axis alone. Our files say `convention:front-edge-first`, and then
the edge from the first to the second corner is the front.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from roteq_core.tables.car import (
    AXES_ONLY,
    Car,
    CornerOrder,
    box_corners,
    car_from_corners,
)
from roteq_core.tables.csv_format import number_text
from roteq_core.tables.sidecar import match_lines, merged
from roteq_core.tables.table import CarTable

FRONT_FIRST = "front-edge-first"
FOREIGN_NOTE = f"the corners do not say which end is the front: {AXES_ONLY}"
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
_DECIMALS = 6
_DEFAULT_CLASS = "car"


def parse_dota(
    text: str, beside: CarTable | None = None, *, order: CornerOrder | None = None
) -> CarTable:
    """Read DOTA text.

    Parameters
    ----------
    text : str
        The file's content.
    beside : CarTable, optional
        From the file beside it.
    order : str, optional
        Overrules what the file says of its corners; see `car_from_corners`.
    """
    header, lines = _split_header(text)
    is_ours = header.pop("convention", None) == FRONT_FIRST
    order = order or ("front edge first" if is_ours else "unknown")
    cars = [_car(number, line, order) for number, line in lines]
    table = CarTable(
        tuple(cars),
        format="dota",
        convention=f"corners clockwise, {'front edge first' if is_ours else 'any'}",
        header=header,
        notes=(FOREIGN_NOTE,) if cars and order == "unknown" else (),
    )
    if beside is None:
        return table
    return merged(table, beside, match_lines([x for _, x in lines], beside, dota_line))


def _split_header(text: str) -> tuple[dict[str, Any], list[tuple[int, str]]]:
    header: dict[str, Any] = {}
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        tokens = line.split()
        if not tokens:
            continue
        if not lines and len(tokens) < 9 and ":" in line:
            name, _, value = line.partition(":")
            header[name.strip()] = value.strip()
        else:
            lines.append((number, line))
    return header, lines


def _car(number: int, line: str, order: CornerOrder) -> Car:
    tokens = line.split()
    try:
        if len(tokens) < 9:
            raise ValueError("needs eight coordinates and a class")
        _check_class(tokens)
        corners = [[float(x), float(y)] for x, y in zip(*_pairs(tokens), strict=True)]
        extra = {"difficult": tokens[9]} if len(tokens) > 9 else {}
        if len(tokens) > 10:
            extra["dota_rest"] = " ".join(tokens[10:])
        return car_from_corners(corners, order=order, label=tokens[8], extra=extra)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}, got {line.strip()!r}") from error


def _check_class(tokens: list[str]) -> None:
    """Refuse a class number that comes first: all corners would be off by a number.

    Where the class is a number indeed, a difficulty follows.
    """
    after = tokens[8:10]
    is_numbered = len(after) == 2 and all(token.isdecimal() for token in after)
    if _NUMBER.fullmatch(tokens[8]) and not is_numbered:
        raise ValueError(
            "the ninth word must be a class, not a coordinate (with the class first "
            "this is YOLO-OBB, which wants x / width and y / height, not pixels)"
        )


def _pairs(tokens: list[str]) -> tuple[list[str], list[str]]:
    return tokens[0:8:2], tokens[1:8:2]


def dota_line(car: Car) -> str:
    """Write one car: front left, front right, rear right, rear left, class, 0."""
    corners = box_corners(car)[[0, 3, 2, 1]].ravel()
    numbers = [number_text(round(float(value), _DECIMALS) + 0.0) for value in corners]
    label = "-".join(car.label.split()) or _DEFAULT_CLASS
    difficult = (str(car.extra.get("difficult") or 0).split() or ["0"])[0]
    rest = str(car.extra.get("dota_rest") or "").split()
    return " ".join([*numbers, label, difficult, *rest])


def render_dota(table: CarTable) -> str:
    """Write DOTA text; the file beside it is the caller's work."""
    lines = [f"{name}:{value}" for name, value in _short(table.header).items()]
    if all(car.heading_cw_from_up_deg is not None for car in table.cars):
        lines.append(f"convention:{FRONT_FIRST}")
    for row, car in enumerate(table.cars, 1):
        try:
            lines.append(dota_line(car))
        except ValueError as error:
            raise ValueError(f"car {row}: {error}") from error
    return "\n".join(lines) + "\n"


def _short(header: Mapping[str, Any]) -> dict[str, str]:
    """Keep what other tools skip as a header: one line of fewer than nine words."""
    plain = {k: str(v) for k, v in header.items() if not isinstance(v, dict | list)}
    return {
        name: value
        for name, value in plain.items()
        if len(f"{name}:{value}".split()) < 9 and len(value.splitlines()) < 2
    }
