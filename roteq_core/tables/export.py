"""Reviewed cars for others: copies in any format, and sets to train on."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from roteq_core.tables.car import REJECTED, Car
from roteq_core.tables.files import write_atomically
from roteq_core.tables.folders import SUMMARY, ImageSizes, size_for, write_car_folder
from roteq_core.tables.formats import ONE_IMAGE_FORMATS, write_cars
from roteq_core.tables.table import CONVENTION, CarTable, Format


def export_cars(
    table: CarTable,
    path: str | os.PathLike[str],
    *,
    format: Format,
    image_sizes: ImageSizes = None,
    class_names: Sequence[str] | None = None,
    include_rejected: bool = False,
) -> tuple[Path, ...]:
    """Write reviewed cars for other programs, a copy in any format.

    Parameters
    ----------
    table : CarTable
        As reviewed.
    path : path
        A file; or a folder, if the format holds one image a file and the table several.
    format : str
        One of `FORMATS`.
    image_sizes, class_names
        As in `write_car_folder`.
    include_rejected : bool
        Write rejected cars too; formats without a status would show them as cars.

    Returns
    -------
    tuple of Path
        What was written, but for the files beside.
    """
    if not include_rejected:
        table = table.without_rejected()
    if format in ONE_IMAGE_FORMATS and len(table.files) > 1:
        return write_car_folder(
            table,
            path,
            format=format,
            image_sizes=image_sizes,
            class_names=class_names,
        )
    path = Path(path)
    size = size_for((*table.files, path.name)[0], image_sizes)
    write_cars(table, path, format=format, image_size=size, class_names=class_names)
    return (path,)


@dataclass(frozen=True)
class TrainingSet:
    """What a training set holds.

    Parameters
    ----------
    cars : int
        In all images.
    images : dict
        The CSV file of each image and its number of cars.
    left_out : dict
        Why cars were left out, and how many.
    """

    cars: int
    images: dict[str, tuple[str, int]]
    left_out: dict[str, int]


def write_training_set(
    table: CarTable,
    folder: str | os.PathLike[str],
    *,
    statuses: Sequence[str] | None = None,
) -> TrainingSet:
    """Write the cars one may learn from: a CSV for each image, and a summary.

    Rejected cars and cars whose front is not known are left out.

    Parameters
    ----------
    table : CarTable
        As reviewed.
    folder : path
        Made if need be.
    statuses : sequence of str, optional
        Keep these alone, such as `("accepted", "edited")`.
    """
    reasons = [_reason_against(car, statuses) for car in table.cars]
    pairs = zip(table.cars, reasons, strict=True)
    kept = table.with_cars(car for car, reason in pairs if not reason)
    kept = replace(kept, delimiter=",")
    paths = write_car_folder(kept, folder, format="csv")
    counts = Counter(car.file for car in kept.cars)
    names = kept.files or ("",)
    result = TrainingSet(
        len(kept),
        {n: (p.name, counts[n]) for n, p in zip(names, paths, strict=True)},
        dict(Counter(reason for reason in reasons if reason)),
    )
    write_atomically(Path(folder) / SUMMARY, _summary_text(result).encode())
    return result


def _reason_against(car: Car, statuses: Sequence[str] | None) -> str:
    if car.status == REJECTED:
        return REJECTED
    if car.heading_cw_from_up_deg is None:
        return "no heading"
    if statuses is not None and car.status not in statuses:
        return f"status {car.status!r}"
    return ""


def _summary_text(result: TrainingSet) -> str:
    images: list[dict[str, Any]] = [
        {"file": file, "csv": csv, "cars": cars}
        for file, (csv, cars) in result.images.items()
    ]
    summary = {
        "convention": CONVENTION,
        "cars": result.cars,
        "images": images,
        "left_out": result.left_out,
    }
    return json.dumps(summary, ensure_ascii=False, indent=1) + "\n"
