"""CSV tables of cars: any order of columns, all of them kept."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from roteq_core.tables.car import Car
from roteq_core.tables.columns import (
    Plan,
    output_columns,
    plan_columns,
    require_centers,
)
from roteq_core.tables.rows import car_from_row, row_from_car
from roteq_core.tables.table import CarTable

_DELIMITERS = (",", ";", "\t")


def parse_csv(text: str) -> CarTable:
    """Read a CSV table; lines before the columns that begin with `# ` are its header.

    A column with the name of an angle must say its convention (docs/formats.md).
    """
    header, body, skipped = _split_header(text)
    delimiter = _delimiter_of(body)
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=delimiter, strict=True)
    try:
        columns = tuple(next(reader, ()))
        plan = _checked_plan(columns)
        cars: list[Car] = []
        for cells in reader:
            if cells:
                where = f"row {len(cars) + 1} (line {reader.line_num + skipped})"
                cars.append(_car(cells, columns, plan, where))
    except csv.Error as error:
        line = reader.line_num + skipped
        raise ValueError(f"line {line}: not CSV: {error}") from error
    _refuse_repeated_ids(cars)
    return CarTable(
        tuple(cars),
        columns,
        "csv",
        header=header,
        notes=plan.notes,
        delimiter=delimiter,
    )


def _split_header(text: str) -> tuple[dict[str, Any], str, int]:
    """Take `# name: value` lines off the top; give how many lines they were."""
    lines = text.splitlines(keepends=True)
    count = 0
    while count < len(lines) and (
        lines[count].startswith("# ") or lines[count].isspace()
    ):
        count += 1
    header: dict[str, Any] = {}
    for line in filter(str.strip, lines[:count]):
        name, colon, value = line[2:].strip().partition(": ")
        if not colon:
            name, value = "comment", line[2:].strip()
        if name in header:
            value = f"{header[name]}\n{value}"
        header[name] = header_value(value)
    return header, "".join(lines[count:]), count


def header_value(value: str) -> Any:
    """Read a header's value: JSON lists and objects as such, all else as text."""
    if value.startswith(("{", "[")):
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            pass
    return value


def _delimiter_of(body: str) -> str:
    first = body.split("\n", 1)[0]
    return max(_DELIMITERS, key=first.count)


def _checked_plan(columns: tuple[str, ...]) -> Plan:
    repeated = sorted({name for name in columns if columns.count(name) > 1})
    if repeated:
        raise ValueError(f"columns must have different names, got {repeated} twice")
    plan = plan_columns(columns)
    require_centers(plan, columns)
    return plan


def _car(cells: list[str], columns: tuple[str, ...], plan: Plan, where: str) -> Car:
    if len(cells) != len(columns):
        raise ValueError(
            f"{where}: a row must have {len(columns)} cells like the header, "
            f"got {len(cells)}"
        )
    try:
        return car_from_row(dict(zip(columns, cells, strict=True)), plan)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _refuse_repeated_ids(cars: list[Car]) -> None:
    rows: dict[str, int] = {}
    for row, car in enumerate(cars, 1):
        if car.id and car.id in rows:
            raise ValueError(
                f"row {row}: car_id must be unique, got {car.id!r} again (first in row "
                f"{rows[car.id]})"
            )
        rows[car.id] = row


def render_csv(table: CarTable) -> str:
    """Write a table as CSV; see `parse_csv`."""
    columns = output_columns(table.cars, table.columns)
    plan = plan_columns(columns)
    stream = io.StringIO(newline="")
    for name, value in table.header.items():
        for line in cell_text(value).splitlines() or [""]:
            stream.write(f"# {name}: {line}\n")
    writer = csv.writer(stream, delimiter=table.delimiter, lineterminator="\n")
    writer.writerow(columns)
    for car in table.cars:
        row = row_from_car(car, plan)
        writer.writerow([cell_text(row.get(column)) for column in columns])
    return stream.getvalue()


def cell_text(value: Any) -> str:
    """Write a value as text: floats exactly, None as nothing, lists as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float):
        return number_text(value)
    return json.dumps(value, ensure_ascii=False)


def number_text(value: float) -> str:
    """Write a float so that reading gives the very same one, whole ones without .0."""
    text = repr(float(value))
    return text[:-2] if text.endswith(".0") else text
