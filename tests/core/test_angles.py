import numpy as np
import pytest
from hypothesis import given, strategies as st

from roteq_core import angles

ANY_ANGLE = st.floats(-1e4, 1e4)
DIRECTIONS = [
    # u, v, radians, heading, mathematical angle
    (1, 0, 0.0, 90.0, 0.0),  # right
    (0, 1, np.pi / 2, 180.0, 270.0),  # down
    (-1, 0, np.pi, 270.0, 180.0),  # left
    (0, -1, 3 * np.pi / 2, 0.0, 90.0),  # up
    (1, -1, 7 * np.pi / 4, 45.0, 45.0),  # right and up
]


@pytest.mark.parametrize(("u", "v", "angle", "heading", "ccw"), DIRECTIONS)
def test_known_directions_have_known_angles(u, v, angle, heading, ccw):
    assert angles.angle_from_vector(u, v) == pytest.approx(angle)
    assert angles.heading_from_angle(angle) == pytest.approx(heading)
    assert angles.ccw_from_angle(angle) == pytest.approx(ccw)
    assert angles.angle_from_heading(heading) == pytest.approx(angle)
    assert angles.angle_from_ccw(ccw) == pytest.approx(angle)
    assert angles.ccw_from_heading(heading) == pytest.approx(ccw)
    assert angles.heading_from_ccw(ccw) == pytest.approx(heading)


@pytest.mark.parametrize(("u", "v", "angle", "heading", "ccw"), DIRECTIONS)
def test_vectors_point_along_their_angle(u, v, angle, heading, ccw):
    expected = np.array([u, v]) / np.hypot(u, v)
    np.testing.assert_allclose(
        angles.vector_from_angle(angle), expected, atol=1e-12, rtol=0
    )


@given(ANY_ANGLE)
def test_conversions_undo_each_other(angle):
    def gap(other):
        return abs(angles.difference(other, angle))

    assert gap(angles.angle_from_heading(angles.heading_from_angle(angle))) < 1e-8
    assert gap(angles.angle_from_ccw(angles.ccw_from_angle(angle))) < 1e-8
    vector = angles.vector_from_angle(angle)
    assert gap(angles.angle_from_vector(*vector)) < 1e-8


@given(ANY_ANGLE)
def test_results_lie_in_their_half_open_ranges(angle):
    assert 0 <= angles.wrap_directed(angle) < 2 * np.pi
    assert 0 <= angles.wrap_axial(angle) < np.pi
    assert 0 <= angles.heading_from_angle(angle) < 360
    assert 0 <= angles.ccw_from_angle(angle) < 360
    assert 0 <= angles.ccw_from_heading(angle) < 360
    assert 0 <= angles.heading_from_ccw(angle) < 360


def test_a_tiny_negative_angle_wraps_to_zero_not_to_the_period():
    assert angles.wrap_directed(-1e-300) == 0
    assert angles.wrap_axial(-1e-300) == 0
    assert angles.ccw_from_heading(90 + 1e-14) == 0


def test_the_two_degree_conventions_turn_opposite_ways():
    step = angles.ccw_from_heading(31.0) - angles.ccw_from_heading(30.0)
    assert step == pytest.approx(-1.0)


@given(ANY_ANGLE, ANY_ANGLE, st.sampled_from([360.0, 180.0, 2 * np.pi]))
def test_the_difference_is_the_shortest_way_round(a, b, period):
    gap = float(angles.difference(a, b, period))
    assert -period / 2 <= gap < period / 2
    turns = (a - b - gap) / period
    assert turns == pytest.approx(round(turns), abs=1e-6)


def test_differences_cross_zero():
    assert angles.difference(350.0, 10.0, 360.0) == pytest.approx(-20)
    assert angles.difference(10.0, 350.0, 360.0) == pytest.approx(20)
    assert angles.difference(175.0, 5.0, 180.0) == pytest.approx(-10)


def test_arrays_keep_their_shape():
    grid = np.zeros((3, 4))
    assert angles.vector_from_angle(grid).shape == (3, 4, 2)
    assert angles.heading_from_angle(grid).shape == (3, 4)
    assert angles.difference(grid, 1.0).shape == (3, 4)


def test_the_circular_mean_crosses_zero():
    mean, resultant = angles.circular_mean(np.deg2rad([350.0, 10.0]))
    assert angles.difference(mean, 0.0) == pytest.approx(0, abs=1e-12)
    assert resultant == pytest.approx(np.cos(np.deg2rad(10)))


def test_the_axial_mean_joins_opposite_ends():
    mean, resultant = angles.circular_mean([0.1, 0.1 + np.pi], period=np.pi)
    assert mean == pytest.approx(0.1)
    assert resultant == pytest.approx(1.0)
    assert angles.circular_mean([0.1, 0.1 + np.pi])[1] == pytest.approx(0, abs=1e-12)


def test_weights_pull_the_mean():
    mean, _ = angles.circular_mean([0.0, np.pi / 2], weights=[1.0, 0.0])
    assert mean == pytest.approx(0.0)


def test_no_angles_have_no_mean():
    mean, resultant = angles.circular_mean([])
    assert np.isnan(mean)
    assert resultant == 0.0
    assert np.isnan(angles.circular_mean([1.0], weights=[0.0])[0])
