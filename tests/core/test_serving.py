import os
import time

import numpy as np
import pytest
import tifffile
import torch

from roteq_core import areas
from roteq_core.config import SegmentOptions
from roteq_core.jobs import drain
from roteq_core.model import make_model
from roteq_core.net_config import MembraneNetConfig, TurningConfig
from roteq_core.networks import build_network
from roteq_core.normalize import fit_normalization
from roteq_core.plane_writer import read_recipe
from roteq_core.serving import (
    cut_cells,
    describe_model,
    iter_segment_part,
    iter_segment_part_file,
    iter_segment_plane,
    warm_model,
)


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    turning = TurningConfig(orientations=4, frequencies=1)
    torch.manual_seed(0)
    network = build_network(MembraneNetConfig(width=1, kernel_size=3, turning=turning))
    path = tmp_path_factory.mktemp("model") / "tiny.safetensors"
    make_model([network], name="tiny", task="membranes").save(path)
    return str(path)


@pytest.fixture
def stack():
    return np.random.default_rng(0).integers(0, 255, (3, 32, 40), dtype=np.uint8)


def test_plane_gives_what_is_asked_for_and_nothing_else(model_file, stack):
    given = stack[0], fit_normalization(stack), None
    maps = drain(iter_segment_plane(given, SegmentOptions(model=model_file)))
    assert set(maps) == {"probability"}
    options = SegmentOptions(model=model_file, cells=True, direction=True)
    maps = drain(iter_segment_plane(given, options))
    assert set(maps) == {"probability", "angle", "strength", "cells"}
    assert {array.shape for array in maps.values()} == {(32, 40)}


@pytest.mark.parametrize("area", [(4, 8, 28, 40), (13, 0, 25, 21)])
def test_part_of_a_file_is_what_the_whole_gives_there(
    model_file, stack, tmp_path, area, monkeypatch
):
    stack = np.tile(stack, (1, 5, 5))[:, :157, :195]
    monkeypatch.setattr(areas, "CONTEXT", 60)
    tifffile.imwrite(tmp_path / "em.tif", stack, photometric="minisblack")
    options = SegmentOptions(model=model_file, close=False, direction=True)
    top, left, bottom, right = (side + 40 for side in area)
    job = iter_segment_part(
        tmp_path / "em.tif", options, plane=2, area=(top, left, bottom, right)
    )
    part = drain(job)
    given = stack[2], fit_normalization(stack), None
    whole = drain(iter_segment_plane(given, options))
    for name, found in part.items():
        expected = whole[name][top:bottom, left:right]
        np.testing.assert_allclose(found, expected, atol=1e-5)
    alone = stack[2, top:bottom, left:right], given[1], None
    alone = drain(iter_segment_plane(alone, options))["probability"]
    assert np.abs(alone - part["probability"]).max() > 0.01


def test_part_is_written_with_the_hash_of_the_model(model_file, stack, tmp_path):
    source = tmp_path / "em.tif"
    tifffile.imwrite(source, stack, photometric="minisblack")
    options = SegmentOptions(model=model_file)
    job = iter_segment_part_file(source, tmp_path / "x.tif", options, plane=1)
    (written,) = drain(job)
    assert len(read_recipe(written)["model_hash"]) == 16
    with pytest.raises(ValueError, match="must not be the input itself"):
        drain(iter_segment_part_file(source, source, options))
    assert (tifffile.imread(source) == stack).all()


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        ({"plane": 3}, "0…2"),
        ({"area": (0, 9, 5, 9)}, "hold pixels"),
        ({"area": (-5, 0, 5, 9)}, r"got \(-5"),
        ({"area": (0, 0, 33, 9)}, "of 32 × 40 pixels"),
    ],
)
def test_part_outside_the_file_is_refused(model_file, stack, tmp_path, part, rule):
    tifffile.imwrite(tmp_path / "em.tif", stack, photometric="minisblack")
    job = iter_segment_part(
        tmp_path / "em.tif", SegmentOptions(model=model_file), **part
    )
    with pytest.raises(ValueError, match=rule):
        drain(job)


def test_model_stays_loaded_until_its_file_changes(model_file, tmp_path):
    copy = tmp_path / "copy.safetensors"
    with open(model_file, "rb") as file:
        copy.write_bytes(file.read())
    first = warm_model(str(copy))
    assert warm_model(str(copy)) is first
    later = time.time() + 5
    os.utime(copy, (later, later))
    assert warm_model(str(copy)) is not first


def test_description_tells_the_reach(model_file):
    about = describe_model(model_file)
    network = warm_model(model_file).networks[0]
    assert about["reach"] == network.reach
    assert len(about["hash"]) == 16
    assert about["shapes"][0]


def test_cells_are_cut_at_the_threshold():
    walls = np.full((20, 41), 0.01, np.float32)
    walls[:, 19:22] = 0.6
    assert len(np.unique(cut_cells(walls, 0.3))) == 2
    assert len(np.unique(cut_cells(walls, 0.9))) == 1
