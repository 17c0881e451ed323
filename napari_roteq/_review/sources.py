"""What can be reviewed: boxes of a layer, tables, reviews left unfinished (no Qt)."""

from __future__ import annotations

import getpass
import itertools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from napari_roteq._car_shapes import TABLE, cars_in_shapes
from napari_roteq._headings.cars import cars_of_layer
from napari_roteq._images import Index
from napari_roteq._review.frame import Frame
from napari_roteq._review.journal import JournalError, journal_path
from napari_roteq._review.queue import ReviewQueue
from napari_roteq._review.recovery import Unfinished, find_unfinished
from napari_roteq._segment.source import path_of
from napari_roteq._settings import read_settings
from roteq_core.tables import CarTable, box_corners

_REVIEWED = "roteq review"  # in a layer's metadata: table file and table
_JOURNALS = "*" + journal_path(Path("x")).name[1:]
_PACKAGE = Path(__file__).resolve().parents[1]


def default_reviewer() -> str:
    """Give the name in the settings, else that of the login."""
    try:
        return read_settings().reviewer or getpass.getuser()
    except (OSError, KeyError, ImportError):  # a login without a name
        return ""


def table_file(layer: Any) -> Path | None:
    """Give the table that a layer of boxes was read from, or was last reviewed as."""
    if layer is None or TABLE not in layer.metadata:
        return None
    file, table = layer.metadata.get(_REVIEWED, (layer.source.path, None))
    if table is not None and table is not layer.metadata[TABLE]:
        return None  # a model has filled the layer anew since
    return Path(file) if file and Path(file).is_file() else None


def mark_file(layer: Any, path: Path) -> None:
    """Note in a layer of boxes which table they are."""
    table = layer.metadata.get(TABLE)
    layer.metadata = {**layer.metadata, _REVIEWED: (str(path), table)}


def cars_of_boxes(layer: Any, image: Any, index: Index) -> CarTable:
    """Give the boxes of a layer as cars of an image, or of the layer's own pixels."""
    if image is not None:
        return cars_of_layer(layer, image, index)
    table = layer.metadata.get(TABLE)
    if table is None or "car" not in layer.features:
        return cars_of_layer(layer, layer, index)
    return cars_in_shapes(layer.data, dict(layer.features), table)


def suggest_file(image: Any, layer: Any) -> Path:
    """Give a new file for cars that are in none: beside the image, else at home."""
    path = None if image is None else path_of(image)
    name = Path(path).stem if path else str((image or layer).name)
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name) or "cars"
    folder = Path(path).resolve().parent if path else Path.home()
    if not os.access(folder, os.W_OK) or _is_ours(folder):
        folder = Path.home()
    for count in itertools.count(1):
        number = "" if count == 1 else f"-{count}"
        file = folder / f"{safe}_cars{number}.csv"
        if not file.exists() and not journal_path(file).exists():
            return file
    raise AssertionError


def _is_ours(folder: Path) -> bool:
    """Whether a folder belongs to the installed package, samples included."""
    samples = (_PACKAGE / "sample_data").resolve()
    return _PACKAGE in (folder, *folder.parents) or samples in (folder, *folder.parents)


def unfinished_reviews(viewer: Any, recent: Iterable[str]) -> list[Unfinished]:
    """Look for reviews that were not saved: recent ones, and those beside layers."""
    tables = {Path(path) for path in recent}
    for layer in viewer.layers:
        path = layer.source.path or layer.metadata.get("path")
        if path and Path(path).parent.is_dir():
            journals = Path(path).parent.glob(_JOURNALS)
            ending = len(_JOURNALS) - 1
            tables |= {file.with_name(file.name[:-ending]) for file in journals}
    found = []
    for table in sorted(tables):
        try:
            unfinished = find_unfinished(table) if table.is_file() else None
        except (JournalError, OSError):
            continue  # said when the table is opened
        if unfinished is not None:
            found.append(unfinished)
    return found


def reading_options(frame: Frame | None) -> dict[str, Any]:
    """Give what some formats must know to be read."""
    size = None if frame is None else frame.size
    return {} if size is None else {"image_size": size}


def file_in_table(table: CarTable, frame: Frame) -> str | None:
    """Give an image's name as a table of several images has it; None if of one."""
    if len(table.files) < 2:
        return None
    name = Path(path_of(frame.layer) or frame.layer.name).name
    own = table.for_image(name).files
    if not own:
        raise ValueError(
            f"the table must name the image {name}, it names {', '.join(table.files)}"
        )
    return own[0]


def take_over_boxes(queue: ReviewQueue, layer: Any) -> int:
    """Bring into a review what was done to the boxes since their file was read.

    Parameters
    ----------
    queue : ReviewQueue
        Of the layer's own file, with nothing done yet.
    layer : Shapes
        As it is now.

    Returns
    -------
    int
        How many actions that took.
    """
    known = layer.metadata[TABLE]
    drawn = cars_in_shapes(layer.data, dict(layer.features), known)
    numbers = np.asarray(layer.features.get("car", ()), float)
    ids = [car.id for car in queue.cars()]
    seen: set[int] = set()
    moved: dict[str | int, np.ndarray] = {}
    actions = 0
    for row, car in enumerate(drawn.cars[: len(layer.data)]):
        number = _number(numbers, row, len(known))
        if number is None or number in seen:
            queue.add(car)
            actions += 1
            continue
        seen.add(number)
        if car != known.cars[number] and number < len(ids):
            moved[ids[number]] = box_corners(car)
    if moved and queue.apply_external_all(moved) is not None:
        actions += 1
    gone = [
        ids[number]
        for number, car in enumerate(known.cars[: len(ids)])
        if car.has_box and number not in seen
    ]
    if gone:
        queue.delete_all(gone)
        actions += 1
    return actions


def _number(numbers: np.ndarray, row: int, count: int) -> int | None:
    """Give the car that a box was drawn from, if it was."""
    if row >= len(numbers) or not np.isfinite(numbers[row]):
        return None
    return int(numbers[row]) if 0 <= numbers[row] < count else None
