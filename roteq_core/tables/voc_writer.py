"""Writing VOC XML; the dialects are told in `roteq_core.tables.voc`."""

from __future__ import annotations

import math
import re
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from roteq_core.tables.car import Car, check_box
from roteq_core.tables.columns import (
    BOUNDS,
    GEOMETRY_COLUMNS,
    Plan,
    output_columns,
    plan_columns,
)
from roteq_core.tables.csv_format import cell_text, number_text
from roteq_core.tables.rows import row_from_car
from roteq_core.tables.table import CarTable
from roteq_core.tables.voc import CONVENTIONS, Dialect

_HEADER_FIRST = ("folder", "filename", "path", "source", "segmented")
_OBJECT_DEFAULTS = {"pose": "Unspecified", "truncated": "0", "difficult": "0"}
_TAG = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
# What XML 1.0 cannot hold, in any spelling.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_voc(table: CarTable, dialect: Dialect) -> str:
    """Write a VOC annotation of one image.

    Parameters
    ----------
    table : CarTable
        Every car with a box, or with the columns xmin … ymax.
    dialect : {"voc-labelimg2", "voc-rolabelimg"}
        See `CONVENTIONS`.
    """
    root = Element("annotation")
    root.append(ElementTree.Comment(f" convention: {CONVENTIONS[dialect]} "))
    _write_header(root, table)
    ours = SubElement(root, "roteq")
    _leaf(ours, "dialect", dialect)
    _leaf(ours, "convention", CONVENTIONS[dialect])
    columns = output_columns(table.cars, table.columns, geometry=False)
    plan = plan_columns(columns)
    for row, car in enumerate(table.cars, 1):
        try:
            _write_object(SubElement(root, "object"), car, columns, plan, dialect)
        except ValueError as error:
            raise ValueError(f"car {row}: {error}") from error
    ElementTree.indent(root, "\t")
    # A carriage return in a cell survives parsing only as a reference.
    text = ElementTree.tostring(root, "unicode").replace("\r", "&#13;")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _write_header(root: Element, table: CarTable) -> None:
    header = dict(table.header)
    depth = header.pop("depth", 3)
    if "verified" in header:
        root.set("verified", str(header.pop("verified")))
    if table.files:
        header["filename"] = table.files[0]
    for name in dict.fromkeys((*_HEADER_FIRST, *header)):
        if name in header and _TAG.fullmatch(name):
            root.append(_header_element(name, header[name]))
    if table.image_size is not None:
        size = SubElement(root, "size")
        height, width = table.image_size
        for name, value in (("width", width), ("height", height), ("depth", depth)):
            _leaf(size, name, str(value))


def _header_element(name: str, value: Any) -> Element:
    text = cell_text(value)
    if text.startswith(f"<{name}"):
        return ElementTree.fromstring(text)
    element = Element(name)
    element.text = _allowed(text)
    return element


def _write_object(
    item: Element, car: Car, columns: tuple[str, ...], plan: Plan, dialect: Dialect
) -> None:
    row = {name: cell_text(value) for name, value in row_from_car(car, plan).items()}
    row = {name: row.get(name, "") for name in columns}
    if dialect == "voc-rolabelimg":
        _leaf(item, "type", row.pop("type", "") or "robndbox")
    row.pop(plan.known.get("label", ""), None)
    _leaf(item, "name", car.label or "car")
    for name, default in _OBJECT_DEFAULTS.items():
        _leaf(item, name, row.pop(name, "") or default)
    bounds = [row.pop(name) for name in plan.bounds]
    if car.has_box:
        _write_box(item, car, dialect)
    elif all(bounds) and bounds:
        box = SubElement(item, "bndbox")
        for name, text in zip(BOUNDS, bounds, strict=True):
            _leaf(box, name, text)
    else:
        check_box(car)
    if dialect == "voc-labelimg2":
        _leaf(item, "extra", row.pop("extra", ""))
    _write_columns(SubElement(item, "roteq"), car, row)


def _write_box(item: Element, car: Car, dialect: Dialect) -> None:
    assert car.length is not None
    assert car.width is not None
    assert car.drawn_cw_from_up_deg is not None
    w, h, turned = car.width, car.length, car.drawn_cw_from_up_deg
    if dialect == "voc-rolabelimg":
        w, h, turned = car.length, car.width, (turned - 90.0) % 180.0
    box = SubElement(item, "robndbox")
    sides = {"cx": car.cx, "cy": car.cy, "w": w, "h": h, "angle": math.radians(turned)}
    for name, value in sides.items():
        _leaf(box, name, number_text(value))


def _write_columns(ours: Element, car: Car, row: dict[str, str]) -> None:
    """Write the columns that VOC has no name for; the label only if it is none."""
    if not car.label:
        row = {"label": "", **row}
    for name, text in row.items():
        if name in GEOMETRY_COLUMNS and car.has_box:
            continue
        if _TAG.fullmatch(name):
            _leaf(ours, name, text)
        else:
            column = SubElement(ours, "column", name=_allowed(name))
            column.text = _allowed(text)


def _leaf(parent: Element, tag: str, text: str) -> None:
    SubElement(parent, tag).text = _allowed(text)


def _allowed(text: str) -> str:
    bad = _FORBIDDEN.search(text)
    if bad:
        raise ValueError(f"XML cannot hold the character {bad.group()!r}, got {text!r}")
    return text
