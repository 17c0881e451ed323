"""Walls are closed: a gap counts as much as the wall that it is in."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, maximum_filter
from skimage.measure import label

from roteq_core.config import SegmentOptions
from roteq_core.jobs import Report, drain
from roteq_core.membranes import walls
from roteq_core.membranes.gap_joining import join_gaps
from roteq_core.membranes.segment import Segmenter
from roteq_core.membranes.walls import close_walls, iter_close_walls, mend_membranes
from roteq_core.resample import resample


def wall(gap: int, strength: float = 0.9, size: int = 96) -> np.ndarray:
    """A wall down the middle that fades to a tenth for some pixels."""
    y, x = np.mgrid[:size, :size].astype(np.float32)
    along = np.where(np.abs(y - size / 2) < gap / 2, 0.1 * strength, strength)
    return (along * np.exp(-((x - size / 2) ** 2) / 8)).astype(np.float32)


def noise(shape: tuple[int, int]) -> np.ndarray:
    smooth = gaussian_filter(np.random.default_rng(5).standard_normal(shape), 2.0)
    return (1 / (1 + np.exp(-8 * smooth))).astype(np.float32)


def cells_of(probability: np.ndarray, threshold: float) -> int:
    return int(label(probability < threshold, connectivity=1).max())


def test_a_gap_in_a_strong_wall_is_closed():
    open_wall = wall(gap=12)
    assert cells_of(open_wall, 0.3) == 1
    assert cells_of(close_walls(open_wall), 0.3) == 2


def test_what_was_closed_stays_closed_when_pixels_change_their_size():
    closed = close_walls(wall(gap=12))
    assert cells_of(closed, 0.5) == 2
    for side in (70, 134, 145):
        assert cells_of(resample(closed, (side, side)), 0.5) == 2


def test_a_wall_that_is_mostly_gap_stays_open():
    assert cells_of(close_walls(wall(gap=80)), 0.3) == 1


def test_what_is_left_of_a_wall_fades():
    stump = wall(gap=80)
    closed = close_walls(stump)
    assert stump[2, 48] > 0.85
    assert closed[2, 48] < 0.7 * stump[2, 48]


def test_a_weak_ridge_cuts_no_notch_into_the_wall_it_ends_at():
    image = wall(gap=0)
    y, x = np.mgrid[:96, :96].astype(np.float32)
    ridge = 0.1 * np.exp(-((y - 48) ** 2) / 8) * (x < 48)
    image = np.maximum(image, ridge.astype(np.float32))
    closed = close_walls(image)
    assert (walls.wall_strength(image)[48, 10:40] > 0).any()  # there is such a line
    flank = closed[30:66, 45:48]
    assert (flank > 0.9 * np.median(flank, 0)).all()


def test_ridges_within_cells_are_not_drawn():
    faint = wall(gap=12, strength=0.15)
    assert (close_walls(faint) <= faint).all()


def test_values_stay_between_those_there_were():
    image = noise((90, 70))
    closed = close_walls(image)
    assert closed.dtype == np.float32
    assert closed.min() >= 0
    assert closed.max() <= image.max()
    off_line = maximum_filter(walls.wall_strength(image), 3) == 0
    assert (closed <= image)[off_line].all()
    assert (closed < image)[off_line].any()
    assert (closed > image)[~off_line].any()


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_it_turns_with_the_image(quarters):
    image = noise((80, 64))
    turned = close_walls(np.rot90(image, quarters).copy())
    np.testing.assert_allclose(
        turned, np.rot90(close_walls(image), quarters), atol=1e-6
    )


@pytest.mark.parametrize("value", [0.0, 0.4, 1.0])
def test_an_even_image_stays_as_it_is(value):
    flat = np.full((20, 30), value, np.float32)
    np.testing.assert_array_equal(close_walls(flat), flat)


def test_blocks_hardly_differ_from_the_whole(monkeypatch):
    image = noise((150, 130))
    whole = close_walls(image)
    monkeypatch.setattr(walls, "BLOCK", 60)
    monkeypatch.setattr(walls, "MARGIN", 40)
    reports = []
    job = iter_close_walls(image)
    while True:
        try:
            reports.append(next(job))
        except StopIteration as end:
            blocks = end.value
            break
    assert [(r.done, r.total) for r in reports] == [(n, 9) for n in range(1, 10)]
    difference = np.abs(blocks - whole)
    assert (difference > 0.05).mean() < 0.02
    assert (difference == 0).mean() > 0.8


def test_mending_joins_and_closes():
    line, axis = wall(gap=12), np.ones((96, 96), np.float32)
    expected = close_walls(join_gaps(line, -axis, 0 * axis))
    np.testing.assert_array_equal(mend_membranes(line, -axis, 0 * axis), expected)


def test_segmenting_closes_unless_told_not_to(tiny_model):
    plane = np.random.default_rng(3).random((48, 48)).astype(np.float32)
    found = {}
    for close in (False, True):
        segmenter = Segmenter(SegmentOptions(close=close), tiny_model)
        job = segmenter.iter_plane(plane, segmenter.normalization(plane[None]))
        found[close] = drain(job).probability
    np.testing.assert_array_equal(found[True], close_walls(found[False]))
    assert np.abs(found[True] - found[False]).max() > 0


def test_progress_never_goes_back(tiny_model, monkeypatch):
    monkeypatch.setattr(walls, "BLOCK", 16)
    plane = np.random.default_rng(3).random((48, 48)).astype(np.float32)
    segmenter = Segmenter(SegmentOptions(tile=16), tiny_model)
    job = segmenter.iter_plane(plane, segmenter.normalization(plane[None]))
    shares = [r.done / r.total for r in job if isinstance(r, Report)]
    assert shares == sorted(shares)
    assert len(shares) > 10


def test_a_wall_ends_at_what_was_put_around_the_image_as_at_its_border():
    image = wall(gap=12)
    expected = close_walls(image)
    padded = np.pad(image, 30)
    outside = np.pad(np.zeros(image.shape, bool), 30, constant_values=True)
    inside = slice(30, -30), slice(30, -30)
    closed = close_walls(padded, outside)
    assert cells_of(closed[inside], 0.3) == 2
    np.testing.assert_allclose(closed[inside], expected, atol=0.05)
    # Taken for an image, the frame is a way around the wall, which parts nothing.
    assert cells_of(close_walls(padded)[inside], 0.3) == 1
