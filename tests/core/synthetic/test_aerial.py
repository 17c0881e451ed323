"""Aerial scenes: repeatable, and every car is where and how it is listed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from roteq_core.synthetic import CAR_KINDS, FAMILIES, OTHER_KINDS, aerial_scene
from roteq_core.synthetic.styles import AerialStyle


def plain_style(**settings):
    """Give a style with a clean camera and no shadows, straight from above."""
    plain = {
        "layout": "carpark", "lot": "asphalt", "sun": 0.0, "gloss": 0.0, "lean": 0.0,
        "altitude": 1e9, "blur": 0.0, "resample": 1.0, "motion": 0.0, "sharpen": 0.0,
        "noise": 0.0, "chroma_noise": 0.0, "jpeg": 100.0, "gray": False,
    }  # fmt: skip
    rng = np.random.default_rng(0)
    return AerialStyle.random(rng, "carpark", **{**plain, **settings})


def test_the_same_seed_gives_the_same_scene():
    first, second = (aerial_scene((96, 128), seed=4) for _ in range(2))
    np.testing.assert_array_equal(first.image, second.image)
    assert first.cars == second.cars
    assert first.image.shape == (96, 128, 3)
    assert (aerial_scene((96, 128), seed=5).image != first.image).any()


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_lists_vehicles_inside_the_frame(family):
    scene = aerial_scene((160, 192), seed=1, style=family, car_length_px=(20, 24))
    assert scene.style.family == family
    for car in scene.cars:
        assert -0.5 <= car.cx < 191.5
        assert -0.5 <= car.cy < 159.5
        assert 0 <= car.heading_cw_from_up_deg < 360
        assert 0.25 <= car.visible <= 1
        assert car.kind in CAR_KINDS + OTHER_KINDS
        assert car.is_car == (car.kind in CAR_KINDS)


def test_the_number_of_vehicles_can_be_limited():
    many = aerial_scene((256, 256), seed=3, style="carpark")
    assert len(many.cars) > 6
    assert len(aerial_scene((256, 256), seed=3, style="carpark", cars=6).cars) <= 6
    assert aerial_scene((256, 256), seed=3, style="carpark", cars=0).cars == []


def test_cars_are_drawn_where_they_are_listed():
    style = plain_style()
    full = aerial_scene((256, 256), seed=8, style=style)
    empty = aerial_scene((256, 256), seed=8, style=style, cars=0)
    assert full.cars
    rows, columns = np.mgrid[:256, :256]
    inside = np.zeros((256, 256), dtype=bool)
    for car in full.cars:
        heading = np.deg2rad(car.heading_cw_from_up_deg)
        x, y = columns - car.cx, rows - car.cy
        along = x * np.sin(heading) - y * np.cos(heading)
        across = x * np.cos(heading) + y * np.sin(heading)
        inside |= (abs(along) < 0.45 * car.length) & (abs(across) < 0.4 * car.width)
    # Roads and houses are drawn from the same chance, so that only cars differ.
    changed = (full.image != empty.image).any(axis=2)
    assert changed[inside].mean() > 0.95


def test_a_style_can_be_handed_in():
    style = replace(plain_style(), gray=True)
    image = aerial_scene((64, 64), seed=0, style=style).image
    np.testing.assert_array_equal(image[..., 0], image[..., 2])


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"size": (8, 64)}, "size must be at least 16 by 16, got"),
        ({"cars": -2}, "cars must not be negative, got -2"),
        ({"car_length_px": (0, 3)}, "car_length_px must be 0 < low"),
        ({"style": "moon"}, "style must be among"),
    ],
)
def test_bad_arguments_are_refused(arguments, rule):
    with pytest.raises(ValueError, match=rule):
        aerial_scene(seed=0, **arguments)
