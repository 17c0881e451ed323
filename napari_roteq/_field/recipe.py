"""The recipe of a vector field: the same again from a file (no Qt)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from napari_roteq._images import Index, Planes
from napari_roteq._recipes import Recipe
from napari_roteq._segment.source import Work
from napari_roteq._session import ModelChoice
from roteq_core.card import file_hash
from roteq_core.config import FieldOptions

_DEFAULTS = FieldOptions()
_FLAGS = {
    "model": "--model",
    "layer": "--layer",
    "member": "--member",
    "device": "--device",
    "tile": "--tile",
    "pixel_size_nm": "--pixel-size",
    "car_length_px": "--car-length",
}


def make_recipe(
    path: str | None, work: Work, options: FieldOptions, model: ModelChoice, number: int
) -> Recipe:
    """Say what made the field of a filter.

    Parameters
    ----------
    path : str, optional
        The file of the image.
    work : Work
        Which plane and which part of it.
    options : FieldOptions
    model : ModelChoice
    number : int
        Of the filter.
    """
    if any(step != 1 for step in work.source.planes.step):
        path = None  # files are read at their finest level only
    part: dict[str, Any] = {"plane": plane_number(work.source.planes, work.focus)}
    if (area := work.source.area) is not None:
        part["area"] = (area.top, area.left, area.bottom, area.right)
    return Recipe(
        job="roteq_core.fields.compute:iter_field_part",
        args=(path, options),
        kwargs={**part, "filters": (number,)},
        input=path,
        cli=_command(path, options, part, number),
        model=named_model(model),
    )


def plane_number(planes: Planes, index: Index) -> int:
    """Count a plane through all leading axes, as files are read."""
    number = 0
    for size, place in zip(planes.shape[:-2], index, strict=True):
        number = number * size + place
    return number


def named_model(model: ModelChoice) -> dict[str, str]:
    """Give name and hash of a model."""
    return {"name": model.name, "hash": _hash(model.path)}


@lru_cache
def _hash(path: str) -> str:
    return file_hash(path)


def _command(
    path: str | None, options: FieldOptions, part: dict[str, Any], number: int
) -> tuple[str, ...]:
    """Give the words after `roteq`; what is as by default is left out."""
    output = f"{Path(path or 'image').stem}_field.tif"
    words = ["field", path or "", "--output", output, "--filter", str(number)]
    for name, flag in _FLAGS.items():
        value = getattr(options, name)
        if value != getattr(_DEFAULTS, name):
            words += [flag, str(value)]
    if options.inverted:
        words.append("--inverted")
    words += ["--plane", str(part["plane"])]
    if "area" in part:
        words += ["--area", ",".join(map(str, part["area"]))]
    return tuple(words)
