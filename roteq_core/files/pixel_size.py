"""The size of a pixel in nanometers, as image files tell it. No torch."""

from __future__ import annotations

import contextlib
import json
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


def tiff_pixel_size(tif: tifffile.TiffFile) -> float | None:
    """Read the pixel size from our own, OME's, ImageJ's or plain TIFF metadata."""
    for reader in (_own, _ome, _imagej, _plain):
        with contextlib.suppress(
            ValueError, TypeError, KeyError, ZeroDivisionError, ElementTree.ParseError
        ):
            size = reader(tif)
            if size is not None and size > 0:
                return size
    return None


def zarr_pixel_size(multiscale: dict[str, Any], axis: int = -1) -> float | None:
    """Read the pixel size along an axis of the full-size array of an OME-Zarr image."""
    with contextlib.suppress(KeyError, IndexError, TypeError, AttributeError):
        changes = multiscale["datasets"][0]["coordinateTransformations"]
        scale = next(c["scale"][axis] for c in changes if c["type"] == "scale")
        return float(scale) * NM_PER_UNIT[multiscale["axes"][axis]["unit"]]
    return None


def _own(tif: tifffile.TiffFile) -> float | None:
    page: Any = tif.pages[0]
    return float(json.loads(page.description)["pixel_size_nm"])


def _ome(tif: tifffile.TiffFile) -> float | None:
    if not tif.ome_metadata:
        return None
    for element in ElementTree.fromstring(tif.ome_metadata).iter():
        if element.tag.endswith("Pixels"):
            unit = element.get("PhysicalSizeXUnit", "\u00b5m")  # OME's default
            return float(element.attrib["PhysicalSizeX"]) * NM_PER_UNIT[unit]
    return None


def _imagej(tif: tifffile.TiffFile) -> float | None:
    unit = (tif.imagej_metadata or {}).get("unit")
    if not unit:
        return None
    unit = str(unit).replace("\\u00B5", "\u00b5").replace("\\u00b5", "\u00b5")
    return NM_PER_UNIT[unit] / _pixels_per_unit(tif)


def _plain(tif: tifffile.TiffFile) -> float | None:
    page: Any = tif.pages[0]
    units = {2: 2.54e7, 3: 1e7}  # inch, centimeter
    size = units[int(page.tags["ResolutionUnit"].value)] / _pixels_per_unit(tif)
    return size if size <= _LARGEST_NM else None


def _pixels_per_unit(tif: tifffile.TiffFile) -> float:
    page: Any = tif.pages[0]
    pixels, units = page.tags["XResolution"].value
    return float(pixels / units)
