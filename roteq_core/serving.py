"""Jobs that the viewer asks of its compute process; models stay loaded between them.

What they give is plain: dictionaries, arrays and numbers, which the viewer reads
without importing torch.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from roteq_core.areas import Area, check_area, with_context
from roteq_core.card import file_hash, find_model
from roteq_core.cells import cells_from_membranes
from roteq_core.config import SegmentOptions
from roteq_core.fill import outside_of
from roteq_core.jobs import Job, Report
from roteq_core.model import Model, load_model
from roteq_core.normalize import Normalization
from roteq_core.segment import SegmentedPlane, Segmenter
from roteq_core.segment_outputs import check_outputs, open_outputs, output_paths
from roteq_core.volumes import open_volume


def iter_segment_plane(
    given: tuple[np.ndarray, Normalization, Area | None], options: SegmentOptions
) -> Job[dict[str, np.ndarray]]:
    """Segment one plane.

    Parameters
    ----------
    given : array of shape (H, W), Normalization, Area or None
        The raw plane, how its whole image is normalized, and the part to keep; see
        `with_context`.
    options : SegmentOptions

    Returns
    -------
    dict of arrays of shape (H, W)
        "probability" and, as asked, "angle", "strength" and "cells"; see
        `SegmentedPlane`.
    """
    plane, normalization, keep = given
    yield Report(0, 0, "loading the model")
    segmenter = Segmenter(options, warm_model(options.model, "membranes"))
    result = yield from segmenter.iter_plane(plane, normalization)
    return _maps(result, keep)


def iter_segment_part(
    source: Path | str,
    options: SegmentOptions,
    *,
    plane: int = 0,
    area: Area | None = None,
) -> Job[dict[str, np.ndarray]]:
    """Segment one plane of a file, or a part of it; see `iter_segment_plane`.

    Parameters
    ----------
    source : path
        A file or folder that `open_volume` reads.
    options : SegmentOptions
    plane : int
        Which plane, counted from 0 through all leading axes.
    area : (int, int, int, int), optional
        Top, left, bottom and right of the part.
    """
    volume = open_volume(source)
    if not 0 <= plane < len(volume):
        raise ValueError(f"plane must lie in 0…{len(volume) - 1}, got {plane}")
    pixels, keep = volume[plane], None
    if area is not None:
        check_area(area, pixels.shape)
        (top, left, bottom, right), keep = with_context(area, pixels.shape)
        pixels = pixels[top:bottom, left:right]
    segmenter = Segmenter(options, warm_model(options.model, "membranes"))
    normalization = segmenter.normalization(volume)
    result = yield from segmenter.iter_plane(pixels, normalization)
    return _maps(result, keep)


def iter_segment_part_file(
    source: Path | str,
    output: Path | str,
    options: SegmentOptions,
    *,
    plane: int = 0,
    area: Area | None = None,
) -> Job[list[Path]]:
    """Segment one plane of a file, or a part of it, into TIFF files.

    See `iter_segment_part` for the parameters and `iter_segment_file` for the files.
    """
    volume = open_volume(source)
    paths = output_paths(Path(output), options)
    check_outputs(Path(source), paths)
    segmenter = Segmenter(options, warm_model(options.model, "membranes"))
    segmenter.check_pixel_size()
    segmenter.model_hash = file_hash(find_model(options.model))
    size = options.pixel_size_nm or volume.pixel_size_nm
    about: dict[str, Any] = {
        "pixel_size_nm": size,
        "z_spacing_nm": volume.z_spacing_nm,
        "recipe": segmenter.recipe(
            source=Path(source).name, pixel_size_nm=size, plane=plane, area=area
        ),
    }
    maps = yield from iter_segment_part(source, options, plane=plane, area=area)
    contents = {"probability": maps["probability"], "cells": maps.get("cells")}
    if options.direction:
        contents["direction"] = np.stack([maps["angle"], maps["strength"]])
    with open_outputs(paths, 1, **about) as writers:
        for name, write in writers.items():
            write(np.asarray(contents[name]))
    return list(paths.values())


def _maps(result: SegmentedPlane, keep: Area | None) -> dict[str, np.ndarray]:
    top, left, bottom, right = keep or (0, 0, *result.probability.shape)
    return {
        name: array[top:bottom, left:right]
        for name, array in vars(result).items()
        if array is not None
    }


def cut_cells(probability: np.ndarray, threshold: float) -> np.ndarray:
    """Cut cells (H, W) from the probability of a `SegmentedPlane`."""
    outside = outside_of(probability)
    return cells_from_membranes(probability, threshold=threshold, outside=outside)


def describe_model(name_or_path: str) -> dict[str, Any]:
    """Load a model, which runs its self-test, and say what its card does not.

    Returns
    -------
    dict
        `reach` (pixels around a pixel that its answer depends on), `stride`, `hash`,
        and for each network the `shapes` of its weights by name.
    """
    model = warm_model(name_or_path)
    networks: list[Any] = model.networks
    return {
        "reach": max(int(getattr(network, "reach", 0)) for network in networks),
        "stride": max(int(getattr(network, "stride", 1)) for network in networks),
        "hash": file_hash(find_model(name_or_path)),
        "shapes": [
            {name: tuple(weight.shape) for name, weight in network.named_parameters()}
            for network in networks
        ],
    }


def warm_model(name_or_path: str, task: str | None = None) -> Model:
    """Load a model, or give the one loaded before if its file has not changed."""
    path = find_model(name_or_path).resolve()
    return _load(path, path.stat().st_mtime_ns, task)


@lru_cache(maxsize=4)
def _load(path: Path, _changed: int, task: str | None) -> Model:
    return load_model(path, task=task)
