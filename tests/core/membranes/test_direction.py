"""Directions of membranes: lines, rings and junctions of known direction."""

from __future__ import annotations

import numpy as np
import pytest

from roteq_core.angles import wrap_axial
from roteq_core.membranes.direction import (
    DirectionError,
    direction_error,
    membrane_direction,
    structure_tensor_direction,
)

V, U = np.mgrid[-50:51, -50:51].astype(float)


def line(angle: float, half_width: float) -> np.ndarray:
    """Draw a line through the center, `angle` from right towards down."""
    return np.abs(np.cos(angle) * V - np.sin(angle) * U) < half_width


def ray(angle: float, half_width: float) -> np.ndarray:
    return line(angle, half_width) & (np.cos(angle) * U + np.sin(angle) * V > 0)


@pytest.mark.parametrize("half_width", [1.5, 3.0, 5.0, 8.0])
def test_lines_at_many_angles(half_width: float) -> None:
    means = []
    for degrees in range(0, 180, 7):
        truth = np.deg2rad(degrees)
        angle, weight = membrane_direction(line(truth, half_width))
        assert ((angle >= 0) & (angle < np.pi)).all()
        error = direction_error(angle, np.full(angle.shape, truth), weight)
        means.append(error.mean)
        assert weight[line(truth, half_width)].mean() > 0.9
    assert max(means) < 2
    assert np.mean(means) < 0.8


def test_down_right_is_between_right_and_down() -> None:
    for degrees in (0, 45, 90, 135):
        angle, _ = membrane_direction(line(np.deg2rad(degrees), 2.6))
        assert np.rad2deg(angle[50, 50]) == pytest.approx(degrees, abs=0.1)
    down_right = np.eye(101, dtype=bool) | np.eye(101, k=1, dtype=bool)
    assert np.rad2deg(membrane_direction(down_right)[0][50, 50]) == pytest.approx(45)


@pytest.mark.parametrize("radius", [15, 25, 40])
def test_rings(radius: float) -> None:
    ring = np.abs(np.hypot(U, V) - radius) < 3
    angle, weight = membrane_direction(ring)
    tangent = wrap_axial(np.arctan2(V, U) + np.pi / 2)
    error = direction_error(angle, tangent, weight)
    assert error.mean < 1
    assert error.pixels == ring.sum()
    assert weight[ring].min() > 0.7


def test_junctions_and_blobs_have_little_weight() -> None:
    star = np.any([ray(np.deg2rad(a), 3) for a in (10, 130, 250)], axis=0)
    _, weight = membrane_direction(star)
    assert weight[50, 50] < 0.05
    assert weight[ray(np.deg2rad(10), 3) & (np.hypot(U, V) > 15)].min() > 0.9
    blob = np.hypot(U, V) < 20
    _, weight = membrane_direction(blob)
    assert weight[50, 50] == 0
    assert weight[np.hypot(U, V) < 8].max() == 0


def test_a_line_that_leaves_the_image_keeps_its_direction() -> None:
    truth = np.deg2rad(35)
    angle, weight = membrane_direction(line(truth, 3))
    rim = line(truth, 3) & (np.maximum(np.abs(U), np.abs(V)) > 45)
    assert weight[rim].min() > 0.9
    assert direction_error(angle[rim], np.full(rim.sum(), truth)).mean < 2


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_directions_turn_with_the_image(turns: int) -> None:
    rng = np.random.default_rng(0)
    membranes = np.zeros((64, 48), bool)
    for row, column in rng.integers(5, 43, (20, 2)):
        membranes[row : row + 12, column : column + 3] = True
    angle, weight = membrane_direction(membranes)
    turned, turned_weight = membrane_direction(np.rot90(membranes, turns))
    np.testing.assert_allclose(np.rot90(weight, turns), turned_weight, atol=1e-12)
    expected = np.rot90(angle, turns) - turns * np.pi / 2  # rot90 is anticlockwise
    assert direction_error(turned, expected, turned_weight).mean < 1e-6


@pytest.mark.parametrize("membranes", [np.zeros((20, 30)), np.ones((20, 30))])
def test_without_edges_nothing_has_weight(membranes: np.ndarray) -> None:
    angle, weight = membrane_direction(membranes.astype(bool))
    assert not weight.any()
    assert np.isfinite(angle).all()
    assert membrane_direction(np.ones((1, 2), bool))[1].tolist() == [[0, 0]]


@pytest.mark.parametrize("degrees", range(0, 180, 15))
def test_the_structure_tensor_finds_gratings(degrees: int) -> None:
    truth = np.deg2rad(degrees)
    wave = 100 + 50 * np.sin(0.5 * (np.cos(truth) * V - np.sin(truth) * U))
    angle, coherence = structure_tensor_direction(wave)
    inner = (slice(10, -10), slice(10, -10))
    assert direction_error(angle[inner], np.full((81, 81), truth)).mean < 1
    assert coherence[inner].min() > 0.95


def test_a_flat_image_has_no_coherence() -> None:
    angle, coherence = structure_tensor_direction(np.full((20, 20), 7, np.uint8))
    assert not coherence.any()
    assert np.isfinite(angle).all()


def test_errors_are_axial_and_weighted() -> None:
    truth = np.zeros(4)
    predicted = np.deg2rad([179, 30, 180, 90])
    assert direction_error(predicted, truth, [1, 2, 1, 0]) == DirectionError(
        mean=pytest.approx(61 / 4),
        median=pytest.approx(1),
        share_good=0.5,
        pixels=3,
    )
    assert direction_error(predicted, truth).mean == pytest.approx(121 / 4)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(H, W\), got \(2, 3, 4\)"):
        membrane_direction(np.zeros((2, 3, 4), bool))
    with pytest.raises(ValueError, match="must be bool, got uint8"):
        membrane_direction(np.zeros((3, 4), np.uint8))
    with pytest.raises(ValueError, match=r"shape of the angles \(2,\), got \(3,\)"):
        direction_error([0, 1], [0, 1], [1, 1, 1])
    with pytest.raises(ValueError, match="above 0 somewhere"):
        direction_error([0.0], [0.0], [0.0])
