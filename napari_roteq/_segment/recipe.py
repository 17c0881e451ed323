"""The recipe of a segmentation: the same again from a file (no Qt)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from napari_roteq._recipes import Recipe
from napari_roteq._segment.source import Work
from napari_roteq._session import ModelChoice
from roteq_core.card import file_hash
from roteq_core.config import SegmentOptions

_DEFAULTS = SegmentOptions()


def make_recipe(
    path: str | None, work: Work, options: SegmentOptions, model: ModelChoice
) -> Recipe:
    """Say what made a result.

    Parameters
    ----------
    path : str, optional
        The file of the image.
    work : Work
        Which planes and which part of them.
    options : SegmentOptions
    model : ModelChoice
    """
    if any(step != 1 for step in work.source.planes.step):
        path = None  # files are read at their finest level only
    named = {"name": model.name, "hash": _hash(model.path)}
    if work.part == "whole stack":
        args: tuple[Any, ...] = (path, _output(path), options)
        kwargs: dict[str, Any] = {}
        address = "roteq_core.membranes.segment:iter_segment_file"
    else:
        args, kwargs = (path, options), _part(work)
        address = "roteq_core.membranes.segment_part:iter_segment_part"
    return Recipe(
        job=address,
        args=args,
        kwargs=kwargs,
        input=path,
        cli=_command(path, options, kwargs),
        model=named,
    )


@lru_cache
def _hash(path: str) -> str:
    return file_hash(path)


def _output(path: str | None) -> str:
    return f"{Path(path or 'image').stem}_membranes.tif"


def _part(work: Work) -> dict[str, Any]:
    """Name the plane by its place in the file, and the area if it is not all."""
    number = 0
    for size, index in zip(work.source.planes.shape[:-2], work.focus, strict=True):
        number = number * size + index
    part: dict[str, Any] = {"plane": number}
    if (area := work.source.area) is not None:
        part["area"] = (area.top, area.left, area.bottom, area.right)
    return part


def _command(
    path: str | None, options: SegmentOptions, part: dict[str, Any]
) -> tuple[str, ...]:
    """Give the words after `roteq`; what is as by default is left out."""
    words = ["segment", path or "", "--output", _output(path)]
    flags = {
        "model": "--model",
        "device": "--device",
        "tile": "--tile",
        "turns": "--tta",
        "threshold": "--threshold",
        "pixel_size_nm": "--pixel-size",
        "join": "--join",
    }
    for name, flag in flags.items():
        value = getattr(options, name)
        if value != getattr(_DEFAULTS, name):
            words += [flag, str(value)]
    for name in ("cells", "direction", "inverted"):
        if getattr(options, name):
            words.append(f"--{name}")
    if not options.close:
        words.append("--no-close")
    if "plane" in part:
        words += ["--plane", str(part["plane"])]
    if "area" in part:
        words += ["--area", ",".join(map(str, part["area"]))]
    return tuple(words)
