"""What File ▸ Open Sample offers: synthetic images whose answers are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tifffile
from imageio import v3 as imageio

from napari_roteq._car_shapes import table_layer
from napari_roteq._layers import LayerData
from roteq_core.tables import read_cars

FOLDER = Path(__file__).parent / "sample_data"


def em_stack() -> list[LayerData]:
    """Give an EM-like stack and, hidden, its true cells."""
    image, truth = FOLDER / "em_stack.tif", FOLDER / "em_stack_truth.tif"
    place = _place(image)
    return [
        (
            tifffile.imread(image),
            {"name": "em_stack", "metadata": {"path": str(image)}, **place},
            "image",
        ),
        (
            tifffile.imread(truth).astype("int32"),
            {
                "name": "em_stack truth",
                "metadata": {"path": str(truth)},
                "visible": False,
                **place,
            },
            "labels",
        ),
    ]


def aerial_scene() -> list[LayerData]:
    """Give an aerial scene and its cars as oriented boxes."""
    image = FOLDER / "aerial_scene.png"
    cars = read_cars(FOLDER / "aerial_cars.csv")
    options = {"name": "aerial_scene", "metadata": {"path": str(image)}, "rgb": True}
    return [
        (imageio.imread(image), options, "image"),
        table_layer(cars, name="aerial_scene true cars"),
    ]


def _place(path: Path) -> dict[str, Any]:
    """Give scale and units of an ImageJ stack, as keywords of a layer."""
    with tifffile.TiffFile(path) as tif:
        about: dict[str, Any] = tif.imagej_metadata or {}
        pixels, micrometers = tif.pages[0].tags["XResolution"].value  # type: ignore[union-attr]
    size = 1000 * micrometers / pixels
    depth = 1000 * float(about.get("spacing", size / 1000))
    return {
        "scale": (depth, size, size),
        "units": ("nm", "nm", "nm"),
        "axis_labels": ("z", "y", "x"),
    }
