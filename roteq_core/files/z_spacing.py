"""The distance between slices in nanometers, as image files tell it. No torch."""

from __future__ import annotations

import contextlib
import json
from typing import Any
from xml.etree import ElementTree

import tifffile

from roteq_core.files.pixel_size import NM_PER_UNIT


def tiff_z_spacing(tif: tifffile.TiffFile) -> float | None:
    """Read it from our own, OME's or ImageJ's metadata; None if they do not say."""
    for reader in (_own, _ome, _imagej):
        with contextlib.suppress(
            ValueError, TypeError, KeyError, ElementTree.ParseError
        ):
            spacing = reader(tif)
            if spacing is not None and spacing > 0:
                return spacing
    return None


def zarr_z_spacing(multiscale: dict[str, Any]) -> float | None:
    """Read it from the full-size array of an OME-Zarr image."""
    with contextlib.suppress(KeyError, IndexError, TypeError, AttributeError):
        names = [axis["name"] for axis in multiscale["axes"]]
        z = names.index("z") if "z" in names else len(names)
        changes = multiscale["datasets"][0]["coordinateTransformations"]
        scale = next(c["scale"][z] for c in changes if c["type"] == "scale")
        return float(scale) * NM_PER_UNIT[multiscale["axes"][z]["unit"]]
    return None


def _own(tif: tifffile.TiffFile) -> float | None:
    page: Any = tif.pages[0]
    return float(json.loads(page.description)["z_spacing_nm"])


def _ome(tif: tifffile.TiffFile) -> float | None:
    if not tif.ome_metadata:
        return None
    for element in ElementTree.fromstring(tif.ome_metadata).iter():
        if element.tag.endswith("Pixels"):
            unit = element.get("PhysicalSizeZUnit", "\u00b5m")  # OME's default
            return float(element.attrib["PhysicalSizeZ"]) * NM_PER_UNIT[unit]
    return None


def _imagej(tif: tifffile.TiffFile) -> float | None:
    found = tif.imagej_metadata or {}
    unit = str(found["unit"]).replace("\\u00B5", "\u00b5").replace("\\u00b5", "\u00b5")
    return float(found["spacing"]) * NM_PER_UNIT[unit]
