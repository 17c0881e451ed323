"""The planes of a TIFF, read one at a time and never written. No torch."""

from __future__ import annotations

import json
import math
import os
import struct
import threading
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

from roteq_core.files.pixel_size import square_side, tiff_pixel_sides
from roteq_core.files.z_spacing import tiff_z_spacing

# Kinds of series that are all there is in a file: plain pages, or arrays one by one.
_PLAIN_KINDS = ("uniform", "generic", "shaped")


class TiffPlanes:
    """Planes of a TIFF; series of equal planes are one stack.

    Each thread of each process reads through a file handle of its own, so that planes
    may be read anywhere, also after a fork; pickled, it is its path.

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
    is_cut_off : bool
        Whether more pages may have followed, beyond the end of the file.
    is_white_zero : bool
        Whether viewers show small numbers bright; they are not changed here.
    lead : tuple of int
        Sizes of the axes that planes are counted through.
    """

    def __init__(self, path: Path):
        self._path = path
        self._open = threading.local()
        self._stored: dict[int, Any] = {}
        self._places: list[tuple[int, int]] = []  # series and plane in it
        with tifffile.TiffFile(path) as tif:
            first = tif.series[0]
            plane_shape = _planes_of(first.shape, first.axes, path)[1]
            for number in _same_series(tif, path):
                series = tif.series[number]
                count = _planes_of(series.shape, series.axes, path)[0]
                self._places += [(number, plane) for plane in range(count)]
                # Several planes in a page, as ImageJ writes beyond 4 GB.
                if len(series.pages) != count and series.dataoffset is not None:
                    self._stored[number] = self._mapped(number, (count, *plane_shape))
                elif len(series.pages) != count:
                    self._stored[number] = None
                is_mapped = self._stored.get(number) is not None
                _check_pages(series, is_mapped=is_mapped)
            self.is_cut_off = _is_cut_off(tif)
            photometric = first.keyframe.photometric
            self.is_white_zero = photometric == tifffile.PHOTOMETRIC.MINISWHITE
            self.shape = (len(self._places), *plane_shape)
            self.dtype = np.dtype(first.dtype)
            is_one = len(self._places) == _planes_of(first.shape, first.axes, path)[0]
            lead = first.shape[: len(first.shape) - len(plane_shape)]
            self.lead = tuple(lead) if is_one else (len(self._places),)
            self.times = lead[0] if is_one and first.axes[0] == "T" else 1
            self.pixel_sides_nm = tiff_pixel_sides(tif)
            self.pixel_size_nm = square_side(self.pixel_sides_nm)
            self.z_spacing_nm = tiff_z_spacing(tif)

    def __call__(self, index: int) -> np.ndarray:
        """Read a plane (H, W) or (H, W, C)."""
        series, plane = self._places[index]
        if series in self._stored:
            return np.asarray(self._part(series, plane))
        handle = self._handle()
        page: Any = handle.file.series[series].pages[plane]
        return np.asarray(page.asarray())

    def __reduce__(self) -> tuple[type[TiffPlanes], tuple[Path]]:
        return TiffPlanes, (self._path,)

    def _handle(self) -> _Handle:
        """Give the handle of this thread; a fork shares the place in an open file.

        One plane needs no file that stays open: folders hold thousands of such files.
        """
        if len(self._places) == 1:
            return _Handle(self._path)
        handle: _Handle | None = getattr(self._open, "handle", None)
        if handle is None or handle.process != os.getpid():
            handle = self._open.handle = _Handle(self._path)
        return handle

    def _mapped(self, series: int, shape: tuple[int, ...]) -> Any:
        try:
            stored = tifffile.memmap(self._path, series=series, mode="r")
        except ValueError as error:
            raise OSError(f"the file is cut off ({error})") from error
        return stored.reshape(shape)

    def _part(self, series: int, plane: int) -> Any:
        """Read a plane of a page that holds several, and no other."""
        stored = self._stored[series]
        if stored is None:
            handle = self._handle()
            stored = handle.array(series)
        lead = stored.shape[: stored.ndim - len(self.shape) + 1]
        return stored[np.unravel_index(plane, lead)]


class _Handle:
    """A TIFF as one thread of one process has it open."""

    def __init__(self, path: Path):
        self.process = os.getpid()
        self.file = tifffile.TiffFile(path)
        self._arrays: dict[int, Any] = {}

    def array(self, series: int) -> Any:
        """Give a series as an array of which parts can be read."""
        import zarr

        if series not in self._arrays:
            store: Any = self.file.series[series].aszarr(level=0)
            self._arrays[series] = zarr.open_array(store, mode="r")
        return self._arrays[series]

    def __del__(self) -> None:
        if hasattr(self, "file"):
            self.file.close()


def _check_pages(series: tifffile.TiffPageSeries, *, is_mapped: bool) -> None:
    """Refuse a file that ends before the last of the pages it says it has."""
    page: Any = series.keyframe
    said = json.loads(page.shaped_description)["shape"] if page.is_shaped else []
    if math.prod(said) > series.size:
        raise OSError(
            f"the file is cut off: it says that its shape is {tuple(said)}, and has "
            f"{series.shape}"
        )
    if is_mapped:
        return  # the pixels follow each other, whatever pages there are
    count = len(series.pages)
    try:
        is_whole = series.pages[count - 1] is not None
    except IndexError:
        is_whole = False
    if not is_whole or count * page.size < series.size:
        raise OSError(f"the file is cut off: it lacks pages of {series.shape}")


def _is_cut_off(tif: tifffile.TiffFile) -> bool:
    """Whether the last page points to another that lies beyond the end of the file."""
    last: Any = tif.pages[-1]
    layout, file = tif.tiff, tif.filehandle
    file.seek(last.offset)
    tags = struct.unpack(layout.tagnoformat, file.read(layout.tagnosize))[0]
    file.seek(last.offset + layout.tagnosize + tags * layout.tagsize)
    following = file.read(layout.offsetsize)
    if len(following) < layout.offsetsize:
        return True
    return bool(struct.unpack(layout.offsetformat, following)[0] >= file.size)


def _planes_of(
    shape: tuple[int, ...], axes: str, path: Path
) -> tuple[int, tuple[int, ...]]:
    """Count planes, and give the shape of one.

    Colors stand last. Components stored one after the other are slices: that is how
    stacks of three or four slices are often written.
    """
    inner = 3 if axes.endswith("S") else 2
    if len(shape) < inner:
        raise ValueError(f"{path} must hold planes (H, W), got shape {shape}")
    lead = dict(zip(axes[:-inner], shape[:-inner], strict=False))
    others = [n for axis, n in lead.items() if axis != "C" and n > 1]
    if lead.get("C", 1) > 1 and others:
        raise ValueError(
            f"{path} has {lead['C']} channels (axes {axes}, shape {shape}): save the "
            "channel that shows membranes as a file of its own"
        )
    count = int(np.prod(shape[:-inner], dtype=int))
    return count, shape[-inner:]


def _same_series(tif: tifffile.TiffFile, path: Path) -> list[int]:
    """Give the numbers of the series that make one stack.

    A file of pages of several sizes, of which most would go unseen, is refused.
    """
    first = tif.series[0]
    chosen = [0]
    if first.kind not in _PLAIN_KINDS:
        return chosen
    plane_shape = _planes_of(first.shape, first.axes, path)[1]
    for number, other in enumerate(tif.series[1:], 1):
        if bool(getattr(other.keyframe, "is_reduced", False)):
            continue  # a small copy
        size = _planes_of(other.shape, other.axes, path)[1]
        if (size, other.dtype) != (plane_shape, first.dtype):
            raise ValueError(
                "pages of one stack must have the same size and number type, got "
                f"{first.keyframe.shape} {first.dtype} and {other.keyframe.shape} "
                f"{other.dtype} in {path}"
            )
        chosen.append(number)
    return chosen
