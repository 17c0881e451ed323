"""The planes of a Zarr array, plain or of OME-Zarr, read one at a time. No torch.

Arrays that name their axes are read by these names: OME-Zarr's, the dimension names of
Zarr 3, and what xarray writes. Else rows and columns stand last, or before the colors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from roteq_core.files.pixel_size import square_side, zarr_pixel_sides
from roteq_core.files.z_spacing import zarr_z_spacing

_COLORS = (3, 4)
_KINDS = {"time": "t", "channel": "c"}


class ZarrPlanes:
    """Planes of a Zarr array.

    Parameters
    ----------
    path : path

    Attributes
    ----------
    shape : (int, ...)
        Planes, rows and columns, and colors if there are any.
    dtype : np.dtype
    pixel_size_nm, z_spacing_nm : float or None
        Of pixels that are not square there is no size.
    pixel_sides_nm : (float, float) or None
        Height and width of a pixel.
    times : int
        Time points, whose planes follow each other; 1 where they do not.
    lead : tuple of int
        Sizes of the axes that planes are counted through.
    note : str
        What was made out of axes without names.
    """

    def __init__(self, path: Path):
        self._array, scale = _open(path)
        shape = self._array.shape
        if len(shape) < 2:
            raise ValueError(f"{path} must hold planes (H, W), got shape {shape}")
        axes, is_guess = _axes_of(self._array, scale)
        self.note = _colors_note(path, shape) if is_guess and axes[-1] == "c" else ""
        self._inner = _inner_axes(axes, shape)
        self._outer = [axis for axis in range(len(axes)) if axis not in self._inner]
        self.lead = tuple(shape[axis] for axis in self._outer)
        outer = [axes[axis] for axis in self._outer]
        _check_channels(path, shape, axes, outer)
        count = int(np.prod(self.lead, dtype=int))
        self.shape = (count, *(shape[axis] for axis in self._inner))
        self.dtype = np.dtype(self._array.dtype)
        self.times = self.lead[0] if outer[:1] == ["t"] else 1
        self.pixel_sides_nm = self.z_spacing_nm = None
        if scale is not None:
            self.pixel_sides_nm = zarr_pixel_sides(scale, self._inner[:2])
            self.z_spacing_nm = zarr_z_spacing(scale)
        self.pixel_size_nm = square_side(self.pixel_sides_nm)

    def __call__(self, index: int) -> np.ndarray:
        """Read a plane (H, W) or (H, W, C)."""
        place: list[Any] = [slice(None)] * self._array.ndim
        found = np.unravel_index(index, self.lead) if self.lead else ()
        for axis, number in zip(self._outer, found, strict=True):
            place[axis] = int(number)
        plane = np.asarray(self._array[tuple(place)])
        return plane.transpose(np.argsort(np.argsort(self._inner)))


def _open(path: Path) -> tuple[Any, dict[str, Any] | None]:
    """Open an array, or the full-size one of an OME-Zarr group and what it says."""
    import zarr

    try:
        node = zarr.open(path, mode="r")
    except Exception as error:  # zarr raises many kinds
        raise ValueError(f"cannot read the Zarr {path}: {error}") from error
    if not isinstance(node, zarr.Group):
        return node, None
    attributes = dict(node.attrs)
    scales: Any = attributes.get("ome", attributes)
    scales = scales.get("multiscales")
    if not scales:
        raise ValueError(f"{path} is a Zarr group without OME-Zarr 'multiscales'")
    return node[scales[0]["datasets"][0]["path"]], scales[0]


def _axes_of(array: Any, scale: dict[str, Any] | None) -> tuple[list[str], bool]:
    """Give the names of axes, and whether they are guessed.

    Rows are y and columns x; time is t and channels are c, whatever their names.
    """
    names = getattr(array.metadata, "dimension_names", None)
    names = names or array.attrs.get("_ARRAY_DIMENSIONS") or ()
    if scale is not None:
        names = scale.get("axes") or names
    axes = [_axis_name(axis) for axis in names]
    if len(axes) == array.ndim and all(axes.count(name) == 1 for name in "yx"):
        return axes, False
    if scale is not None and len(axes) == array.ndim:
        return [*axes[:-2], "y", "x"], True
    return _usual_axes(array.shape, is_plain=scale is None), True


def _axis_name(axis: Any) -> str:
    if isinstance(axis, dict):
        axis = _KINDS.get(str(axis.get("type")), axis.get("name"))
    return str(axis).lower()


def _usual_axes(shape: tuple[int, ...], *, is_plain: bool) -> list[str]:
    """Say what the axes of an array are that does not name them.

    Three or four columns are colors, unless there are no more rows or planes.
    """
    is_color = is_plain and len(shape) > 2 and shape[-1] in _COLORS
    if is_color and min(shape[-3:-1]) > shape[-1]:
        return [*[""] * (len(shape) - 3), "y", "x", "c"]
    return [*[""] * (len(shape) - 2), "y", "x"]


def _colors_note(path: Path, shape: tuple[int, ...]) -> str:
    return (
        f"{path} was read as color and made gray, since its last axis has {shape[-1]} "
        f"entries (shape {shape}); an array that names its axes (y, x) is read by them"
    )


def _inner_axes(axes: list[str], shape: tuple[int, ...]) -> list[int]:
    """Give the axes of a plane: rows, columns, and colors if they stand last."""
    inner = [axes.index("y"), axes.index("x")]
    has_colors = axes[-1] == "c" and shape[-1] in _COLORS
    return [*inner, len(axes) - 1] if has_colors else inner


def _check_channels(
    path: Path, shape: tuple[int, ...], axes: list[str], outer: list[str]
) -> None:
    """Refuse channels behind the columns or beside other planes; else they are slices.

    `outer` are the axes that planes are counted through.
    """
    if "c" not in outer:
        return
    channels = shape[axes.index("c")]
    others = [
        size for name, size in zip(axes, shape, strict=True) if name not in ("c", *"yx")
    ]
    if channels > 1 and (axes[-1] == "c" or max(others, default=1) > 1):
        raise ValueError(
            f"{path} has {channels} channels (shape {shape}): save the channel "
            "that shows membranes as an array of its own"
        )
