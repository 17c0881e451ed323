"""Reviewed cars for others: any format, or a set to train on (no Qt)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from napari_roteq._car_export import FORMATS
from napari_roteq._review.frame import Frame
from napari_roteq._segment.source import path_of
from roteq_core.tables import (
    ACCEPTED,
    EDITED,
    CarTable,
    export_cars,
    write_training_set,
)

TRAINING_SET = "Training set (a folder)"
FILTERS = (*FORMATS, TRAINING_SET)


def export_review(
    table: CarTable, path: str, chosen: str, frame: Frame | None
) -> tuple[Path, str]:
    """Write reviewed cars; rejected ones are left out.

    Parameters
    ----------
    table : CarTable
        As reviewed.
    path : str
        A file, or the folder of a training set.
    chosen : str
        One of `FILTERS`; otherwise the ending tells.
    frame : Frame, optional
        The image, for its size and its name.

    Returns
    -------
    path : Path
        What was written.
    text : str
        What to tell the user.
    """
    if chosen == TRAINING_SET:
        return _export_training_set(named(table, frame), Path(path))
    kind, ending = FORMATS.get(chosen) or _by_ending(path)
    file = Path(path) if Path(path).suffix else Path(path + ending)
    size = None if frame is None else frame.size
    written = export_cars(table, file, format=kind, image_sizes=size)
    kept = len(table.without_rejected())
    return written[0], f"Exported {kept} cars as {file.name}."


def _by_ending(path: str) -> tuple[Any, str]:
    suffix = Path(path).suffix.lower() or ".csv"
    for kind, ending in FORMATS.values():
        if ending == suffix:
            return kind, ending
    raise ValueError(f"the ending must be that of a known format, got {suffix!r}")


def named(table: CarTable, frame: Frame | None) -> CarTable:
    """Give cars without one the name of their image, unless the table names several."""
    path = None if frame is None else path_of(frame.layer)
    names = table.files or (() if path is None else (Path(path).name,))
    if len(names) != 1:
        return table
    return table.with_cars(
        replace(car, file=car.file or names[0]) for car in table.cars
    )


def _export_training_set(table: CarTable, folder: Path) -> tuple[Path, str]:
    written = write_training_set(table, folder, statuses=(ACCEPTED, EDITED))
    left_out = sum(written.left_out.values())
    text = f"{written.cars} reviewed cars to train on, {left_out} left out"
    images = " ".join(f"--images {name}" for name in written.images if name)
    command = f"roteq train cars {images or '--images IMAGE'} --cars {folder.name}"
    return folder, f"{text}: {command} --output my_cars.safetensors"
