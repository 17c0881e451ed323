from __future__ import annotations

import errno

import numpy as np
import pytest
import tifffile

from roteq_core.files.plane_writer import read_recipe, write_planes
from roteq_core.files.volumes import open_volume

STACK = np.random.default_rng(0).random((3, 2, 8, 9)).astype(np.float32)


def test_stack_comes_back_with_size_and_recipe(tmp_path):
    path = tmp_path / "new folder" / "a.tif"
    recipe = {"model": "tiny", "angle": "θ"}
    with write_planes(path, 3, pixel_size_nm=4.0, recipe=recipe) as write:
        for plane in STACK[:, 0]:
            write(plane)
    assert (tifffile.imread(path) == STACK[:, 0]).all()
    assert open_volume(path).pixel_size_nm == 4.0
    assert read_recipe(path) == recipe
    with tifffile.TiffFile(path) as tif:  # for programs that read only the tags
        pixels, centimeters = tif.pages[0].tags["XResolution"].value
    assert pixels / centimeters == pytest.approx(2.5e6)


def test_channels_come_back_as_an_axis(tmp_path):
    with write_planes(tmp_path / "a.tif", 3, channels=True) as write:
        for planes in STACK:
            write(planes)
    with write_planes(tmp_path / "b.tif", 1, channels=True) as write:
        write(STACK[0])
    assert (tifffile.imread(tmp_path / "a.tif") == STACK).all()
    assert (tifffile.imread(tmp_path / "b.tif") == STACK[0]).all()
    with tifffile.TiffFile(tmp_path / "a.tif") as tif:
        assert tif.series[0].axes == "ZCYX"


def test_one_plane_is_an_image(tmp_path):
    with write_planes(tmp_path / "a.tif", 1) as write:
        write(STACK[0, 0])
    assert tifffile.imread(tmp_path / "a.tif").shape == (8, 9)


def test_stop_on_the_way_leaves_nothing(tmp_path):
    def job():
        with write_planes(tmp_path / "a.tif", 3) as write:
            write(STACK[0, 0])
            yield

    running = job()
    next(running)
    assert [p.name for p in tmp_path.iterdir()] == ["a.tif.partial"]
    running.close()
    assert list(tmp_path.iterdir()) == []


def test_full_disk_keeps_the_file_that_was_there(tmp_path, monkeypatch):
    path = tmp_path / "a.tif"
    path.write_text("before")

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tifffile.TiffWriter, "write", full)
    with (
        pytest.raises(OSError, match=r"could not write .*a.tif: the disk is full"),
        write_planes(path, 1) as write,
    ):
        write(STACK[0, 0])
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["a.tif"]


def test_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "x.tif"
    with (
        pytest.raises(OSError, match=r"could not write .*x\.tif"),
        write_planes(path, 1) as write,
    ):
        write(np.zeros((4, 4), np.float32))


def test_errors_of_others_are_not_the_writers(tmp_path):
    with (
        pytest.raises(OSError, match=r"^the input is gone$"),
        write_planes(tmp_path / "a.tif", 1),
    ):
        raise OSError("the input is gone")


def test_missing_planes_are_noticed(tmp_path):
    with (
        pytest.raises(ValueError, match="was to get 3 planes, got 1"),
        write_planes(tmp_path / "a.tif", 3) as write,
    ):
        write(STACK[0, 0])
    assert list(tmp_path.iterdir()) == []


def test_plane_of_the_wrong_rank_is_refused(tmp_path):
    with (
        pytest.raises(ValueError, match=r"axes YX, got shape \(2, 8, 9\)"),
        write_planes(tmp_path / "a.tif", 1) as write,
    ):
        write(STACK[0])


def test_classic_tiff_unless_it_would_be_too_large(tmp_path):
    with write_planes(tmp_path / "a.tif", 1) as write:
        write(STACK[0, 0])
    with tifffile.TiffFile(tmp_path / "a.tif") as tif:
        assert not tif.is_bigtiff


def test_foreign_file_carries_no_recipe(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", STACK[0, 0])
    with pytest.raises(ValueError, match="carries no recipe"):
        read_recipe(tmp_path / "a.tif")
