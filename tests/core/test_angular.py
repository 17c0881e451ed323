"""Errors of angles: wrap-around, summaries, Rayleigh's test."""

from __future__ import annotations

import numpy as np
import pytest

from roteq_core.angles import angle_from_heading
from roteq_core.angular import angular_error, rayleigh_test, summarize_headings

deg = np.deg2rad


@pytest.mark.parametrize(
    ("predicted", "truth", "directed", "axial"),
    [
        (0, 0, 0, 0),
        (359, 1, 2, 2),
        (1, 359, 2, 2),
        (90, 270, 180, 0),
        (179, 1, 178, 2),
        (10, 100, 90, 90),
        (-170, 185, 5, 5),
        (720, 30, 30, 30),
    ],
)
def test_errors_wrap_around(
    predicted: float, truth: float, directed: float, axial: float
) -> None:
    assert angular_error(deg(predicted), deg(truth)) == pytest.approx(directed)
    assert angular_error(deg(predicted), deg(truth), axial=True) == pytest.approx(
        axial, abs=1e-9
    )


def test_headings_are_summarized() -> None:
    truth = angle_from_heading([0, 350, 90, 180])
    predicted = truth + deg([10, -10, 170, 20])
    summary = summarize_headings(predicted, truth, bins=4, histogram_step=30)
    assert summary.count == 4
    assert summary.mean == pytest.approx(52.5)
    assert summary.median == pytest.approx(15)
    assert summary.share_good == 0.5
    assert summary.share_flipped == 0.25
    assert summary.histogram == (3, 0, 0, 0, 0, 1)
    assert [b.count for b in summary.bins] == [2, 1, 1, 0]
    assert (summary.bins[0].low, summary.bins[0].high) == (-45, 45)
    assert summary.bins[0].mean == pytest.approx(10)
    assert summary.bins[1].share_flipped == 1
    assert np.isnan(summary.bins[3].mean)


def test_a_constant_turn_is_the_bias() -> None:
    truth = np.linspace(0, 6, 50)
    assert summarize_headings(truth - 0.1, truth).bias == pytest.approx(
        -np.rad2deg(0.1)
    )


def test_wrong_headings_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one, got 0 and 0"):
        summarize_headings([], [])
    with pytest.raises(ValueError, match="got 2 and 1"):
        summarize_headings([1, 2], [1])
    with pytest.raises(ValueError, match="must divide 180, got 7"):
        summarize_headings([1], [1], histogram_step=7)
    with pytest.raises(ValueError, match="bins must be at least 1, got 0"):
        summarize_headings([1], [1], bins=0)


def test_uniform_angles_are_rejected_as_often_as_stated() -> None:
    rng = np.random.default_rng(1)
    p_values = [rayleigh_test(rng.uniform(0, 2 * np.pi, 20))[1] for _ in range(2000)]
    assert np.mean(np.array(p_values) < 0.05) == pytest.approx(0.05, abs=0.015)
    assert np.mean(np.array(p_values) < 0.5) == pytest.approx(0.5, abs=0.04)


def test_axes_that_agree_are_found_only_as_axes() -> None:
    rng = np.random.default_rng(2)
    axes = rng.normal(0.3, 0.1, 100) + np.pi * rng.integers(0, 2, 100)
    assert rayleigh_test(axes)[1] > 0.01
    resultant, p_value = rayleigh_test(axes, period=np.pi)
    assert resultant > 0.95
    assert p_value < 1e-12
    assert all(np.isnan(rayleigh_test([])))
