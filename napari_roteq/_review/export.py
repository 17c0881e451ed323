"""Reviewed cars for others: any format, or a set to train on (no Qt)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from napari_roteq._car_export import FORMATS, chosen_file
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
    table: CarTable,
    path: str,
    chosen: str,
    frame: Frame | None,
    own: Path | None = None,
) -> tuple[Path, str]:
    """Write reviewed cars; rejected ones are left out.

    Parameters
    ----------
    table : CarTable
        As reviewed.
    path : str
        A file, or the folder of a training set.
    chosen : str
        One of `FILTERS`; a known ending comes first, see `chosen_file`.
    frame : Frame, optional
        The image, for its size and its name.
    own : Path, optional
        The table under review, which is not overwritten.

    Returns
    -------
    path : Path
        What was written.
    text : str
        What to tell the user.
    """
    if chosen == TRAINING_SET:
        table = named(table, frame)
        check_not_own(Path(path), ".csv", table, own)
        return _export_training_set(table, Path(path))
    file, kind = chosen_file(path, chosen)
    if kind is None:
        raise ValueError(
            f"the ending must be that of a known format, got {file.suffix!r}"
        )
    check_not_own(file, file.suffix, table, own)
    size = None if frame is None else frame.size
    written = export_cars(table, file, format=kind, image_sizes=size)
    kept = len(table.without_rejected())
    return written[0], f"Exported {kept} cars as {file.name}."


def check_not_own(
    path: Path, ending: str, table: CarTable, own: Path | None = None
) -> None:
    """Refuse to write over the table under review, or the files beside it.

    Parameters
    ----------
    path : Path
        A file, or a folder of a file for each image.
    ending : str
        Of the files in such a folder.
    table : CarTable
        What is to be written.
    own : Path, optional
        The table under review.
    """
    if own is None:
        return
    inside = [path / f"{Path(name).stem}{ending}" for name in table.files or ("cars",)]
    for target in (path, *inside):
        if target.exists() and target.samefile(own):
            raise ValueError(f"{target.name}: that is the table under review: use Save")
        is_beside = target.resolve().parent == own.resolve().parent
        if is_beside and target.name.startswith(f"{own.name}."):
            raise ValueError(
                f"{target.name} belongs to the table under review: choose another name"
            )


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
