"""Tables of many images as folders: one file an image."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from roteq_core.tables.car import Car, CornerOrder
from roteq_core.tables.files import SIDECAR_SUFFIX, summarize, write_atomically
from roteq_core.tables.formats import read_cars, write_cars
from roteq_core.tables.table import CarTable, Format, stem_of
from roteq_core.tables.yolo_obb import class_names_of

SUFFIXES: dict[Format, str] = {
    "csv": ".csv",
    "geojson": ".geojson",
    "dota": ".txt",
    "yolo-obb": ".txt",
    "voc-labelimg2": ".xml",
    "voc-rolabelimg": ".xml",
}
SUMMARY = "summary.json"
CLASSES = "classes.txt"
_BY_FILE = "by_file"
ImageSizes = tuple[int, int] | Mapping[str, tuple[int, int]] | None


def read_car_folder(
    folder: str | os.PathLike[str],
    *,
    format: Format | None = None,
    image_sizes: ImageSizes = None,
    corner_order: CornerOrder | None = None,
    class_names: Sequence[str] | None = None,
) -> CarTable:
    """Read every table of a folder into one.

    A car whose file does not name its image gets the file's name without ending.

    Parameters
    ----------
    folder : path
        With one or more tables.
    format, corner_order, class_names
        As in `read_cars`; class names are found in `classes.txt` if there is one.
    image_sizes : (int, int) or mapping, optional
        Height and width of all images, or of each by its name without ending.
    """
    folder = Path(folder)
    if class_names is None and (folder / CLASSES).is_file():
        class_names = (folder / CLASSES).read_text(encoding="utf-8").split("\n")
        class_names = [name for name in class_names if name]
    tables: dict[str, CarTable] = {}
    for path in sorted(p for p in folder.iterdir() if _is_table(p)):
        table = read_cars(
            path,
            format=format,
            image_size=size_for(path.name, image_sizes),
            corner_order=corner_order,
            class_names=class_names,
        )
        tables[path.name] = table.with_cars(
            replace(car, file=car.file or path.stem) for car in table.cars
        )
    return _joined(tables)


def _is_table(path: Path) -> bool:
    name = path.name.lower()
    kinds = {*SUFFIXES.values(), ".tsv", ".json"}
    is_other = name in (SUMMARY, CLASSES) or name.startswith(".")
    return path.suffix.lower() in kinds and not (
        is_other or name.endswith(SIDECAR_SUFFIX)
    )


def size_for(name: str, sizes: ImageSizes) -> tuple[int, int] | None:
    """Find the size of one image."""
    if not isinstance(sizes, Mapping):
        return sizes
    by_stem = {stem_of(key): size for key, size in sizes.items()}
    return by_stem.get(stem_of(name))


def _joined(tables: Mapping[str, CarTable]) -> CarTable:
    """Put tables one after the other; ids that repeat get their file's name."""
    counts = Counter(car.id for table in tables.values() for car in table.cars)
    cars: list[Car] = []
    for name, table in tables.items():
        for car in table.cars:
            is_repeated = bool(car.id) and counts[car.id] > 1
            cars.append(replace(car, id=f"{name}:{car.id}") if is_repeated else car)
    headers = {name: dict(table.header) for name, table in tables.items()}
    formats = {table.format for table in tables.values() if len(table)}
    notes = [f"{name}: {note}" for name, t in tables.items() for note in t.notes]
    return CarTable(
        tuple(cars),
        tuple(dict.fromkeys(name for t in tables.values() for name in t.columns)),
        formats.pop() if len(formats) == 1 else None,
        header={_BY_FILE: headers} if any(headers.values()) else {},
        notes=tuple(notes),
    )


def write_car_folder(
    table: CarTable,
    folder: str | os.PathLike[str],
    *,
    format: Format,
    image_sizes: ImageSizes = None,
    class_names: Sequence[str] | None = None,
    sidecar: bool = True,
) -> tuple[Path, ...]:
    """Write a table as one file for each of its images, named after the image.

    Parameters
    ----------
    table : CarTable
        Every car with a `file`, unless there is but one image: then `cars` is the name.
    folder : path
        Made if need be.
    format : str
        One of `FORMATS`.
    image_sizes : (int, int) or mapping, optional
        For YOLO-OBB, as in `read_car_folder`.
    class_names, sidecar
        As in `write_cars`. Classes are numbered alike in all files, and listed in
        `classes.txt`.

    Returns
    -------
    tuple of Path
        The tables written.
    """
    folder = Path(folder)
    parts = _by_image(table)
    folder.mkdir(parents=True, exist_ok=True)
    if format == "yolo-obb":
        class_names = class_names or class_names_of(table)
        if class_names:
            write_atomically(folder / CLASSES, "\n".join([*class_names, ""]).encode())
    paths = []
    for name, part in parts.items():
        paths.append(folder / f"{name}{SUFFIXES[format]}")
        write_cars(
            part,
            paths[-1],
            format=format,
            image_size=size_for(name, image_sizes) or part.image_size,
            class_names=class_names,
            sidecar=sidecar,
        )
    return tuple(paths)


def _by_image(table: CarTable) -> dict[str, CarTable]:
    """Split a table by image; the keys are the images' names without ending."""
    if not table.files:
        return {"cars": table}
    nameless = [_place_of(car) for car in table.cars if not car.file]
    if nameless:
        raise ValueError(
            f"every car must name its file, got none in {summarize(nameless)}"
        )
    stems = Counter(stem_of(file) for file in table.files)
    twice = [stem for stem, count in stems.items() if count > 1]
    if twice:
        raise ValueError(
            f"images must have different names without ending, got {summarize(twice)}"
        )
    headers = table.header.get(_BY_FILE, {})
    header_of = {stem_of(name): header for name, header in headers.items()}
    common = {k: v for k, v in table.header.items() if k != _BY_FILE}
    grouped: dict[str, list[Car]] = {file: [] for file in table.files}
    for car in table.cars:
        grouped[car.file].append(car)
    return {
        stem_of(file): replace(
            table,
            cars=tuple(cars),
            header={**common, **header_of.get(stem_of(file), {})},
        )
        for file, cars in grouped.items()
    }


def _place_of(car: Car) -> str:
    return car.id or f"the car at x {car.cx:.0f}, y {car.cy:.0f}"
