"""What was put around an image is found, and is read as a border."""

from __future__ import annotations

import numpy as np
import pytest

from roteq_core.fill import is_fill, nearest_inside, outside_of


def test_fill_is_what_is_solid_and_at_the_border():
    image = np.random.default_rng(0).integers(1, 255, (2, 100, 120)).astype(np.uint8)
    image[:, :, 90:] = 0
    image[:, 40:60, 20:40] = 0  # as large, but inside
    found = is_fill(image, 0)
    assert found[:, :, 90:].all()
    assert not found[:, :, :90].any()
    assert not is_fill(image, 7).any()


def test_outside_is_where_the_probability_is_0():
    probability = np.full((4, 6), 1e-6, np.float32)
    assert outside_of(probability) is None
    probability[:, 4:] = 0
    found = outside_of(probability)
    assert found is not None
    assert found.sum() == 8
    assert found[:, 4:].all()


def test_an_image_goes_on_with_its_nearest_pixel():
    values = np.arange(12.0).reshape(3, 4)
    outside = np.zeros((3, 4), bool)
    outside[:, 2:] = True
    expected = values.copy()
    expected[:, 2:] = values[:, 1:2]
    np.testing.assert_array_equal(nearest_inside(values, outside), expected)


@pytest.mark.parametrize("everywhere", [False, True])
def test_with_nothing_or_all_outside_values_stay(everywhere):
    values = np.arange(12.0).reshape(3, 4)
    outside = np.full((3, 4), everywhere)
    np.testing.assert_array_equal(nearest_inside(values, outside), values)
