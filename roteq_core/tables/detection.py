"""Telling the format of a table of cars from its name and its text."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from roteq_core.tables.table import Format
from roteq_core.tables.voc import detect_dialect
from roteq_core.tables.yolo_obb import PIXELS_FROM

FORMATS: tuple[Format, ...] = get_args(Format)


def known_format(format: Format | None) -> Format | None:
    """Refuse a format that there is not."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    return format


def detect_format(name: str, text: str) -> Format:
    """Tell the format of a file from its name and, where that leaves it open, its text.

    Parameters
    ----------
    name : str
        Of the file; its ending counts.
    text : str
        The file's content.
    """
    suffix = Path(name).suffix.lower()
    start = text.lstrip()[:1]
    if suffix in (".geojson", ".json") or start == "{":
        return "geojson"
    if is_xml(name, text):
        return detect_dialect(text)
    if suffix in (".csv", ".tsv"):
        return "csv"
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if suffix == ".txt" and any(map(_is_dota, lines[:4])):
        return "dota"
    if (suffix == ".txt" and not lines) or (lines and _is_yolo_obb(lines[0])):
        return "yolo-obb"  # an image without cars: DOTA has a header all the same
    if lines and any(_is_dota(tokens) for tokens in lines[:4]):
        return "dota"
    if lines and any(mark in " ".join(lines[0]) for mark in (",", ";")):
        return "csv"
    raise ValueError(
        f"the format must be one of {', '.join(FORMATS)}; it is not told by the name, "
        "nor by the first lines"
    )


def is_xml(name: str, text: str) -> bool:
    """Tell XML by the name's ending or the first character."""
    return name.lower().endswith(".xml") or text.lstrip()[:1] == "<"


def _is_dota(tokens: list[str]) -> bool:
    has_header = tokens[0].startswith(("imagesource:", "gsd:", "convention:"))
    return has_header or (
        len(tokens) >= 9 and _floats(tokens[:8]) != () and not _is_yolo_obb(tokens)
    )


def _is_yolo_obb(tokens: list[str]) -> bool:
    """Tell fractions from pixels: a class number, then coordinates that are small."""
    numbers = _floats(tokens)
    return (
        len(numbers) in (9, 10)
        and tokens[0].isdecimal()
        and all(abs(value) < PIXELS_FROM for value in numbers[1:9])
    )


def _floats(tokens: list[str]) -> tuple[float, ...]:
    try:
        return tuple(float(token) for token in tokens)
    except ValueError:
        return ()
