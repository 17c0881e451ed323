"""YOLO-OBB text: a class number and four corners as fractions of the image, a line.

    0 x1 y1 x2 y2 x3 y3 x4 y4

Nothing else may stand in such a file, or training with it fails: so the front, the
columns, the class names and the image size are in the file beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from roteq_core.tables.car import Car, CornerOrder, box_corners, car_from_corners
from roteq_core.tables.csv_format import number_text
from roteq_core.tables.dota import FOREIGN_NOTE
from roteq_core.tables.sidecar import match_lines, merged
from roteq_core.tables.table import CarTable

PIXELS_FROM = 10  # a fraction of the image is smaller, also of cars beyond its border
_DECIMALS = 9
_DEFAULT_CLASS = "car"


def parse_yolo_obb(
    text: str,
    image_size: tuple[int, int],
    beside: CarTable | None = None,
    *,
    class_names: Sequence[str] | None = None,
    order: CornerOrder | None = None,
) -> CarTable:
    """Read YOLO-OBB text.

    Parameters
    ----------
    text : str
        The file's content.
    image_size : (int, int)
        Height and width of the image.
    beside : CarTable, optional
        From the file beside it.
    class_names : sequence of str, optional
        Names of the classes 0, 1, …; without them a label is the number.
    order : str, optional
        Overrules that the corners' order is unknown; see `car_from_corners`.
    """
    rows = list(enumerate(text.splitlines(), 1))
    lines = [(number, line) for number, line in rows if line.strip()]
    names = class_names or (beside.header.get("class_names") if beside else None) or ()
    order = order or "unknown"
    cars = [_car(number, line, image_size, names, order) for number, line in lines]
    table = CarTable(
        tuple(cars),
        format="yolo-obb",
        convention=f"corners as fractions of the image, {order}",
        header={"class_names": list(names)} if names else {},
        image_size=image_size,
        notes=(FOREIGN_NOTE,) if cars and order == "unknown" else (),
    )
    if beside is None:
        return table

    def line_of(car: Car) -> str:
        return yolo_obb_line(car, image_size, names)

    return merged(table, beside, match_lines([x for _, x in lines], beside, line_of))


def _car(
    number: int,
    line: str,
    image_size: tuple[int, int],
    names: Sequence[str],
    order: CornerOrder,
) -> Car:
    try:
        tokens = line.split()
        if len(tokens) not in (9, 10):
            raise ValueError("needs a class, eight coordinates and at most a score")
        index = int(tokens[0])
        corners = np.array(tokens[1:9], dtype=float).reshape(4, 2)
        if not (np.abs(corners) < PIXELS_FROM).all():
            raise ValueError("corners must be x / width and y / height, not pixels")
        return car_from_corners(
            corners * image_size[::-1],
            order=order,
            label=_name(index, names),
            score=float(tokens[9]) if len(tokens) == 10 else None,
        )
    except ValueError as error:
        raise ValueError(f"line {number}: {error}, got {line.strip()!r}") from error


def _name(index: int, names: Sequence[str]) -> str:
    if not names:
        return str(index)
    if not 0 <= index < len(names):
        raise ValueError(f"the class must be below {len(names)}, the number of names")
    return names[index]


def yolo_obb_line(car: Car, image_size: tuple[int, int], names: Sequence[str]) -> str:
    """Write one car: class, front left, front right, rear right, rear left."""
    corners = box_corners(car)[[0, 3, 2, 1]] / image_size[::-1]
    numbers = [number_text(round(float(v), _DECIMALS) + 0.0) for v in corners.ravel()]
    return " ".join([str(_index(car.label, names)), *numbers])


def _index(label: str, names: Sequence[str]) -> int:
    if not names and (not label or label.isdecimal()):
        return int(label or 0)
    name = label or _DEFAULT_CLASS
    if name in names:
        return list(names).index(name)
    raise ValueError(f"the label must be one of {list(names)}, got {name!r}")


def prepare_yolo_obb(table: CarTable, class_names: Sequence[str] | None) -> CarTable:
    """Write image size and class names into the header, which the file beside keeps."""
    if not table.cars and table.image_size is None:
        return table
    if table.image_size is None:
        raise ValueError("YOLO-OBB holds fractions: image_size must be given, got None")
    names = class_names or table.header.get("class_names") or class_names_of(table)
    header = {**table.header, "image_size": list(table.image_size)}
    if names:
        header["class_names"] = list(names)
    return replace(table, header=header)


def class_names_of(table: CarTable) -> list[str]:
    """List a table's labels in alphabetical order; none if they are numbers."""
    labels = {car.label for car in table.cars}
    if all(label == "" or label.isdecimal() for label in labels):
        return []
    return sorted({label or _DEFAULT_CLASS for label in labels})


def render_yolo_obb(table: CarTable) -> str:
    """Write YOLO-OBB text of a prepared table."""
    names = table.header.get("class_names") or ()
    lines = []
    for row, car in enumerate(table.cars, 1):
        assert table.image_size is not None
        try:
            lines.append(yolo_obb_line(car, table.image_size, names) + "\n")
        except ValueError as error:
            raise ValueError(f"car {row}: {error}") from error
    return "".join(lines)
