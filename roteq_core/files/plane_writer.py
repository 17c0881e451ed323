"""Write TIFF stacks plane by plane, with pixel size and recipe. No torch.

The file appears under its name only when it is whole: a full disk, an error or a stop
leaves nothing behind, and what was there before stays.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

from roteq_core.files.whole_file import in_words

# Classic TIFF ends at 4 GB; some room for tags.
_CLASSIC_LIMIT = 2**32 - 2**25


@contextlib.contextmanager
def write_planes(
    path: Path | str,
    planes: int,
    *,
    pixel_size_nm: float | None = None,
    z_spacing_nm: float | None = None,
    recipe: dict[str, Any] | None = None,
    channels: bool = False,
) -> Iterator[Callable[[np.ndarray], None]]:
    """Write planes to a TIFF one by one; gives a function that takes a plane.

    Parameters
    ----------
    path : path
    planes : int
        How many there will be. One makes an image, several a stack.
    pixel_size_nm, z_spacing_nm : float, optional
        Side of a pixel, and from one slice to the next.
    recipe : dict, optional
        Goes into the description of the first page, as JSON; paths become text.
    channels : bool
        Whether a plane has shape (C, H, W) rather than (H, W).
    """
    path = Path(path)
    meta = {"pixel_size_nm": pixel_size_nm, "z_spacing_nm": z_spacing_nm}
    writer = _Writer(path, planes, {**meta, "roteq": recipe or {}}, channels)
    try:
        yield writer.write
        writer.finish()
    finally:
        writer.discard()


class _Writer:
    """A TIFF in the making, under a name of its own."""

    def __init__(self, path: Path, planes: int, meta: dict[str, Any], channels: bool):
        self.path, self.planes, self.written = path, planes, 0
        self.meta = meta
        self.axes = "CYX" if channels else "YX"
        self.options: dict[str, Any] = {"photometric": "minisblack", "metadata": None}
        if meta["pixel_size_nm"]:
            per_cm = 1e7 / meta["pixel_size_nm"]
            self.options["resolution"] = (per_cm, per_cm)
            self.options["resolutionunit"] = "CENTIMETER"
        self.partial = path.with_name(path.name + ".partial")
        self.file: tifffile.TiffWriter | None = None

    def write(self, plane: np.ndarray) -> None:
        if plane.ndim != len(self.axes):
            raise ValueError(
                f"a plane must have axes {self.axes}, got shape {plane.shape}"
            )
        with self._named_errors():
            text = None
            if self.file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                big = plane.nbytes * self.planes > _CLASSIC_LIMIT
                self.file = tifffile.TiffWriter(self.partial, bigtiff=big)
                text = self._description(plane.shape)
            self.file.write(plane, description=text, **self.options)
        self.written += 1

    def _description(self, shape: tuple[int, ...]) -> str:
        # "shape" and "axes" are what tifffile reads a stack by.
        if self.planes == 1:
            layout: dict[str, Any] = {"shape": shape, "axes": self.axes}
        else:
            layout = {"shape": (self.planes, *shape), "axes": "Z" + self.axes}
        return json.dumps({**layout, **self.meta}, default=os.fspath)

    def finish(self) -> None:
        if self.file is None or self.written != self.planes:
            raise ValueError(
                f"{self.path} was to get {self.planes} planes, got {self.written}"
            )
        with self._named_errors():
            self.file.close()
            os.replace(self.partial, self.path)

    def discard(self) -> None:
        """Remove what is not whole; nothing if it is."""
        with contextlib.suppress(OSError):  # the disk may still be full
            if self.file is not None:
                self.file.close()
        with contextlib.suppress(OSError):  # there may be no such folder
            self.partial.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OSError(f"could not write {self.path}: {in_words(error)}") from error


def read_recipe(path: Path | str) -> dict[str, Any]:
    """Read the recipe that `write_planes` left in a TIFF."""
    try:
        with tifffile.TiffFile(path) as tif:
            page: Any = tif.pages[0]
            return dict(json.loads(page.description)["roteq"])
    except (ValueError, KeyError, TypeError) as error:  # also of files of other kinds
        raise ValueError(f"{path} carries no recipe") from error
