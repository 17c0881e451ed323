"""Gaps are joined along membranes, nowhere else."""

import numpy as np
import pytest
from skimage.measure import label

from roteq_core.config import SegmentOptions
from roteq_core.jobs import drain
from roteq_core.membranes import gap_joining
from roteq_core.membranes.gap_joining import join_gaps
from roteq_core.membranes.segment import Segmenter


def tilted_line(angle: float, gap: int, size: int = 64):
    """A line through the middle with a gap in it, and its direction everywhere."""
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    across = x * np.sin(angle) - y * np.cos(angle)
    along = x * np.cos(angle) + y * np.sin(angle)
    line = np.exp(-(across**2) / 4) * (np.abs(along) > gap / 2)
    cos2 = np.full((size, size), np.cos(2 * angle))
    sin2 = np.full((size, size), np.sin(2 * angle))
    return (a.astype(np.float32) for a in (line, cos2, sin2))


def cells_of(probability: np.ndarray) -> int:
    return int(label(probability < 0.25, connectivity=1).max())


@pytest.mark.parametrize("degrees", [0, 30, 45, 77, 90, 160])
def test_a_short_gap_is_closed_at_every_angle(degrees):
    line, cos2, sin2 = tilted_line(np.radians(degrees), gap=4)
    assert cells_of(line) == 1
    assert cells_of(join_gaps(line, cos2, sin2)) == 2


def test_a_gap_is_not_closed_across_the_membrane():
    line, cos2, sin2 = tilted_line(np.radians(30), gap=4)
    assert cells_of(join_gaps(line, -cos2, -sin2)) == 1


def test_a_wide_opening_stays_open():
    line, cos2, sin2 = tilted_line(0.0, gap=20)
    assert cells_of(join_gaps(line, cos2, sin2)) == 1


def test_width_0_changes_nothing():
    line, cos2, sin2 = tilted_line(0.3, gap=4)
    assert join_gaps(line, cos2, sin2, 0) is line


def test_it_turns_with_the_image():
    probability, cos2, sin2 = np.random.default_rng(3).random((3, 40, 56)).astype(
        np.float32
    ) - np.array([0, 0.5, 0.5], np.float32).reshape(3, 1, 1)
    joined = join_gaps(probability, cos2, sin2)
    turned = join_gaps(*(np.rot90(m).copy() for m in (probability, -cos2, -sin2)))
    np.testing.assert_allclose(turned, np.rot90(joined), atol=1e-5)


def test_bands_of_rows_leave_no_seam(monkeypatch):
    maps = np.random.default_rng(3).standard_normal((3, 50, 33)).astype(np.float32)
    whole = join_gaps(*maps)
    monkeypatch.setattr(gap_joining, "_BAND", 7)
    np.testing.assert_allclose(join_gaps(*maps), whole, atol=1e-6)


def test_flat_probability_stays_flat_up_to_the_border():
    flat = np.full((20, 30), 0.4, np.float32)
    axis = np.ones_like(flat)
    np.testing.assert_allclose(join_gaps(flat, axis, axis), 0.4, rtol=1e-6)


def test_segmenting_joins_unless_told_not_to(tiny_model):
    plane = np.random.default_rng(3).random((48, 48)).astype(np.float32)
    found = {}
    for join in (0.0, 3.0):
        segmenter = Segmenter(
            SegmentOptions(join=join, close=False, direction=True), tiny_model
        )
        job = segmenter.iter_plane(plane, segmenter.normalization(plane[None]))
        found[join] = drain(job)
    raw, joined = found[0.0], found[3.0]
    np.testing.assert_array_equal(raw.angle, joined.angle)
    expected = join_gaps(
        raw.probability,
        raw.strength * np.cos(2 * raw.angle),
        raw.strength * np.sin(2 * raw.angle),
    )
    np.testing.assert_allclose(joined.probability, expected, atol=1e-4)
    assert np.abs(joined.probability - raw.probability).max() > 0
