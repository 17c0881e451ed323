"""How a plane is read for a model: gray, or in color where it looks at colors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from napari_roteq._images import Area, Index
from napari_roteq._segment.source import Source
from napari_roteq._session import ModelChoice
from roteq_core.normalize import Normalization

Given = tuple[np.ndarray, Normalization]
GivenAround = tuple[np.ndarray, Normalization, tuple[int, int, int, int] | None]


def wants_colors(model: ModelChoice) -> bool:
    """Whether a model looks at colors."""
    networks = model.card.get("networks") or [{}]
    is_cars = model.card.get("task") in ("cars", "car-finder")
    return is_cars and networks[0].get("in_maps") == 3


def reader(
    source: Source, model: ModelChoice, *, inverted: bool
) -> Callable[[Any], Given]:
    """Give a function that reads a plane and how it is normalized; for a thread.

    A plane is (H, W), or (H, W, 3) in color.
    """

    def read(index: Index) -> Given:
        if not (source.planes.is_rgb and wants_colors(model)):
            return source.read(index, inverted=inverted)
        return _colors(source, index, source.area, inverted=inverted)

    return read


def reader_around(
    source: Source, model: ModelChoice, *, inverted: bool
) -> Callable[[Any], GivenAround]:
    """Like `reader`, with what counts around an area, and where the area is in it."""

    def read(index: Index) -> GivenAround:
        if not (source.planes.is_rgb and wants_colors(model)):
            return source.read_around(index, inverted=inverted)
        area, keep = source.around()
        return *_colors(source, index, area, inverted=inverted), keep

    return read


def _colors(
    source: Source, index: Index, area: Area | None, *, inverted: bool
) -> Given:
    """Read a plane (H, W, 3), which a model normalizes by itself."""
    colors = source.planes.read(index, area)
    plane = np.ascontiguousarray(np.moveaxis(colors, 0, -1))
    return plane, Normalization(0.0, 1.0, inverted)
