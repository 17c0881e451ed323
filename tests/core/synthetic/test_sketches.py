"""Plain pictures of cars: repeatable, and with fronts where they are said to be."""

from __future__ import annotations

import numpy as np
import pytest

from roteq_core.synthetic import car_sketches


def test_sketches_have_the_promised_shapes_and_ranges():
    crops = car_sketches(5, 48, seed=1, car_length_px=(20, 30))
    assert crops.images.shape == (5, 48, 48, 3)
    assert crops.images.dtype == np.uint8
    assert ((crops.headings >= 0) & (crops.headings < 360)).all()
    assert ((crops.boxes[:, 2] >= 20) & (crops.boxes[:, 2] <= 30)).all()
    assert (np.abs(crops.boxes[:, :2] - 23.5) <= 1.0).all()


def test_sketch_k_depends_on_the_seed_alone():
    few, many = car_sketches(2, 32, seed=5), car_sketches(4, 32, seed=5)
    np.testing.assert_array_equal(few.images, many.images[:2])
    assert (car_sketches(2, 32, seed=6).images != few.images).any()


def test_tail_lights_are_red_and_at_the_rear():
    crops = car_sketches(150, 80, seed=3, car_length_px=(36, 36))
    red = []
    for image, heading, box in zip(*crops, strict=True):
        ahead = np.deg2rad(heading)
        step = box[2] * 0.45 * np.array([np.sin(ahead), -np.cos(ahead)])
        side = box[3] * 0.35 * np.array([np.cos(ahead), np.sin(ahead)])
        ends = []
        for end in (1, -1):
            x, y = np.rint(box[:2] + end * step + side).astype(int)
            r, g, b = image[y, x].astype(int)
            ends.append(r - max(g, b) > 60)
        red.append(ends)
    front, rear = np.mean(red, 0)
    assert rear > front + 0.15


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
        car_sketches(seed=0, **arguments)
