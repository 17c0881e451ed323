from __future__ import annotations

import numpy as np
import pytest
import zarr

from roteq_core.files.volumes import open_volume, to_gray

COLORS = np.random.default_rng(0).integers(0, 255, (2, 10, 14, 3), dtype=np.uint8)
GRAY = np.stack([to_gray(plane) for plane in COLORS])
STACK = np.arange(6 * 10 * 14, dtype=np.uint16).reshape(6, 10, 14)


def write_ome(path, array, axes):
    """Write an OME-Zarr image whose pixels are 4 nm wide."""
    group = zarr.create_group(path)
    group.create_array("0", data=array)
    kinds = {"t": "time", "c": "channel"}
    scale = [{"x": 0.004, "y": 0.004, "z": 0.05}.get(axis, 1.0) for axis in axes]
    group.attrs["ome"] = {
        "multiscales": [
            {
                "axes": [
                    {"name": a, "type": kinds.get(a, "space"), "unit": "micrometer"}
                    for a in axes
                ],
                "datasets": [
                    {
                        "path": "0",
                        "coordinateTransformations": [
                            {"type": "scale", "scale": scale}
                        ],
                    }
                ],
            }
        ]
    }


@pytest.mark.parametrize(
    ("axes", "array", "wanted"),
    [
        ("yxc", COLORS[0], GRAY[:1]),
        ("zyxc", COLORS, GRAY),
        ("yxzc", COLORS.transpose(1, 2, 0, 3), GRAY),
        ("zxy", STACK.transpose(0, 2, 1), STACK),
        ("yxz", STACK.transpose(1, 2, 0), STACK),
        ("zyxc", STACK[..., None], STACK),
        ("zyx", STACK[:, :, :3], STACK[:, :, :3]),
    ],
)
def test_ome_axes_say_what_is_a_plane(tmp_path, axes, array, wanted):
    write_ome(tmp_path / "a.zarr", array, axes)
    volume = open_volume(tmp_path / "a.zarr")
    assert volume.shape == wanted.shape
    np.testing.assert_array_equal(volume.read(), wanted)
    assert volume.pixel_size_nm == pytest.approx(4)
    assert volume.z_spacing_nm == (pytest.approx(50) if "z" in axes else None)
    assert volume.note == ""


def test_channels_behind_the_columns_that_are_no_colors_are_refused(tmp_path):
    write_ome(tmp_path / "a.zarr", COLORS[0, :, :, :2], "yxc")
    with pytest.raises(ValueError, match=r"has 2 channels \(shape \(10, 14, 2\)\)"):
        open_volume(tmp_path / "a.zarr")


@pytest.mark.parametrize("count", [3, 4])
@pytest.mark.parametrize("version", [2, 3])
def test_plain_array_of_colors_becomes_gray(tmp_path, count, version):
    alpha = np.full((2, 10, 14, count), 255, np.uint8)
    alpha[..., :3] = COLORS
    for name, array, wanted in (("a", alpha[0], GRAY[:1]), ("b", alpha, GRAY)):
        zarr.create_array(tmp_path / name, data=array, zarr_format=version)
        volume = open_volume(tmp_path / name)
        assert volume.shape == wanted.shape
        np.testing.assert_array_equal(volume.read(), wanted)
        assert "was read as color" in volume.note


def test_narrow_volume_that_names_its_axes_keeps_its_planes(tmp_path):
    narrow = STACK[:, :, :3]
    axes = ("z", "y", "x")
    zarr.create_array(tmp_path / "a", data=narrow, dimension_names=axes)
    old = zarr.create_array(tmp_path / "b", data=narrow, zarr_format=2)
    old.attrs["_ARRAY_DIMENSIONS"] = axes
    for name in "ab":
        volume = open_volume(tmp_path / name)
        assert (volume.read() == narrow).all()
        assert volume.note == ""


@pytest.mark.parametrize("shape", [(6, 3, 3), (2, 10, 4), (6, 10, 5), (3, 4)])
def test_small_volumes_are_no_colors(tmp_path, shape):
    array = np.arange(np.prod(shape)).reshape(shape)
    zarr.create_array(tmp_path / "a", data=array)
    assert (open_volume(tmp_path / "a").read() == array).all()
