from __future__ import annotations

import numpy as np
import pytest
import tifffile
import zarr

from roteq_core.files.pixel_size import square_side
from roteq_core.files.volumes import open_volume

PLANE = np.zeros((10, 14), np.uint8)


def plain(path, height, width):
    per_cm = 1e7 / width, 1e7 / height
    tifffile.imwrite(path, PLANE, resolution=per_cm, resolutionunit="CENTIMETER")


def imagej(path, height, width):
    per_um = 1e3 / width, 1e3 / height
    about = {"unit": "um"}
    tifffile.imwrite(path, PLANE, imagej=True, resolution=per_um, metadata=about)


def ome(path, height, width):
    sizes = {"PhysicalSizeX": width / 1e3, "PhysicalSizeXUnit": "µm"}
    sizes |= {"PhysicalSizeY": height, "PhysicalSizeYUnit": "nm"}
    tifffile.imwrite(path, PLANE, ome=True, metadata={"axes": "YX", **sizes})


def ome_zarr(path, height, width):
    group = zarr.create_group(path)
    group.create_array("0", data=PLANE)
    axes = [
        {"name": "y", "type": "space", "unit": "nanometer"},
        {"name": "x", "type": "space", "unit": "micrometer"},
    ]
    scale = [{"type": "scale", "scale": [height, width / 1e3]}]
    datasets = [{"path": "0", "coordinateTransformations": scale}]
    group.attrs["ome"] = {"multiscales": [{"axes": axes, "datasets": datasets}]}


WRITERS = pytest.mark.parametrize(
    ("write", "name"),
    [(plain, "a.tif"), (imagej, "a.tif"), (ome, "a.ome.tif"), (ome_zarr, "a.zarr")],
)


@WRITERS
def test_pixels_that_are_not_square_have_no_size(tmp_path, write, name):
    write(tmp_path / name, 12.0, 4.0)
    volume = open_volume(tmp_path / name)
    assert volume.pixel_size_nm is None
    assert "its pixels are 4 nm wide and 12 nm high" in volume.note


@WRITERS
def test_pixels_that_are_nearly_square_have_their_width(tmp_path, write, name):
    write(tmp_path / name, 4.06, 4.0)
    volume = open_volume(tmp_path / name)
    assert volume.pixel_size_nm == pytest.approx(4.0)
    assert volume.note == ""


def test_height_that_is_not_told_is_the_width(tmp_path):
    sizes = {"PhysicalSizeX": 4.0, "PhysicalSizeXUnit": "nm"}
    path = tmp_path / "a.ome.tif"
    tifffile.imwrite(path, PLANE, ome=True, metadata={"axes": "YX", **sizes})
    assert open_volume(path).pixel_size_nm == pytest.approx(4.0)


def test_sides_may_differ_by_two_percent():
    assert square_side((4.07, 4.0)) == 4.0
    assert square_side((4.0, 4.07)) == 4.07
    assert square_side((4.1, 4.0)) is None
    assert square_side((4.0, 4.1)) is None
