"""Segment one plane of a file, or a part of it, as the whole would be there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from roteq_core.areas import Area, check_area, with_context
from roteq_core.card import file_hash, find_model
from roteq_core.config import SegmentOptions
from roteq_core.files.volumes import open_volume
from roteq_core.jobs import Job
from roteq_core.membranes.outputs import check_outputs, open_outputs, output_paths
from roteq_core.membranes.segment import SegmentedPlane, Segmenter
from roteq_core.model import warm_model


def iter_segment_part(
    source: Path | str,
    options: SegmentOptions,
    *,
    plane: int = 0,
    area: Area | None = None,
) -> Job[dict[str, np.ndarray]]:
    """Segment one plane of a file, or a part of it; see `Segmenter.iter_plane`.

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
    return kept_maps(result, keep)


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


def kept_maps(result: SegmentedPlane, keep: Area | None) -> dict[str, np.ndarray]:
    """Cut the maps of a plane to the part that was asked for, by name."""
    top, left, bottom, right = keep or (0, 0, *result.probability.shape)
    return {
        name: array[top:bottom, left:right]
        for name, array in vars(result).items()
        if array is not None
    }
