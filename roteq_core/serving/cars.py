"""Jobs on cars that the viewer asks of its compute process.

They report the cars as they are done, so that what is finished survives a stop.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from roteq_core.cars.filled import notes_now
from roteq_core.cars.find_cars import iter_find_cars
from roteq_core.cars.orient import iter_orient
from roteq_core.cars.sizes import car_lengths
from roteq_core.config import FindOptions, OrientOptions
from roteq_core.jobs import Job, Report
from roteq_core.tables import CarTable

_PARTS = 10  # a part reads the image anew, so there are few


def iter_orient_cars(
    image: np.ndarray, table: CarTable, options: OrientOptions
) -> Job[CarTable]:
    """Fill in headings part by part; the result is that of `iter_orient`.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 3) or (H, W, 4)
    table : CarTable
    options : OrientOptions

    Yields
    ------
    Report
        Counted in cars. With every finished part `values` brings "table": all cars,
        those that are not done yet as they were given.
    """
    count = len(table)
    lengths, note = car_lengths(table.cars, options)
    step = max(options.batch, -(-count // _PARTS), 1)
    cars = list(table.cars)
    for first in range(0, count, step):
        here = slice(first, first + step)
        part = replace(table.with_cars(cars[here]), notes=())
        own = _with_length(options, part, lengths[here])
        job = iter_orient(image, part, own)
        cars[here] = (yield from _as_part(job, first, count)).cars
        done = min(first + step, count)
        values = {"table": table.with_cars(cars)}
        yield Report(done, count, f"car {done} of {count}", values)
    return replace(table.with_cars(cars), notes=notes_now(table.notes, note))


def _with_length(
    options: OrientOptions, part: CarTable, lengths: np.ndarray
) -> OrientOptions:
    """Give cars without a length the one that was assumed for the whole table."""
    for car, length in zip(part.cars, lengths.tolist(), strict=True):
        if car.length is None:
            return replace(options, car_length_px=length)
    return options


def _as_part(job: Job[CarTable], first: int, count: int) -> Job[CarTable]:
    """Report the progress of a part as that of the whole table."""
    while True:
        try:
            report = next(job)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        done = first + report.done
        text = f"car {done} of {count}" if report.done else report.text
        yield Report(done, count, text)


def iter_find_and_orient(
    image: np.ndarray, finding: FindOptions, options: OrientOptions
) -> Job[CarTable]:
    """Find cars, then let the heading model look at each as `iter_orient_cars` does.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 3) or (H, W, 4)
    finding : FindOptions
        How to find them; its heading model is not used.
    options : OrientOptions
        How to tell where they point.
    """
    found = yield from iter_find_cars(image, replace(finding, orient=False))
    yield Report(0, len(found), f"{len(found)} cars found", {"table": found})
    return (yield from iter_orient_cars(image, found, options))
