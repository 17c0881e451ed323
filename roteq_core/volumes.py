"""Volumes: TIFF, folders, OME-Zarr and plain images, read plane by plane.

A volume is a row of gray planes (Z, H, W) that are read when they are asked for, so
that memory does not grow with the stack. No torch.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

from roteq_core.pixel_size import tiff_pixel_size, zarr_pixel_size

IMAGE_SUFFIXES = (".tif", ".tiff", ".png", ".jpg", ".jpeg", ".bmp")
_TIFF_SUFFIXES = (".tif", ".tiff")
_ZARR_FILES = ("zarr.json", ".zarray", ".zgroup")


@dataclass
class Volume:
    """Planes of an image file, a folder or a Zarr array.

    Indexing gives a plane: ``volume[3]`` is an array (H, W).
    """

    path: Path
    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    pixel_size_nm: float | None = None
    _read: Callable[[int], Any] = field(default=None, repr=False)  # type: ignore[assignment]

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
        index = int(plane[0] if isinstance(plane, tuple) else plane)
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
        lambda _: imageio.imread(path),
    )


class _TiffPages:
    """Read one page at a time, through one open file."""

    def __init__(self, path: Path):
        self._path = path
        self._file: tifffile.TiffFile | None = None

    def __call__(self, index: int) -> np.ndarray:
        if self._file is None:
            self._file = tifffile.TiffFile(self._path)
        page: Any = self._file.series[0].pages[index]
        return np.asarray(page.asarray())

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()


def _open_tiff(path: Path) -> Volume:
    try:
        with tifffile.TiffFile(path) as tif:
            series = tif.series[0]
            _check_one_series(tif, path)
            shape, dtype, axes = series.shape, np.dtype(series.dtype), series.axes
            is_contiguous = series.dataoffset is not None
            pages = len(series.pages)
            pixel_size = tiff_pixel_size(tif)
    except (tifffile.TiffFileError, OSError, IndexError, TypeError) as error:
        raise ValueError(f"cannot read the TIFF {path}: {error}") from error
    count, plane_shape = _tiff_planes(shape, axes, path)
    if pages == count:
        read: Callable[[int], np.ndarray] = _TiffPages(path)
    else:  # several planes in a page, as ImageJ writes stacks beyond 4 GB
        whole = tifffile.memmap(path) if is_contiguous else tifffile.imread(path)
        read = whole.reshape(count, *plane_shape).__getitem__
    height, width = plane_shape[:2]
    return Volume(path, (count, height, width), dtype, pixel_size, read)


def _tiff_planes(
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


def _check_one_series(tif: tifffile.TiffFile, path: Path) -> None:
    """Refuse a file of pages of several sizes, of which most would go unseen."""
    first = tif.series[0]
    for other in tif.series[1:]:
        is_small_copy = bool(getattr(other.keyframe, "is_reduced", False))
        if not is_small_copy and first.kind in ("uniform", "generic"):
            raise ValueError(
                "pages of one stack must have the same size and number type, got "
                f"{first.keyframe.shape} {first.dtype} and {other.keyframe.shape} "
                f"{other.dtype} in {path}"
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
    first = volumes[0]
    for volume in volumes:
        if volume.shape[1:] != first.shape[1:]:
            raise ValueError(
                f"images of one stack must have the same size, got {first.shape[1:]} "
                f"in {first.path.name} and {volume.shape[1:]} in {volume.path.name}"
            )
    planes = [(volume, index) for volume in volumes for index in range(len(volume))]

    def read(index: int) -> np.ndarray:
        volume, plane = planes[index]
        return volume[plane]

    shape = (len(planes), *first.shape[1:])
    return Volume(path, shape, first.dtype, first.pixel_size_nm, read)


def _open_zarr(path: Path) -> Volume:
    import zarr

    try:
        node = zarr.open(path, mode="r")
    except Exception as error:  # zarr raises many kinds
        raise ValueError(f"cannot read the Zarr {path}: {error}") from error
    pixel_size, channels = None, 1
    if isinstance(node, zarr.Group):
        node, pixel_size, channels = _first_scale(node, path)
    if node.ndim < 2:
        raise ValueError(f"{path} must hold planes (H, W), got shape {node.shape}")
    lead = node.shape[:-2]
    count = int(np.prod(lead, dtype=int))
    if channels > 1 and count > channels:
        raise ValueError(
            f"{path} has {channels} channels (shape {node.shape}): save the channel "
            "that shows membranes as an array of its own"
        )

    def read(index: int) -> Any:
        place: Any = np.unravel_index(index, lead) if lead else ...
        return node[place]

    shape = (count, *node.shape[-2:])
    return Volume(path, shape, np.dtype(node.dtype), pixel_size, read)


def _first_scale(group: Any, path: Path) -> tuple[Any, float | None, int]:
    """Full-size array of an OME-Zarr group, its pixel size and channels."""
    attributes = dict(group.attrs)
    scales = attributes.get("ome", attributes).get("multiscales")
    if not scales:
        raise ValueError(f"{path} is a Zarr group without OME-Zarr 'multiscales'")
    array = group[scales[0]["datasets"][0]["path"]]
    kinds = [a.get("type") for a in scales[0].get("axes", []) if isinstance(a, dict)]
    channels = array.shape[kinds.index("channel")] if "channel" in kinds else 1
    return array, zarr_pixel_size(scales[0]), channels
