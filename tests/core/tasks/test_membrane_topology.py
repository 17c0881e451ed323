import numpy as np
import pytest

from roteq_core.tasks.membrane_targets import BESIDE, CENTER, IGNORED, INSIDE
from roteq_core.tasks.membrane_topology import critical_pixels


@pytest.fixture
def two_cells() -> np.ndarray:
    """A membrane down the middle: two pixels of center, one ignored on each side."""
    classes = np.full((32, 40), INSIDE, np.uint8)
    classes[:, 17:23] = BESIDE
    classes[:, 18:22] = IGNORED
    classes[:, 19:21] = CENTER
    return classes


def probability(classes: np.ndarray) -> np.ndarray:
    return np.where(classes == CENTER, 0.9, 0.1)


def test_a_right_answer_has_no_critical_pixel(two_cells):
    assert not critical_pixels(probability(two_cells), two_cells).any()


def test_a_gap_that_joins_two_cells_is_critical_where_the_line_should_be(two_cells):
    p = probability(two_cells)
    p[10:12] = 0.3
    expected = np.zeros(p.shape, bool)
    expected[10:12, 19:21] = True
    assert np.array_equal(critical_pixels(p, two_cells), expected)


def test_a_dent_that_joins_nothing_is_not_critical(two_cells):
    p = probability(two_cells)
    p[10:12, 19] = 0.3
    assert not critical_pixels(p, two_cells).any()


def test_a_wall_that_cuts_a_cell_is_critical(two_cells):
    p = probability(two_cells)
    p[15:17, :19] = 0.9
    expected = np.zeros(p.shape, bool)
    expected[15:17, :18] = True  # what is ignored is not asked about
    assert np.array_equal(critical_pixels(p, two_cells), expected)


def test_a_stub_that_cuts_nothing_off_is_not_critical(two_cells):
    p = probability(two_cells)
    p[15:17, 4:19] = 0.9
    assert not critical_pixels(p, two_cells).any()


def test_a_speck_cut_off_at_the_rim_is_not_critical(two_cells):
    p = probability(two_cells)
    p[:5, 4] = p[4, :5] = 0.9  # 16 pixels in the corner
    assert not critical_pixels(p, two_cells).any()


def test_a_plane_without_cells_or_without_membranes_has_none():
    shape = (16, 16)
    for value in (INSIDE, CENTER, IGNORED):
        classes = np.full(shape, value, np.uint8)
        assert not critical_pixels(np.full(shape, 0.2), classes).any()
