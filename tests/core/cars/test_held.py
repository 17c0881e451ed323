from __future__ import annotations

import numpy as np
import pytest

from roteq_core.cars.examples import CarFrame, describe_frames
from roteq_core.cars.held import PATCH_REACH, hold_out_again, hold_out_cars
from roteq_core.tables import Car


def grid(count=24, name="a"):
    """Give a frame with cars all over it."""
    rng = np.random.default_rng(1)
    cars = tuple(
        Car(x, y, 20, 9, 10.0 * k)
        for k, (x, y) in enumerate(rng.uniform(20, 380, (count, 2)))
    )
    return CarFrame(name, "boxes", np.zeros((400, 400), np.uint8), (400, 400), cars)


def test_crops_of_training_cars_do_not_reach_what_is_held_out():
    (frame,) = hold_out_cars([grid()])
    top, left, _, _ = frame.region
    assert (top == 0) != (left == 0)
    assert 0.1 < np.mean(frame.held) < 0.5
    for car, held in zip(frame.cars, frame.held, strict=True):
        place, line = (car.cx, left) if left else (car.cy, top)
        assert held == (place >= line)
        assert held or place + PATCH_REACH * car.length < line


def test_the_last_of_many_images_are_held_out():
    frames = hold_out_cars([grid(name=str(k)) for k in range(5)])
    assert [all(frame.held) for frame in frames] == [False] * 4 + [True]
    assert frames[4].region == (0, 0, 400, 400)
    assert describe_frames(frames)["held_out_cars"] == 24


def test_new_boxes_leave_what_is_held_out():
    (before,) = hold_out_cars([grid(12)])
    (after,) = hold_out_again([grid(40)], {"a": before.region})
    assert after.region == before.region
    assert sum(after.held) > sum(before.held)
    (none,) = hold_out_again([grid(40)], {})
    assert not any(none.held)


def test_too_few_cars_or_images_are_refused():
    with pytest.raises(ValueError, match="at least 4 cars, got 2"):
        hold_out_cars([grid(2)])
    with pytest.raises(ValueError, match="only where there are two or more"):
        hold_out_cars([grid()], "images")
