"""What was put around an image is found, and is read as a border."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from roteq_core.membranes.fill import find_fill, nearest_inside, outside_of


def tissue(shape=(100, 120)):
    return np.random.default_rng(0).normal(120, 20, shape).astype(np.float32)


@pytest.mark.parametrize("value", [0, 255, 117.5, np.nan])
def test_fill_is_what_is_solid_and_at_the_border(value):
    image = np.stack([tissue(), tissue()])
    image[0, :, 90:] = value
    image[:, 40:60, 20:40] = value  # as large, but inside
    found = find_fill(image)
    assert found[0, :, 90:].all()
    assert not found[0, :, :90].any()
    assert not found[1].any()


def test_planes_have_fills_of_their_own():
    image = np.stack([tissue(), tissue(), tissue()])
    image[0, :, :30], image[0, 90:] = 0, 255
    image[1] = 7
    found = find_fill(image)
    assert found[0, :, :30].all()
    assert found[0, 90:].all()
    assert not found[0, :90, 30:].any()
    assert found[1].all()
    assert not found[2].any()


def test_corners_of_a_turned_image_are_fill_whatever_its_least_value():
    image = ndimage.rotate(tissue((200, 200)) - 100, 37, cval=0, order=3)
    assert image.min() < -30
    whole = ndimage.rotate(np.ones((200, 200)), 37, cval=0, order=0) > 0
    found = find_fill(image)
    deep_outside = ndimage.binary_erosion(~whole, iterations=3, border_value=1)
    assert found[deep_outside].all()
    assert not found[ndimage.binary_erosion(whole, iterations=3)].any()


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
