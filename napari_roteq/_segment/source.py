"""What to segment: which planes of a layer, which part of them, how gray (no Qt)."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from napari_roteq._images import (
    Area,
    Index,
    Planes,
    current_index,
    planes_of,
    visible_area,
)
from roteq_core.areas import with_context
from roteq_core.files.pixel_size import square_side
from roteq_core.files.volumes import to_gray
from roteq_core.normalize import Normalization, fit_normalization

Part = Literal["current slice", "visible area", "whole stack"]
PARTS: tuple[Part, ...] = ("current slice", "visible area", "whole stack")
_NANOMETERS = {"nanometer": 1.0, "micrometer": 1e3, "millimeter": 1e6, "angstrom": 0.1}
_ENOUGH = 2**24  # pixels of a plane above which a coarser level gives the statistics


@dataclass(frozen=True)
class Source:
    """The planes of a layer as gray arrays, normalized alike.

    Parameters
    ----------
    planes : Planes
        Of the level that is segmented.
    coarse : Planes
        Of the level whose gray values are looked at; the same unless that is huge.
    area : Area, optional
        The part of each plane; the whole if not given.
    """

    planes: Planes
    coarse: Planes
    area: Area | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of what `read` gives."""
        return (self.area or self.planes.whole).shape

    def read(self, index: Index, *, inverted: bool) -> tuple[np.ndarray, Normalization]:
        """Read a plane (H, W) and how to normalize it; slow, for a thread."""
        plane = _gray(self.planes.read(index, self.area))
        return plane, replace(self._statistics, inverted=inverted)

    def read_around(
        self, index: Index, *, inverted: bool
    ) -> tuple[np.ndarray, Normalization, tuple[int, int, int, int] | None]:
        """Read a plane with what counts around the area; see `around`."""
        area, keep = self.around()
        plane = _gray(self.planes.read(index, area))
        return plane, replace(self._statistics, inverted=inverted), keep

    def around(self) -> tuple[Area | None, tuple[int, int, int, int] | None]:
        """What must be read for the area, and where the area is in that.

        See `with_context`; the whole plane has nothing around it.
        """
        if self.area is None:
            return None, None
        read, keep = with_context(astuple(self.area), self.planes.whole.shape)
        return Area(*read), keep

    @cached_property
    def _statistics(self) -> Normalization:
        """Center, spread and fill of the whole image, found once."""
        grays = _GrayStack(self.coarse)
        return fit_normalization(grays if grays.shape[:-2] else grays[()])


class _GrayStack:
    """Planes that look like an array whose leading axes can be indexed."""

    def __init__(self, planes: Planes) -> None:
        self._planes = planes
        self.shape = planes.shape
        self.ndim = len(planes.shape)

    def __getitem__(self, index: Any) -> np.ndarray:
        return _gray(self._planes.read(tuple(int(i) for i in index)))


def _gray(plane: np.ndarray) -> np.ndarray:
    """Weigh colors (3, H, W) as the command line does."""
    return plane if plane.ndim == 2 else to_gray(np.moveaxis(plane, 0, -1))


def source_of(layer: Any, level: int = 0, area: Area | None = None) -> Source:
    """Say how to read an Image layer."""
    planes = planes_of(layer, level)
    coarse = planes
    levels = len(layer.data) if layer.multiscale else 1
    for coarser in range(level + 1, levels):
        if np.prod(coarse.shape[-2:]) <= _ENOUGH:
            break
        coarse = planes_of(layer, coarser)
    return Source(planes, coarse, area)


@dataclass(frozen=True)
class Work:
    """What one press of the button does: the source and the planes of it, in order."""

    part: Part
    source: Source
    indices: tuple[Index, ...]
    focus: Index


def plan_work(viewer: Any, layer: Any, part: Part, level: int = 0) -> Work:
    """Say which planes, and which part of them, a choice means in the present view."""
    planes = planes_of(layer, level)
    focus = current_index(viewer, layer, planes)
    area = visible_area(viewer, layer, planes) if part == "visible area" else None
    indices = tuple(planes.indices()) if part == "whole stack" else (focus,)
    return Work(part, source_of(layer, level, area), indices, focus)


def pixel_size_nm(layer: Any, level: int = 0) -> float | None:
    """Give the size of a pixel in nanometers, if the layer's units tell it.

    Pixels that are not square, see `square_side`, have none.
    """
    factors = [_NANOMETERS.get(str(unit)) for unit in layer.units[-2:]]
    height, width = (
        None if factor is None else float(abs(size)) * factor
        for size, factor in zip(layer.scale[-2:], factors, strict=True)
    )
    if height is None or width is None:
        return None
    side = square_side((height, width))
    step = planes_of(layer, level).step[-1]
    return None if side is None else round(side * step, 6)


def path_of(layer: Any) -> str | None:
    """Give the file a layer was opened from, if there is one."""
    path = layer.source.path or layer.metadata.get("path")
    return None if path is None else str(path)
