"""The recipe of headings: the same again from files (no Qt)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from napari_roteq._recipes import Call, Recipe
from napari_roteq._segment.source import path_of
from napari_roteq._session import ModelChoice
from roteq_core.card import file_hash
from roteq_core.config import FindOptions, OrientOptions
from roteq_core.tables import Car, CarTable

_ORIENT = {
    "model": "--model",
    "car_length_px": "--car-length",
    "pixel_size_m": "--pixel-size",
    "copies": "--copies",
    "batch": "--batch",
    "device": "--device",
}
_NO_FILE = (
    "the cars must be in a file to be named in a command: export them, choose “A table "
    "in a file” and run again"
)
_FIND = {
    "model": "--model",
    "threshold": "--threshold",
    "car_length_px": "--car-length",
    "pixel_size_m": "--pixel-size",
    "tile": "--tile",
    "device": "--device",
}


def orient_recipe(
    image: Any, cars: CarTable | str, options: OrientOptions, model: ModelChoice
) -> Recipe:
    """Say what made headings of known cars; `cars` is their table or its file."""
    path = _flat_path(image)
    cli: tuple[str, ...] = ()
    if path is not None and isinstance(cars, str):
        cli = _orient_words(path, cars, options)
    given = cars if isinstance(cars, str) else _places(cars)
    return Recipe(
        job="roteq_core.cars.orient:iter_orient",
        args=(path, given, options),
        input=path,
        cli=cli,
        no_cli=_NO_FILE,
        model=_named(model),
    )


def _orient_words(path: str, cars: str, options: OrientOptions) -> tuple[str, ...]:
    redo = ("--redo-reviewed",) if options.redo_reviewed else ()
    words = _words(options, _ORIENT)
    return ("orient", path, cars, "--output", _output(path), *words, *redo)


def find_recipe(
    image: Any, finding: FindOptions, options: OrientOptions, model: ModelChoice
) -> Recipe:
    """Say what found cars and made their headings."""
    path = _flat_path(image)
    is_plain = options == OrientOptions(
        device=options.device,
        car_length_px=options.car_length_px,
        pixel_size_m=options.pixel_size_m,
    )
    cli: tuple[str, ...] = ()
    then: tuple[str, ...] = ()
    if path is not None:
        words = _words(finding, _FIND)
        cli = ("find-cars", path, "--output", _output(path), *words)
        if not is_plain:  # that command has no other heading options: take two
            cli = (*cli, "--no-orient")
            then = _orient_words(path, _output(path), options)
    image_file = path if path is None else _read(path)
    return Recipe(
        job="roteq_core.serving.cars:iter_find_and_orient",
        args=(image_file, finding, options),
        input=path,
        cli=cli,
        then=then,
        model=_named(model),
    )


def _read(path: str) -> Any:
    return Call("roteq_core.cars.orient:read_image", (path,))


def _flat_path(image: Any) -> str | None:
    """Give the file of an image; None for a stack, which the core does not read."""
    return path_of(image) if image.ndim == 2 else None


def _places(table: CarTable) -> CarTable:
    """Keep what the headings depend on."""
    return CarTable(
        tuple(Car(car.cx, car.cy, car.length, car.width) for car in table.cars)
    )


def _words(options: Any, names: dict[str, str]) -> tuple[str, ...]:
    """Spell the options that are not the default."""
    default = type(options)()
    words: list[str] = []
    for name, word in names.items():
        value = getattr(options, name)
        if value != getattr(default, name):
            words += [word, str(value)]
    return tuple(words)


def _output(path: str) -> str:
    return f"{Path(path).stem}_cars.csv"


def _named(model: ModelChoice) -> dict[str, str]:
    return {"name": model.name, "hash": file_hash(model.path)}
