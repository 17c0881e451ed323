"""Crops of cars: shapes, repeatability, and fronts that are where they are said."""

from __future__ import annotations

import numpy as np
import pytest

from roteq_core.synthetic import FAMILIES, car_crops


def test_crops_have_the_promised_shapes_and_ranges():
    crops = car_crops(3, 48, seed=1, car_length_px=(20, 30))
    assert crops.images.shape == (3, 48, 48, 3)
    assert crops.images.dtype == np.uint8
    assert ((crops.headings >= 0) & (crops.headings < 360)).all()
    assert ((crops.boxes[:, 2] >= 20) & (crops.boxes[:, 2] <= 30)).all()
    assert (np.abs(crops.boxes[:, :2] - 23.5) <= 1.0).all()


def test_crop_k_depends_on_the_seed_alone():
    few, many = car_crops(2, 32, seed=5), car_crops(4, 32, seed=5)
    np.testing.assert_array_equal(few.images, many.images[:2])
    np.testing.assert_array_equal(few.headings, many.headings[:2])
    assert (car_crops(2, 32, seed=6).images != few.images).any()


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_can_be_drawn_alone(family):
    crops = car_crops(2, 40, seed=2, styles=family)
    assert crops.images.std(axis=(1, 2, 3)).min() > 2


def test_an_unknown_style_is_named():
    with pytest.raises(ValueError, match=r"style must be among .* got .*'moon'"):
        car_crops(1, seed=0, styles=["moon"])


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"n": -1}, "n must not be negative, got -1"),
        ({"n": 1, "size": 4}, "size must be at least 8, got 4"),
        ({"n": 1, "car_length_px": (9, 3)}, "car_length_px must be 0 < low"),
    ],
)
def test_bad_arguments_are_refused(arguments, rule):
    with pytest.raises(ValueError, match=rule):
        car_crops(seed=0, **arguments)


def test_the_sun_shines_back_from_windscreens_where_it_is_asked_for():
    plain = car_crops(4, 64, seed=3, styles="carpark")
    again = car_crops(4, 64, seed=3, styles="carpark", glare=0.0)
    np.testing.assert_array_equal(plain.images, again.images)
    glaring = car_crops(4, 64, seed=3, styles="carpark", glare=1.0)
    assert (glaring.images != plain.images).any()
