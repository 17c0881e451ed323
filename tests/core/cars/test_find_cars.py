"""The grid of cells on which cars are found lies symmetrically on any image."""

from __future__ import annotations

import numpy as np
import pytest

from roteq_core.cars.find_cars import iter_detections
from roteq_core.config import FindOptions
from roteq_core.jobs import drain
from roteq_core.model import load_model
from roteq_core.synthetic import aerial_scene
from roteq_core.tasks.car_detections import Detections


@pytest.fixture(scope="module")
def finder():
    return load_model("car-finder", task="car-finder")


def found_in(finder, image, length) -> Detections:
    options = FindOptions(car_length_px=length, threshold=0.2)
    return drain(iter_detections(finder, np.ascontiguousarray(image), options))


def turned_back(centers, quarters, width, height):
    """Centers in an image turned clockwise, as they lie in the upright one."""
    x, y = centers.T
    places = [(x, y), (y, height - 1 - x), (width - 1 - x, height - 1 - y)]
    return np.stack([*places, (width - 1 - y, x)][quarters], 1)


@pytest.mark.parametrize("quarters", [1, 2, 3])
@pytest.mark.parametrize(
    ("size", "length"),
    [((201, 262), 30.0), ((199, 263), 20.0), ((198, 261), 20.0), ((200, 257), 29.0)],
)
def test_quarter_turns_of_an_image_of_any_size_turn_the_finds(
    finder, size, length, quarters
):
    image = aerial_scene(size, seed=5, style="carpark", car_length_px=(28, 32)).image
    upright = found_in(finder, image, length)
    turned = found_in(finder, np.rot90(image, -quarters), length)
    back = turned_back(turned.centers, quarters, size[1], size[0])
    assert len(back) == len(upright.scores) > 3
    gaps = np.hypot(*(upright.centers[:, None] - back).transpose(2, 0, 1))
    same = gaps.argmin(1)
    assert sorted(same) == list(range(len(back)))
    assert gaps.min(1).max() < 0.05
    np.testing.assert_allclose(turned.scores[same], upright.scores, atol=0.002)
    np.testing.assert_allclose(turned.lengths[same], upright.lengths, rtol=0.002)
    wrong = turned.angles[same] - upright.angles - quarters * np.pi / 2
    np.testing.assert_allclose(np.cos(wrong), 1, atol=1e-4)
