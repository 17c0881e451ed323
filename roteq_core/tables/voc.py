"""VOC XML with rotated boxes, in the dialects of its two editors.

In both, `robndbox` is a box w wide and h high around (cx, cy), turned clockwise by
`angle` radians. They differ in what that says of a car:

- *labelImg2* turns through the whole circle: h is the car's length and the edge that
  was on top is its front, so `angle` is the heading, clockwise from up. Its objects
  have an `extra` and no `type`.
- *roLabelImg* turns through half a circle: w or h may be the length, and the front is
  not known. Its objects say `type` robndbox.

What XML readers skip tells the rest: a comment with the convention, and an element
`roteq` in each object with the columns that VOC has no name for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from roteq_core.tables.car import AXES_ONLY, AXIS_ONLY, Car, gap_deg
from roteq_core.tables.columns import plan_columns
from roteq_core.tables.csv_format import header_value, number_text
from roteq_core.tables.files import summarize
from roteq_core.tables.rows import car_from_row
from roteq_core.tables.table import CarTable

Dialect = Literal["voc-labelimg2", "voc-rolabelimg"]
CONVENTIONS: dict[Dialect, str] = {
    "voc-labelimg2": "robndbox as in labelImg2: h is the length of the car, w its"
    " width, angle the heading in radians clockwise from up",
    "voc-rolabelimg": "robndbox as in roLabelImg: w is the length of the car, h its"
    " width, angle the axis in radians clockwise from right, below pi; the front is in"
    " roteq/heading_cw_from_up_deg",
}
_ROBNDBOX = ("cx", "cy", "w", "h", "angle")
_BNDBOX = ("xmin", "ymin", "xmax", "ymax")
_AGREE_DEG = 0.01
_LARGEST_ANGLE = 2 * math.pi + 0.01


def parse_voc(text: str, dialect: Dialect | None = None) -> CarTable:
    """Read a VOC annotation.

    Parameters
    ----------
    text : str
        The file's content.
    dialect : {"voc-labelimg2", "voc-rolabelimg"}, optional
        Found from the file's own words if not given; in doubt the front is not known.
    """
    root = _root(text)
    objects = root.findall("object")
    dialect = dialect or _dialect(root, objects)
    header = _header(root)
    rows = [_row(number, item) for number, item in enumerate(objects, 1)]
    columns = tuple(dict.fromkeys(name for row, _ in rows for name in row))
    plan = plan_columns([*columns, "cx", "cy"])
    cars, doubtful = [], []
    for number, (row, box) in enumerate(rows, 1):
        try:
            row = row | {"cx": box.get("cx"), "cy": box.get("cy")}
            car, fits = _placed(car_from_row(row, plan), box, dialect)
        except ValueError as error:
            raise ValueError(f"object {number}: {error}") from error
        cars.append(replace(car, file=car.file or header.get("filename", "")))
        if not fits:
            doubtful.append(str(number))
    return CarTable(
        tuple(cars),
        columns,
        dialect,
        CONVENTIONS[dialect],
        header,
        _image_size(root),
        (*plan.notes, *_notes(cars, doubtful)),
    )


def detect_dialect(text: str) -> Dialect:
    """Tell the dialect of a VOC file: its own word, else what its objects look like."""
    root = _root(text)
    return _dialect(root, root.findall("object"))


def _root(text: str) -> Element:
    if "<!ENTITY" in text:
        raise ValueError("VOC files must not define XML entities, got <!ENTITY")
    try:
        root = ElementTree.fromstring(_without_declaration(text))
    except ElementTree.ParseError as error:
        raise ValueError(f"line {error.position[0]}: not XML: {error}") from error
    if root.tag != "annotation":
        raise ValueError(f"the root element must be annotation, got {root.tag!r}")
    return root


def _without_declaration(text: str) -> str:
    text = text.lstrip()
    return text.partition("?>")[2] if text.startswith("<?xml") else text


def _dialect(root: Element, objects: list[Element]) -> Dialect:
    said = root.findtext("roteq/dialect")
    for dialect in CONVENTIONS:
        if said == dialect:
            return dialect
    typed = any(item.find("type") is not None for item in objects)
    extra = any(item.find("extra") is not None for item in objects)
    return "voc-labelimg2" if extra and not typed else "voc-rolabelimg"


def _header(root: Element) -> dict[str, Any]:
    """Keep every element above the objects: leaves as text, others as XML."""
    header: dict[str, Any] = {}
    for element in root:
        if element.tag in ("object", "roteq", "size"):
            continue
        header[element.tag] = header_value(_content(element).strip())
    depth = root.findtext("size/depth")
    return header | ({"depth": depth} if depth else {}) | dict(root.attrib)


def _image_size(root: Element) -> tuple[int, int] | None:
    try:
        height = int(float(root.findtext("size/height") or 0))
        width = int(float(root.findtext("size/width") or 0))
    except ValueError as error:
        raise ValueError(f"size must be whole numbers: {error}") from error
    return (height, width) if height > 0 and width > 0 else None


def _row(number: int, item: Element) -> tuple[dict[str, Any], dict[str, float]]:
    """Split an object into columns and a box."""
    row: dict[str, Any] = {}
    box: dict[str, float] | None = None
    for element in item:
        if element.tag == "robndbox":
            box = _numbers(number, element, _ROBNDBOX)
        elif element.tag == "bndbox":
            bounds = _numbers(number, element, _BNDBOX)
            row |= {name: number_text(value) for name, value in bounds.items()}
        elif element.tag == "roteq":
            row |= {x.get("name", x.tag): x.text or "" for x in element}
        elif element.tag == "name":
            row["label"] = element.text or ""
        else:
            row[element.tag] = _content(element)
    if box is None and "xmin" not in row:
        raise ValueError(f"object {number}: a car needs a robndbox or a bndbox")
    return row, box or {}


def _content(element: Element) -> str:
    """Give a leaf's text, and anything deeper as XML."""
    if len(element) == 0:
        return element.text or ""
    return ElementTree.tostring(element, "unicode").strip()


def _numbers(number: int, element: Element, names: tuple[str, ...]) -> dict[str, float]:
    values = {}
    for name in names:
        text = element.findtext(name)
        try:
            values[name] = float(text or "")
            if not math.isfinite(values[name]):
                raise ValueError
        except ValueError:
            raise ValueError(
                f"object {number}: {element.tag}/{name} must be a number, got {text!r}"
            ) from None
    return values


def _placed(car: Car, box: Mapping[str, float], dialect: Dialect) -> tuple[Car, bool]:
    """Give a car its box; False if the box was turned since the heading was told."""
    if not box:
        return car, True
    if abs(box["angle"]) > _LARGEST_ANGLE:
        raise ValueError(
            "robndbox/angle must be in radians, at most 2π, not in degrees, got "
            f"{box['angle']:g}"
        )
    turned = math.degrees(box["angle"])
    if dialect == "voc-rolabelimg":
        return _placed_by_axis(car, box, turned)
    car = replace(car, length=box["h"], width=box["w"])
    told = car.heading_cw_from_up_deg
    if told is None and car.axis_cw_from_up_deg is not None:
        return replace(car, axis_cw_from_up_deg=turned), True
    if told is not None and gap_deg(told, turned, 360.0) <= _AGREE_DEG:
        return car, True
    status = "" if car.status == AXIS_ONLY else car.status
    return car.with_heading(turned, status=status), told is None


def _placed_by_axis(
    car: Car, box: Mapping[str, float], turned: float
) -> tuple[Car, bool]:
    told = car.drawn_cw_from_up_deg
    is_upright = box["h"] > box["w"]
    if told is not None:
        # Ours: h is the length only if the car, as told, lies that way.
        is_upright = gap_deg(told, turned, 180.0) < 45
    axis = turned if is_upright else turned + 90.0
    sides = ("h", "w") if is_upright else ("w", "h")
    car = replace(car, length=box[sides[0]], width=box[sides[1]])
    fits = told is None or gap_deg(told, axis, 180.0) <= _AGREE_DEG
    if told is not None and fits:
        return car, True
    return replace(
        car,
        heading_cw_from_up_deg=None,
        axis_cw_from_up_deg=axis,
        status=AXIS_ONLY,
    ), fits


def _notes(cars: list[Car], doubtful: list[str]) -> tuple[str, ...]:
    notes = []
    if doubtful:
        notes.append(
            f"object {summarize(doubtful)} was turned since its heading was written: "
            "the box was used"
        )
    if any(car.status == AXIS_ONLY for car in cars):
        notes.append(f"the boxes do not say which end is the front: {AXES_ONLY}")
    return tuple(notes)
