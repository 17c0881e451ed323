"""The file beside a DOTA or YOLO text: everything that those formats cannot hold.

The text file stays as other tools want it. `NAME.txt.roteq.csv` holds the same cars
with all their columns; a line of the text that is still word for word what we would
write for one of these cars *is* that car. A line that another tool changed is not, and
is read as foreign.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from roteq_core.tables.car import Car
from roteq_core.tables.table import CarTable

LineOf = Callable[[Car], str]


def match_lines(
    lines: Sequence[str], beside: CarTable, line_of: LineOf
) -> dict[int, Car]:
    """Find the cars whose lines are unchanged.

    Parameters
    ----------
    lines : sequence of str
        The objects of the text file.
    beside : CarTable
        Read from the file beside it.
    line_of : function
        How a car is written in the text's format.

    Returns
    -------
    dict
        Index of a line to its car.
    """
    waiting: defaultdict[str, list[Car]] = defaultdict(list)
    for car in beside.cars:
        if car.has_box:
            waiting[line_of(car)].append(car)
    matched = {}
    for index, line in enumerate(lines):
        cars = waiting.get(" ".join(line.split()))
        if cars:
            matched[index] = cars.pop(0)
    return matched


def merged(foreign: CarTable, beside: CarTable, matched: dict[int, Car]) -> CarTable:
    """Put the matched cars in the place of their lines; say what did not match."""
    cars = tuple(matched.get(i, car) for i, car in enumerate(foreign.cars))
    notes = foreign.notes if len(matched) < len(cars) else ()
    changed, lost = len(cars) - len(matched), len(beside) - len(matched)
    if changed or lost:
        notes = (
            *notes,
            f"{changed} lines were changed since the file beside was written and "
            f"{lost} of its cars are gone",
        )
    return replace(
        foreign,
        cars=cars,
        columns=beside.columns,
        header={**beside.header, **foreign.header},
        notes=notes,
    )
