"""Gratings, rings, plane waves and blobs: their directions are what they say."""

from __future__ import annotations

import numpy as np
import pytest

from roteq_core.angles import difference
from roteq_core.synthetic import PlaneWaves, blobs, grating, rings


def axial_error(image, direction, margin=6):
    """Median angle in degrees between a direction and the image's level lines."""
    down, right = np.gradient(image)
    along = np.arctan2(down, right) + np.pi / 2
    inner = np.zeros(image.shape, dtype=bool)
    inner[margin:-margin, margin:-margin] = True
    strong = inner & (np.hypot(down, right) > 0.1)
    error = difference(np.broadcast_to(direction, image.shape), along, period=np.pi)
    return np.rad2deg(np.median(np.abs(error[strong])))


@pytest.mark.parametrize("angle", [0.0, 0.4, np.pi / 2, 2.5])
def test_stripes_run_along_the_given_angle(angle):
    image = grating((48, 64), angle=angle, period=12)
    assert image.shape == (48, 64)
    assert axial_error(image, angle) < 1


def test_an_upright_grating_repeats_after_its_period():
    image = grating(33, angle=np.pi / 2, period=8)
    np.testing.assert_allclose(image[:, 8:], image[:, :-8], atol=1e-12)
    assert image[16, 16] == pytest.approx(1)


def test_rings_run_around_the_middle():
    image, direction = rings(65, period=12)
    assert axial_error(image, direction) < 1
    np.testing.assert_allclose(image, np.rot90(image), atol=1e-12)


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_plane_waves_turned_by_quarters_equal_the_turned_array(turns):
    waves = PlaneWaves(3, 3.0, 41)
    # rot90 with negative k turns clockwise on the screen, from right towards down.
    expected = np.rot90(waves.sample(), -turns)
    np.testing.assert_allclose(waves.sample(turns * np.pi / 2), expected, atol=1e-9)


def test_plane_waves_have_unit_variance_and_depend_on_the_seed():
    values = np.stack([PlaneWaves(k, 3.0, 64).sample() for k in range(8)])
    assert values.std() == pytest.approx(1, abs=0.15)
    np.testing.assert_array_equal(PlaneWaves(2, 3.0, 64).sample(), values[2])


def test_plane_waves_move_with_the_shift():
    waves = PlaneWaves(0, 2.5, (30, 40))
    moved = waves.sample(shift=(3, 2))
    np.testing.assert_allclose(moved[2:, 3:], waves.sample()[:-2, :-3], atol=1e-9)


def test_the_exact_gradient_agrees_with_differences():
    waves = PlaneWaves(1, 6.0, 48)
    down, right = np.gradient(waves.sample(0.7))
    exact = waves.gradient(0.7)
    inner = np.s_[2:-2, 2:-2]
    np.testing.assert_allclose(exact[0][inner], right[inner], atol=0.01)
    np.testing.assert_allclose(exact[1][inner], down[inner], atol=0.01)


def test_blobs_lie_on_exact_zero_with_their_long_axis_as_listed():
    image, places = blobs(96, seed=2, count=1, sigma=3, elongation=3)
    assert (image == 0).mean() > 0.5
    rows, columns = np.nonzero(image > 0.2)
    x, y = columns - 47.5, rows - 47.5
    assert x.mean() == pytest.approx(places[0, 0], abs=0.5)
    assert y.mean() == pytest.approx(places[0, 1], abs=0.5)
    spread = np.cov(x, y)
    angle = 0.5 * np.arctan2(2 * spread[0, 1], spread[0, 0] - spread[1, 1])
    assert abs(difference(angle, places[0, 2], period=np.pi)) < 0.05


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda: grating(8, angle=0, period=2), "period must be more than 2"),
        (lambda: rings(8, period=1), "period must be more than 2"),
        (lambda: PlaneWaves(0, 0.0, 8), "sigma must be positive"),
        (lambda: PlaneWaves(0, 1.0, 8, waves=0), "waves must be at least 1"),
        (lambda: PlaneWaves(0, 1.0, 8, max_frequency=0.7), "max_frequency must be in"),
        (lambda: blobs(8, seed=0, sigma=-1), "sigma must be positive"),
        (lambda: blobs(8, seed=0, elongation=0.5), "elongation must be at least 1"),
        (lambda: grating(0, angle=0, period=3), "size must be positive, got 0"),
    ],
)
def test_bad_arguments_are_refused(call, rule):
    with pytest.raises(ValueError, match=rule):
        call()
