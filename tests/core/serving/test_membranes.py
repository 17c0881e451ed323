import numpy as np
import pytest
import torch

from roteq_core.config import SegmentOptions
from roteq_core.jobs import drain
from roteq_core.model import make_model, warm_model
from roteq_core.net_config import MembraneNetConfig, TurningConfig
from roteq_core.networks import build_network
from roteq_core.normalize import fit_normalization
from roteq_core.serving.membranes import (
    cut_cells,
    describe_model,
    iter_segment_plane,
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
