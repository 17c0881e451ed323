"""From a napari layer to planes of numpy, and back to the place where they lie (no Qt).

Everything napari can show is read plane by plane: the last two axes are the plane, the
axes before them the *index* of the plane. Lazy data (dask, zarr) is only touched where
it is read. Jobs are given `Planes`, never a layer.
"""

from __future__ import annotations

import itertools
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import zarr
from napari.utils.transforms import Affine

Index = tuple[int, ...]
_GRAY = np.array([0.2125, 0.7154, 0.0721])  # how bright red, green and blue look
_LARGE = 2**29  # bytes above which results are kept on disk
_folders: list[tempfile.TemporaryDirectory] = []  # removed when the program ends


@dataclass(frozen=True)
class Area:
    """The pixels [top, bottom) × [left, right) of a plane."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.bottom - self.top, self.right - self.left

    @property
    def slices(self) -> tuple[slice, slice]:
        """For indexing the last two axes."""
        return slice(self.top, self.bottom), slice(self.left, self.right)


@dataclass(frozen=True)
class Planes:
    """The planes of a layer's data, read one at a time.

    Parameters
    ----------
    array : array-like of shape (..., H, W) or (..., H, W, 3 or 4)
        Anything numpy can index and convert.
    is_rgb : bool
        Whether the last axis holds colors.
    step : tuple of float
        Pixels of the full image for each pixel of `array`, one for each axis of the
        layer; all 1 unless a coarser level of a multiscale image was chosen.
    """

    array: Any
    is_rgb: bool
    step: tuple[float, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (..., H, W), without colors."""
        shape = tuple(int(size) for size in self.array.shape)
        return shape[:-1] if self.is_rgb else shape

    @property
    def whole(self) -> Area:
        """All of a plane."""
        return Area(0, 0, *self.shape[-2:])

    def indices(self) -> list[Index]:
        """Give the index of every plane; an image has one, `()`."""
        return list(itertools.product(*map(range, self.shape[:-2])))

    def read(self, index: Index = (), area: Area | None = None) -> np.ndarray:
        """Read one plane into memory.

        Parameters
        ----------
        index : tuple of int
            Which plane.
        area : Area, optional
            Which part of it; the whole by default.

        Returns
        -------
        array of shape (H, W), or (3, H, W) for colors
            Native byte order, contiguous; bool as uint8, half precision as float32.
        """
        rows, columns = (area or self.whole).slices
        plane = np.asarray(self.array[(*index, rows, columns)])
        if self.is_rgb:
            plane = np.moveaxis(plane[..., :3], -1, 0)  # without alpha
        return np.ascontiguousarray(plane, dtype=_computable(plane.dtype))


def _computable(dtype: np.dtype) -> np.dtype:
    if dtype.kind == "b":
        return np.dtype(np.uint8)
    if dtype == np.float16:
        return np.dtype(np.float32)
    return dtype.newbyteorder("=")


def planes_of(layer: Any, level: int = 0) -> Planes:
    """Give the planes of an Image or Labels layer; `level` counts from the finest."""
    levels = list(layer.data) if layer.multiscale else [layer.data]
    if not 0 <= level < len(levels):
        raise ValueError(
            f"level must be in 0…{len(levels) - 1} for {layer.name}, got {level}"
        )
    if layer.ndim < 2:
        raise ValueError(f"{layer.name} must have two axes or more, got {layer.ndim}")
    full, chosen = levels[0].shape[: layer.ndim], levels[level].shape[: layer.ndim]
    step = tuple(float(a / b) for a, b in zip(full, chosen, strict=True))
    return Planes(levels[level], bool(getattr(layer, "rgb", False)), step)


def level_names(layer: Any) -> list[str]:
    """Name the levels of a layer for a menu, by their rows × columns."""
    levels = list(layer.data) if layer.multiscale else [layer.data]
    shapes = [level.shape[layer.ndim - 2 : layer.ndim] for level in levels]
    return [f"{height} × {width}" for height, width in shapes]


def fit_channels(plane: np.ndarray, channels: int) -> np.ndarray:
    """Give a plane the number of channels a model expects, 1 or 3.

    Parameters
    ----------
    plane : array of shape (H, W) or (C, H, W)
        As `Planes.read` gives it.
    channels : int
        1 turns colors into gray, 3 repeats gray three times.

    Returns
    -------
    array of shape (H, W) for one channel, else (channels, H, W)
    """
    found = 1 if plane.ndim == 2 else plane.shape[0]
    if found == channels:
        return plane.reshape(plane.shape[-2:]) if channels == 1 else plane
    if (found, channels) == (3, 1):
        return np.tensordot(_GRAY, plane, 1).astype(np.float32)
    if (found, channels) == (1, 3):
        return np.repeat(plane.reshape(1, *plane.shape[-2:]), 3, axis=0)
    raise ValueError(f"the model expects {channels} channels, the image has {found}")


def current_index(viewer: Any, layer: Any, planes: Planes) -> Index:
    """Give the index, within `planes`, of the plane of `layer` that is in view."""
    inside = np.asarray(layer.world_to_data(viewer.dims.point))
    level_inside = (inside + 0.5) / planes.step - 0.5
    leading = np.rint(level_inside)[:-2].astype(int)
    last = np.array(planes.shape[:-2], int) - 1
    return tuple(int(i) for i in np.clip(leading, 0, last))


def visible_area(viewer: Any, layer: Any, planes: Planes) -> Area:
    """Give the part of the plane of `layer` that the canvas shows."""
    rows_columns = []
    factors = layer.downsample_factors[layer.data_level][-2:] / planes.step[-2:]
    shown = {axis - viewer.dims.ndim for axis in viewer.dims.displayed}
    for axis in (-2, -1):
        size = planes.shape[axis]
        first, last = layer.corner_pixels[:, axis] * factors[axis]
        if axis not in shown:  # the stack is seen from the side
            first, last = 0, size
        rows_columns.append(_clipped(first, last + factors[axis], size))
    (top, bottom), (left, right) = rows_columns
    if bottom - top < 2 or right - left < 2:
        raise ValueError(
            f"{layer.name} must be in view, but it lies outside the canvas"
        )
    return Area(top, left, bottom, right)


def _clipped(first: float, last: float, size: int) -> tuple[int, int]:
    return max(0, int(np.floor(first))), min(size, int(np.ceil(last)))


def transform_of(
    layer: Any,
    *,
    area: Area | None = None,
    index: Index | None = None,
    step: tuple[float, ...] | None = None,
) -> dict[str, Any]:
    """Say where a result lies in the world, as keywords for a new layer.

    Good for Image, Labels, Vectors, Shapes and Points of the same number of axes.

    Parameters
    ----------
    layer : Layer
        The source. Its scale, translate, rotate, shear, affine, units and axis labels
        are carried over.
    area : Area, optional
        The result's first pixel is the area's, counted in pixels of the result.
    index : tuple of int, optional
        The result's first plane is this one: for a stack with a single plane.
    step : tuple of float, optional
        `Planes.step`, for the result of a coarser level.

    Returns
    -------
    dict
        Keywords scale, translate, rotate, shear, affine, units, axis_labels.
    """
    factor = np.ones(layer.ndim) if step is None else np.asarray(step)
    first = np.zeros(layer.ndim)
    if index is not None:
        first[:-2] = index
    if area is not None:
        first[-2:] = area.top, area.left
    # A coarse pixel is centered on the fine ones it covers.
    offset = factor * first + (factor - 1) / 2
    to_physical = Affine(
        scale=layer.scale, rotate=layer.rotate, shear=layer.shear, ndim=layer.ndim
    )
    return {
        "scale": layer.scale * factor,
        "translate": layer.translate + to_physical.linear_matrix @ offset,
        "rotate": layer.rotate,
        "shear": layer.shear,
        "affine": layer.affine.affine_matrix,
        "units": layer.units,
        "axis_labels": layer.axis_labels,
    }


def empty_result(shape: tuple[int, ...], dtype: Any) -> Any:
    """Make a zero array for results that come plane by plane.

    Up to half a GiB it is numpy; beyond, a temporary zarr array with a chunk for each
    plane, so that a huge stack needs no memory for what nobody looks at.
    """
    if int(np.prod(shape)) * np.dtype(dtype).itemsize <= _LARGE:
        return np.zeros(shape, dtype)
    folder = tempfile.TemporaryDirectory(prefix="roteq-", suffix=".zarr")
    _folders.append(folder)
    chunks = (1,) * (len(shape) - 2) + tuple(min(size, 1024) for size in shape[-2:])
    return zarr.create_array(store=folder.name, shape=shape, dtype=dtype, chunks=chunks)
