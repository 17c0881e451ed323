"""Volumes: TIFF, folders, OME-Zarr and plain images, read plane by plane.

A volume is a row of gray planes (Z, H, W) that are read when they are asked for, so
that memory does not grow with the stack. No torch.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

from roteq_core.files.notes import (
    in_one_note,
    note_of_files,
    note_of_sides,
    note_of_stacks,
    note_of_white,
    size_of_all,
    stacks_of,
)
from roteq_core.files.tiff_planes import TiffPlanes
from roteq_core.files.zarr_planes import ZarrPlanes

IMAGE_SUFFIXES = (".tif", ".tiff", ".png", ".jpg", ".jpeg", ".bmp")
_TIFF_SUFFIXES = (".tif", ".tiff")
_ZARR_FILES = ("zarr.json", ".zarray", ".zgroup")


@dataclass
class Volume:
    """Planes of an image file, a folder or a Zarr array.

    Indexing gives a plane: ``volume[3]`` is an array (H, W), in any thread, also of a
    process that was forked off, and after pickling. `depth` are the planes of
    each stack where several follow each other, as time points do. `note` says what a
    person may not expect of how the files were read.
    """

    path: Path
    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    pixel_size_nm: float | None = None
    _read: Callable[[int], Any] = field(default=None, repr=False)  # type: ignore[assignment]
    z_spacing_nm: float | None = None
    note: str = ""
    depth: int | None = None

    def __post_init__(self) -> None:
        if min(self.shape) < 1:
            raise ValueError(f"{self.path} holds no pixels: its shape is {self.shape}")
        if self.dtype.kind not in "biuf":
            raise ValueError(f"pixels of {self.path} must be numbers, got {self.dtype}")

    @property
    def ndim(self) -> int:
        """Three: planes, rows, columns."""
        return 3

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, plane: Any) -> np.ndarray:
        index = self._index(plane)
        if not 0 <= index < len(self):
            raise IndexError(f"{self.path} has planes 0…{len(self) - 1}, got {index}")
        try:
            return to_gray(np.asarray(self._read(index)))
        except MemoryError:
            raise
        except Exception as error:  # every codec raises what it likes
            raise ValueError(
                f"cannot read plane {index} of {self.path}: {error}"
            ) from error

    def _index(self, plane: Any) -> int:
        """Read the number of a plane, which may stand in a tuple of one."""
        given = plane[0] if isinstance(plane, tuple) and len(plane) == 1 else plane
        try:
            return operator.index(given)
        except TypeError:
            raise ValueError(
                f"a volume is indexed by the number of a plane, as in volume[3], got "
                f"{plane!r}; cut out of the plane, or read several with volume.read()"
            ) from None

    def read(self, planes: range | None = None) -> np.ndarray:
        """Read planes, all if not told, as one array (Z, H, W)."""
        wanted = range(len(self)) if planes is None else planes
        return np.stack([self[z] for z in wanted])


def to_gray(plane: np.ndarray) -> np.ndarray:
    """Give a plane (H, W): colors are weighed as the eye does, alpha is dropped.

    Gray that was stored as color keeps its values and number type.
    """
    if plane.ndim == 2:
        return plane
    if plane.ndim == 3 and plane.shape[-1] in (1, 2):
        return plane[..., 0]
    if plane.ndim == 3 and plane.shape[-1] in (3, 4):
        if np.all(plane[..., :2] == plane[..., 1:3]):
            return plane[..., 0]
        weights = np.array([0.299, 0.587, 0.114], np.float32)
        return plane[..., :3].astype(np.float32) @ weights
    raise ValueError(
        f"a plane must be gray (H, W) or color (H, W, 3 or 4), got {plane.shape}"
    )


def open_volume(path: Path | str) -> Volume:
    """Open a TIFF, another image, a folder of images or a Zarr array, lazily."""
    path = Path(path)
    if not path.exists():
        raise ValueError(f"there is no file or folder {path}")
    if path.suffix == ".zarr" or any((path / name).exists() for name in _ZARR_FILES):
        return _open_zarr(path)
    if path.is_dir():
        return _open_folder(path)
    if path.suffix.lower() in _TIFF_SUFFIXES:
        return _open_tiff(path)
    if path.suffix.lower() in IMAGE_SUFFIXES:
        return _open_image(path)
    raise ValueError(
        f"{path} must be a .tif, .png, .jpg or .bmp image, a .zarr array or a folder"
    )


def _open_image(path: Path) -> Volume:
    """Open a PNG, JPEG or BMP by its header; pixels are read when asked for."""
    from imageio import v3 as imageio

    try:
        found = imageio.improps(path)
    except Exception as error:  # every format raises what it likes
        raise ValueError(f"cannot read the image {path}: {error}") from error
    return Volume(
        path,
        (1, found.shape[0], found.shape[1]),
        np.dtype(found.dtype),
        None,
        partial(_read_image, path),
    )


def _read_image(path: Path, _index: int) -> np.ndarray:
    from imageio import v3 as imageio

    return imageio.imread(path)


def _open_tiff(path: Path) -> Volume:
    try:
        planes = TiffPlanes(path)
    except (tifffile.TiffFileError, OSError, IndexError, TypeError) as error:
        raise ValueError(f"cannot read the TIFF {path}: {error}") from error
    depth, note = stacks_of(
        path, planes.lead, planes.times, is_cut_off=planes.is_cut_off
    )
    return _volume_of(
        path, planes, depth, note, note_of_white(path, is_zero=planes.is_white_zero)
    )


def _volume_of(
    path: Path, planes: TiffPlanes | ZarrPlanes, depth: int | None, *notes: str
) -> Volume:
    count, height, width = planes.shape[:3]
    return Volume(
        path,
        (count, height, width),
        planes.dtype,
        planes.pixel_size_nm,
        planes,
        z_spacing_nm=planes.z_spacing_nm,
        note=in_one_note(*notes, note_of_sides(path, planes.pixel_sides_nm)),
        depth=depth,
    )


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sort slice 2 before slice 10."""
    parts = re.split(r"(\d+)", path.name.lower())
    return [(int(part), "") if part.isdigit() else (0, part) for part in parts]


def _open_folder(path: Path) -> Volume:
    files = [p for p in path.iterdir() if p.suffix.lower() in IMAGE_SUFFIXES]
    files = sorted((p for p in files if not p.name.startswith(".")), key=_natural)
    if not files:
        raise ValueError(
            f"the folder {path} holds no images ({', '.join(IMAGE_SUFFIXES)})"
        )
    volumes = [open_volume(file) for file in files]
    _check_alike(volumes)
    first = volumes[0]
    planes = [(volume, index) for volume in volumes for index in range(len(volume))]
    size, size_note = size_of_all(
        path, {volume.path.name: volume.pixel_size_nm for volume in volumes}
    )
    return Volume(
        path,
        (len(planes), *first.shape[1:]),
        first.dtype,
        size,
        partial(_read_of, planes),
        z_spacing_nm=first.z_spacing_nm,
        note=in_one_note(
            note_of_stacks(path, {volume.path.name: len(volume) for volume in volumes}),
            size_note,
            note_of_files([volume.note for volume in volumes]),
        ),
        depth=first.depth if len({volume.depth for volume in volumes}) == 1 else None,
    )


def _check_alike(volumes: list[Volume]) -> None:
    """Refuse files of several sizes or number types, of which no stack can be made."""
    first = volumes[0]
    for volume in volumes:
        if volume.shape[1:] != first.shape[1:]:
            raise ValueError(
                f"images of one stack must have the same size, got {first.shape[1:]} "
                f"in {first.path.name} and {volume.shape[1:]} in {volume.path.name}"
            )
        if volume.dtype.newbyteorder("=") != first.dtype.newbyteorder("="):
            raise ValueError(
                f"images of one stack must have the same number type, got "
                f"{first.dtype} in {first.path.name} and {volume.dtype} in "
                f"{volume.path.name}"
            )


def _read_of(planes: list[tuple[Volume, int]], index: int) -> np.ndarray:
    volume, plane = planes[index]
    return volume[plane]


def _open_zarr(path: Path) -> Volume:
    planes = ZarrPlanes(path)
    depth, note = stacks_of(path, planes.lead, planes.times)
    return _volume_of(path, planes, depth, planes.note, note)
