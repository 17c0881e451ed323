"""Draw the samples of this folder again: `python sample_data/make_samples.py`."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from PIL import Image

from roteq_core.angles import ccw_from_heading
from roteq_core.synthetic import (
    AerialScene,
    EMStack,
    sample_aerial_scene,
    sample_em_stack,
)

COLUMNS = (
    "file", "cx", "cy", "length_px", "width_px", "heading_cw_from_up_deg",
    "angle_ccw_from_right_deg", "stationary_id", "split", "kind",
)  # fmt: skip
PIXEL_NM = 4.0
SECTION_NM = 50.0


def write_em(stack: EMStack, folder: Path) -> None:
    """Write the image and the cells (0 is membrane) as TIFF stacks."""
    options: dict[str, Any] = {
        "imagej": True,
        "compression": "zlib",
        "resolution": (1000 / PIXEL_NM, 1000 / PIXEL_NM),
        "metadata": {"axes": "ZYX", "spacing": SECTION_NM / 1000, "unit": "um"},
    }
    tifffile.imwrite(folder / "em_stack.tif", stack.image, **options)
    cells = _renumber(stack.cells)
    tifffile.imwrite(folder / "em_stack_truth.tif", cells, **options)


def _renumber(cells: np.ndarray) -> np.ndarray:
    """Number the cells that show from 1, in the order of their labels."""
    labels = np.unique(cells)
    numbers = np.searchsorted(labels, cells)
    return (numbers if labels[0] == 0 else numbers + 1).astype(np.uint16)


def write_aerial(scene: AerialScene, folder: Path) -> None:
    """Write the scene as PNG and its vehicles as CSV."""
    Image.fromarray(scene.image).save(folder / "aerial_scene.png", optimize=True)
    with open(folder / "aerial_cars.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows(scene))


def rows(scene: AerialScene) -> list[list[str]]:
    """Give the table's rows; the same columns as other tables of cars, plus kind."""
    table = []
    for car in scene.cars:
        heading = car.heading_cw_from_up_deg
        numbers = (
            car.cx, car.cy, car.length, car.width, heading,
            float(ccw_from_heading(heading)),
        )  # fmt: skip
        cells = [f"{number:.3f}" for number in numbers]
        table.append(["aerial_scene.png", *cells, "-1", "test", car.kind])
    return table


def main() -> None:
    """Write all samples into a folder, by default the one of this script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    write_em(sample_em_stack(), folder)
    write_aerial(sample_aerial_scene(), folder)


if __name__ == "__main__":
    main()
