from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from roteq_core.net_config import CarFinderNetConfig, TurningConfig
from roteq_core.networks import build_network
from roteq_core.tasks.car_finder_maps import finder_loss, finder_planes, finder_targets


def test_targets_say_where_how_long_and_which_way():
    cars = np.array([[21.5, 13.5, 20.0, 1.2]])
    doubtful = np.array([[41.5, 41.5, 12.0, 0.0]])
    maps = finder_targets(cars, doubtful, 16)
    assert maps["heat"][3, 5] == 1
    assert maps["angle"][3, 5] == pytest.approx(1.2)
    assert maps["length"][3, 5] == pytest.approx(0, abs=1e-6)
    assert maps["weight"][10, 10] == 0
    assert maps["weight"][3, 5] == 1


def test_cells_around_a_center_say_where_it_is():
    maps = finder_targets(np.array([[22.5, 12.5, 20.0, 0.0]]), np.zeros((0, 4)), 16)
    assert maps["right"][3, 5] == pytest.approx(1 / 4)
    assert maps["down"][3, 5] == pytest.approx(-1 / 4)
    assert maps["right"][3, 6] == pytest.approx(-3 / 4)
    assert maps["right"][3, 8] == 0


CONFIG = CarFinderNetConfig(
    filters=(2, 3),
    kernel_size=3,
    hidden=4,
    offsets=2,
    turning=TurningConfig(8, frequencies=2),
)


def test_ways_to_centers_turn_with_the_image():
    torch.manual_seed(0)
    network = build_network(CONFIG).eval()
    image = torch.randn(1, 1, 32, 32)
    with torch.inference_mode():
        upright = network(image).offset
        turned = network(image.rot90(-1, (-2, -1))).offset
    right, down = turned.rot90(1, (-2, -1)).unbind(1)
    expected = torch.stack([down, -right], 1)  # clockwise: right became down
    assert upright.abs().max() > 0.01
    torch.testing.assert_close(expected, upright, rtol=1e-4, atol=1e-5)


def test_a_network_learns_centers_only_if_it_tells_them():
    batch = finder_targets(np.array([[22.5, 12.5, 20.0, 0.0]]), np.zeros((0, 4)), 8)
    batch = {name: value[None] for name, value in batch.items()}
    image = torch.randn(1, 1, 32, 32)
    for offsets, planes in ((2, 6), (0, 4)):
        torch.manual_seed(0)
        network = build_network(replace(CONFIG, offsets=offsets))
        maps = network(image)
        loss, parts = finder_loss(maps, batch)
        loss.backward()
        assert (parts["offset"] > 0) == bool(offsets)
        with torch.inference_mode():
            assert finder_planes(network(image)).shape == (1, planes, 8, 8)
    torch.manual_seed(0)
    network = build_network(CONFIG)
    maps = network(image)
    told = torch.stack([batch["right"], batch["down"]], 1)
    _, parts = finder_loss(maps._replace(offset=told), batch)
    assert parts["offset"] == 0
