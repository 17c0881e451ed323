"""The size of a pixel in nanometers, as image files tell it. No torch."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

import tifffile

NM_PER_UNIT = {
    "nm": 1.0,
    "nanometer": 1.0,
    "micron": 1e3,
    "um": 1e3,
    "\u00b5m": 1e3,  # micro sign
    "\u03bcm": 1e3,  # Greek mu
    "micrometer": 1e3,
    "mm": 1e6,
    "cm": 1e7,
    "pm": 1e-3,
    "\u00c5": 0.1,
    "angstrom": 0.1,
}
# Beyond this a resolution is a printer's, not a microscope's.
_LARGEST_NM = 1e4
_SQUARE = 1.02  # times the short side of a pixel that the long one may have

# Height and width of a pixel in nanometers.
Sides = tuple[float, float]


def square_side(sides: Sides | None) -> float | None:
    """Give the side of a square pixel; None if its sides differ by more than 2 %."""
    if sides is None or max(sides) > _SQUARE * min(sides):
        return None
    return sides[1]


def tiff_pixel_sides(tif: tifffile.TiffFile) -> Sides | None:
    """Read a pixel's sides from our own, OME's, ImageJ's or plain TIFF metadata."""
    for reader in (_own, _ome, _imagej, _plain):
        with contextlib.suppress(
            ValueError, TypeError, KeyError, ZeroDivisionError, ElementTree.ParseError
        ):
            sides = reader(tif)
            if sides is not None and min(sides) > 0:
                return sides
    return None


def zarr_pixel_sides(multiscale: dict[str, Any], axes: Sequence[int]) -> Sides | None:
    """Read the sides of a pixel of the full-size array of an OME-Zarr image.

    `axes` are the numbers of the axes of rows and columns.
    """
    with contextlib.suppress(KeyError, IndexError, TypeError, AttributeError):
        changes = multiscale["datasets"][0]["coordinateTransformations"]
        scale = next(c["scale"] for c in changes if c["type"] == "scale")
        units = [NM_PER_UNIT[multiscale["axes"][axis]["unit"]] for axis in axes]
        height, width = (
            float(scale[axis]) * unit for axis, unit in zip(axes, units, strict=True)
        )
        return (height, width) if min(height, width) > 0 else None
    return None


def _own(tif: tifffile.TiffFile) -> Sides | None:
    page: Any = tif.pages[0]
    side = float(json.loads(page.description)["pixel_size_nm"])
    return side, side


def _ome(tif: tifffile.TiffFile) -> Sides | None:
    if not tif.ome_metadata:
        return None
    for element in ElementTree.fromstring(tif.ome_metadata).iter():
        if element.tag.endswith("Pixels"):
            width = _ome_length(element, "X")
            is_told = "PhysicalSizeY" in element.attrib
            return (_ome_length(element, "Y") if is_told else width), width
    return None


def _ome_length(element: ElementTree.Element, axis: str) -> float:
    unit = element.get(f"PhysicalSize{axis}Unit", "\u00b5m")  # OME's default
    return float(element.attrib[f"PhysicalSize{axis}"]) * NM_PER_UNIT[unit]


def _imagej(tif: tifffile.TiffFile) -> Sides | None:
    unit = (tif.imagej_metadata or {}).get("unit")
    if not unit:
        return None
    unit = str(unit).replace("\\u00B5", "\u00b5").replace("\\u00b5", "\u00b5")
    return _sides_of(tif, NM_PER_UNIT[unit])


def _plain(tif: tifffile.TiffFile) -> Sides | None:
    page: Any = tif.pages[0]
    units = {2: 2.54e7, 3: 1e7}  # inch, centimeter
    sides = _sides_of(tif, units[int(page.tags["ResolutionUnit"].value)])
    return sides if max(sides) <= _LARGEST_NM else None


def _sides_of(tif: tifffile.TiffFile, unit: float) -> Sides:
    """Read the resolution, pixels in a unit; that of y is that of x if not told."""
    page: Any = tif.pages[0]
    across = page.tags["XResolution"].value
    down = page.tags["YResolution"].value if "YResolution" in page.tags else across
    return float(unit * down[1] / down[0]), float(unit * across[1] / across[0])
