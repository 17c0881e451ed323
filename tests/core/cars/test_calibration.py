"""Error bars against known headings."""

from __future__ import annotations

import numpy as np
import pytest

from roteq_core.cars.calibration import (
    HeadingCalibration,
    calibration_from,
    coverage,
    fit_calibration,
    weighted_quantile,
)


def draw(count: int, seed: int, stretch: float = 3.0) -> dict[str, np.ndarray]:
    """Cars whose errors are `stretch` times as wide as their raw spreads say."""
    rng = np.random.default_rng(seed)
    density = rng.uniform(2, 8, count)
    flip = rng.uniform(0.001, 0.4, count)
    errors = np.abs(rng.normal(0, stretch * density))
    errors = np.where(rng.random(count) < flip**2, 180 - errors, errors)
    copies = rng.uniform(0, 2, count)
    return {"errors": errors, "density": density, "copies": copies, "flip": flip}


def test_a_stated_90_percent_interval_holds_about_that_many_new_cars():
    calibration = fit_calibration(**draw(400, 0))
    new = draw(2000, 1)
    held = coverage(new["errors"], calibration.sd(new["density"], new["copies"]))
    assert 0.86 < held < 0.94


def test_without_calibration_the_interval_is_far_too_narrow():
    new = draw(2000, 1)
    raw = HeadingCalibration(floor=0.5)
    assert coverage(new["errors"], raw.sd(new["density"], new["copies"])) < 0.6


def test_flip_chances_agree_with_how_often_cars_are_flipped():
    calibration = fit_calibration(**draw(4000, 2))
    new = draw(4000, 3)
    stated = calibration.p_flip(new["flip"])
    flipped = new["errors"] > 90
    for half in (new["flip"] < 0.2, new["flip"] >= 0.2):
        assert stated[half].mean() == pytest.approx(flipped[half].mean(), abs=0.02)


def test_a_stated_heading_is_never_likelier_wrong_than_right():
    calibration = HeadingCalibration(slope=0.87, offset=0.44)
    stated = calibration.p_flip(np.array([0.01, 0.3, 0.45, 0.5]))
    assert stated[0] < stated[1] < 0.5
    np.testing.assert_array_equal(stated[2:], 0.5)


def test_few_cars_leave_flip_chances_near_what_the_network_says():
    cars = draw(30, 4)
    cars["errors"] = np.minimum(cars["errors"], 20)
    calibration = fit_calibration(**cars)
    assert 0 < calibration.p_flip(np.array([0.3]))[0] < 0.3


def test_too_few_cars_are_refused():
    with pytest.raises(ValueError, match="at least 20 cars, got 5"):
        fit_calibration(**draw(5, 0))


def test_a_calibration_survives_a_card():
    calibration = fit_calibration(**draw(50, 0))
    assert calibration_from(calibration.as_dict()) == calibration
    assert calibration_from(None).scale == 1


def test_a_quantile_counts_weights():
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([1.0, 8.0, 1.0])
    assert weighted_quantile(values, weights, 0.5) == 1
    assert weighted_quantile(values, weights, 0.95) == 3
