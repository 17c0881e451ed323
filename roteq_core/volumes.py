"""Volumes: TIFF, folders, OME-Zarr and plain images, read and written plane by plane.

A volume is a row of gray planes (Z, H, W) that are read when they are asked for; what
is written goes out plane by plane too, so that memory does not grow with the stack.
No torch.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

IMAGE_SUFFIXES = (".tif", ".tiff", ".png", ".jpg", ".jpeg", ".bmp")


@dataclass
class Volume:
    """Planes of an image file, a folder or a Zarr array.

    Indexing gives a plane: ``volume[3]`` is an array (H, W).
    """

    path: Path
    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    pixel_size_nm: float | None = None
    _read: Any = field(default=None, repr=False)

    @property
    def ndim(self) -> int:
        """Three: planes, rows, columns."""
        return 3

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, plane: Any) -> np.ndarray:
        index = plane[0] if isinstance(plane, tuple) else plane
        return to_gray(np.asarray(self._read(int(index))))


def to_gray(plane: np.ndarray) -> np.ndarray:
    """Give a plane (H, W): colors are weighed as the eye does, alpha is dropped."""
    if plane.ndim == 2:
        return plane
    if plane.ndim == 3 and plane.shape[-1] in (1, 2):
        return plane[..., 0]
    if plane.ndim == 3 and plane.shape[-1] in (3, 4):
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
    if path.suffix == ".zarr" or (path / "zarr.json").exists():
        return _open_zarr(path)
    if path.is_dir():
        return _open_folder(path)
    if path.suffix.lower() in (".tif", ".tiff"):
        return _open_tiff(path)
    if path.suffix.lower() in IMAGE_SUFFIXES:
        plane = _read_image(path)
        return Volume(
            path, (1, *to_gray(plane).shape), plane.dtype, None, lambda _: plane
        )
    raise ValueError(
        f"{path} must be a .tif, .png, .jpg or .bmp image, a .zarr array or a folder"
    )


def _read_image(path: Path) -> np.ndarray:
    from skimage.io import imread

    try:
        return np.asarray(imread(path))
    except Exception as error:
        raise ValueError(f"cannot read the image {path}: {error}") from error


def _open_tiff(path: Path) -> Volume:
    try:
        with tifffile.TiffFile(path) as tif:
            series = tif.series[0]
            shape, dtype, axes = series.shape, series.dtype, series.axes
            pixel_size = _tiff_pixel_size(tif)
            pages = len(series.pages)
    except (tifffile.TiffFileError, OSError, IndexError) as error:
        raise ValueError(f"cannot read the TIFF {path}: {error}") from error
    colors = 1 if axes.endswith("S") and shape[-1] in (3, 4) else 0
    plane_shape = shape[len(shape) - 2 - colors :]
    count = int(np.prod(shape[: len(shape) - 2 - colors], dtype=int))
    if len(plane_shape) < 2:
        raise ValueError(f"{path} must hold planes (H, W), got shape {shape}")

    if pages == count:  # one page per plane: read just that page

        def read(index: int) -> np.ndarray:
            return np.asarray(tifffile.imread(path, key=index))

    else:
        store = tifffile.memmap if _is_plain(path) else tifffile.imread
        data = store(path).reshape(count, *plane_shape)

        def read(index: int) -> np.ndarray:
            return np.asarray(data[index])

    height, width = plane_shape[:2]
    return Volume(path, (count, height, width), np.dtype(dtype), pixel_size, read)


def _is_plain(path: Path) -> bool:
    with tifffile.TiffFile(path) as tif:
        return bool(tif.series[0].dataoffset)


def _tiff_pixel_size(tif: tifffile.TiffFile) -> float | None:
    """Pixel size in nanometers from our own, ImageJ's or OME's metadata."""
    with contextlib.suppress(ValueError, TypeError, KeyError):
        own = json.loads(tif.pages[0].description)
        return float(own["pixel_size_nm"])
    page = tif.pages[0]
    tag = page.tags.get("XResolution")
    if tag is None or not tag.value[0]:
        return None
    pixels_per_unit = tag.value[0] / tag.value[1]
    unit = (
        ((tif.imagej_metadata or {}).get("unit") or "")
        .encode()
        .decode("unicode_escape", "replace")
    )
    nm_per_unit = {"nm": 1.0, "micron": 1e3, "um": 1e3, "µm": 1e3, "mm": 1e6}
    if unit in nm_per_unit and pixels_per_unit > 0:
        return float(nm_per_unit[unit] / pixels_per_unit)
    return None


def _open_folder(path: Path) -> Volume:
    files = sorted(p for p in path.iterdir() if p.suffix.lower() in IMAGE_SUFFIXES)
    if not files:
        raise ValueError(
            f"the folder {path} holds no images ({', '.join(IMAGE_SUFFIXES)})"
        )
    planes: list[tuple[Volume, int]] = []
    for file in files:
        volume = open_volume(file)
        planes += [(volume, index) for index in range(len(volume))]
    first = planes[0][0]
    for volume, _ in planes:
        if volume.shape[1:] != first.shape[1:]:
            raise ValueError(
                f"images of one stack must have the same size, got {first.shape[1:]} "
                f"in {first.path.name} and {volume.shape[1:]} in {volume.path.name}"
            )
    shape = (len(planes), *first.shape[1:])

    def read(index: int) -> np.ndarray:
        volume, plane = planes[index]
        return volume[plane]

    return Volume(path, shape, first.dtype, first.pixel_size_nm, read)


def _open_zarr(path: Path) -> Volume:
    import zarr

    node = zarr.open(path, mode="r")
    pixel_size = None
    if isinstance(node, zarr.Group):
        node, pixel_size = _first_scale(node, path)
    if node.ndim < 2:
        raise ValueError(f"{path} must hold planes (H, W), got shape {node.shape}")
    lead = node.shape[:-2]
    count = int(np.prod(lead, dtype=int))

    def read(index: int) -> np.ndarray:
        return np.asarray(
            node[(*np.unravel_index(index, lead),)] if lead else node[...]
        )

    return Volume(path, (count, *node.shape[-2:]), node.dtype, pixel_size, read)


def _first_scale(group: Any, path: Path) -> tuple[Any, float | None]:
    """Full-size array of an OME-Zarr group, and its pixel size in nanometers."""
    attributes = dict(group.attrs)
    scales = attributes.get("ome", attributes).get("multiscales")
    if not scales:
        raise ValueError(f"{path} is a Zarr group without OME-Zarr 'multiscales'")
    dataset = scales[0]["datasets"][0]
    size = None
    with contextlib.suppress(KeyError, IndexError, TypeError):
        scale = dataset["coordinateTransformations"][0]["scale"][-1]
        unit = scales[0]["axes"][-1].get("unit", "")
        size = float(scale) * {"nanometer": 1.0, "micrometer": 1e3}[unit]
    return group[dataset["path"]], size


@contextlib.contextmanager
def write_planes(
    path: Path | str,
    *,
    pixel_size_nm: float | None = None,
    recipe: dict[str, Any] | None = None,
    axes: str = "ZYX",
) -> Iterator[Any]:
    """Write planes to a TIFF one by one; gives a function that takes a plane.

    The file appears under its name only when all is written. Pixel size and recipe go
    into the description of the first page, as JSON.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    meta = {"axes": axes, "pixel_size_nm": pixel_size_nm, "roteq": recipe or {}}
    options: dict[str, Any] = {"photometric": "minisblack", "metadata": None}
    if pixel_size_nm:
        per_cm = 1e7 / pixel_size_nm
        options |= {"resolution": (per_cm, per_cm), "resolutionunit": "CENTIMETER"}
    first = True
    try:
        with tifffile.TiffWriter(partial, bigtiff=True) as tif:

            def write(plane: np.ndarray) -> None:
                nonlocal first
                text = json.dumps(meta) if first else None
                tif.write(plane, description=text, **options)
                first = False

            yield write
        os.replace(partial, path)
    except OSError as error:
        raise OSError(f"could not write {path}: {error}") from error
    finally:
        partial.unlink(missing_ok=True)


def read_recipe(path: Path | str) -> dict[str, Any]:
    """Read the recipe that `write_planes` left in a TIFF."""
    with tifffile.TiffFile(path) as tif:
        try:
            return dict(json.loads(tif.pages[0].description)["roteq"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} carries no recipe") from error
