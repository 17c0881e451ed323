from __future__ import annotations

import math

import numpy as np
import pytest

from roteq_core.turned import TurnedCopy, turned_copies


def smooth_maps(height, width):
    y, x = np.mgrid[:height, :width] / 8
    return np.stack([np.sin(x + y), np.cos(2 * x), np.sin(y)]).astype(np.float32)


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("angle", [0.0, 0.3, math.pi / 4, math.pi / 2])
@pytest.mark.parametrize("size", [(40, 40), (31, 52)])
def test_copy_and_back_is_the_image(size, angle, mirrored):
    image = smooth_maps(*size)[0]
    copy = TurnedCopy(angle, mirrored)
    turned = copy.forward(image)
    maps = np.stack([turned, np.zeros_like(turned), np.zeros_like(turned)])
    back = copy.backward(maps, size)
    assert back.shape == (3, *size)
    inner = np.s_[3:-3, 3:-3]
    np.testing.assert_allclose(back[0][inner], image[inner], atol=0.03)


def test_quarter_turns_are_exact():
    image = smooth_maps(31, 52)[0]
    turned = TurnedCopy(math.pi / 2, False).forward(image)
    assert (turned == np.rot90(image, -1)).all()


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("size", [(40, 40), (24, 56), (31, 52)])
def test_copies_of_a_quarter_turn_are_quarter_turns_of_copies(size, mirrored):
    image = np.random.default_rng(0).random(size, np.float32)
    copy = TurnedCopy(0.7, mirrored)
    once = copy.forward(image)
    again = copy.forward(np.rot90(image))
    expected = np.rot90(once, -1 if mirrored else 1)
    np.testing.assert_allclose(again, expected, atol=1e-4)
    assert [(n - m) % 16 for n, m in zip(once.shape, size, strict=True)] == [0, 0]


def test_axes_come_back_turned():
    angle = 0.4
    copy = TurnedCopy(angle, False)
    side = copy.forward(np.zeros((20, 20), np.float32)).shape[0]
    # In a copy turned by `angle`, everything points along `angle`: along 0 before.
    maps = np.zeros((3, side, side), np.float32)
    maps[1], maps[2] = math.cos(2 * angle), math.sin(2 * angle)
    _, cos2, sin2 = copy.backward(maps, (20, 20))
    np.testing.assert_allclose(cos2[5:15, 5:15], 1, atol=1e-5)
    np.testing.assert_allclose(sin2[5:15, 5:15], 0, atol=1e-5)


def test_mirrored_axes_lean_the_other_way():
    maps = np.zeros((3, 6, 6), np.float32)
    maps[2] = 1
    assert (TurnedCopy(0, True).backward(maps, (6, 6))[2] == -1).all()


def test_copies_lie_within_a_quarter_turn():
    copies = turned_copies(8)
    assert len(copies) == 8
    assert sum(copy.mirrored for copy in copies) == 4
    assert {round(math.degrees(copy.angle), 1) for copy in copies} == {
        0,
        22.5,
        45,
        67.5,
    }
    assert turned_copies(1) == [TurnedCopy(0, False)]


def test_less_than_one_turn_is_refused():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        turned_copies(0)
