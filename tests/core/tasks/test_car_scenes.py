from __future__ import annotations

import numpy as np
import pytest

from roteq_core.tables import Car
from roteq_core.tasks.car_scenes import FINDER_LENGTH, scene_from_cars


def test_scenes_are_scaled_to_the_length_that_the_finder_looks_for():
    image = np.zeros((60, 100, 3), np.uint8)
    image[29:31, 49:51] = 200
    scene = scene_from_cars(image, [Car(49.5, 29.5, 2 * FINDER_LENGTH, 17, 90.0)])
    assert scene.image.shape == (4, 30, 50)
    np.testing.assert_allclose(scene.cars, [[24.5, 14.5, FINDER_LENGTH, 0]], atol=1e-9)
    seen = np.argwhere(scene.image[0] > 40)
    np.testing.assert_array_equal(seen.mean(0), [14.5, 24.5])


def test_cars_without_length_cannot_be_learnt_from():
    with pytest.raises(ValueError, match="need lengths"):
        scene_from_cars(np.zeros((50, 50, 3), np.uint8), [Car(10, 10)])
