from __future__ import annotations

import numpy as np
import pytest

from roteq_core.fields.filter_sheet import filter_sheet


@pytest.fixture
def turned():
    """Give filters (2, 4, 3, 2, 5, 5), each weight its own number."""
    return np.arange(2 * 4 * 3 * 2 * 25, dtype=np.float32).reshape(2, 4, 3, 2, 5, 5)


def test_every_picture_stands_at_its_place(turned):
    sheet = filter_sheet(turned)
    assert sheet.image.shape == (2 * 3 * 2 * 6 - 1, 4 * 6 - 1)
    row = (1 * 3 + 2) * 2 + 1  # filter 1, map 2, v
    found = sheet.image[row * 6 : row * 6 + 5, 3 * 6 : 3 * 6 + 5]
    np.testing.assert_array_equal(found, turned[1, 3, 2, 1])
    assert sheet.rows[row] == "filter 1 map 2 v"
    assert np.isnan(sheet.image[5]).all()
    assert sheet.largest == turned.max()


def test_one_filter_can_be_shown_alone(turned):
    sheet = filter_sheet(turned, only=1, gap=0)
    assert sheet.image.shape == (3 * 2 * 5, 4 * 5)
    assert not np.isnan(sheet.image).any()
    assert sheet.rows[:3] == ("map 0 u", "map 0 v", "map 1 u")


def test_filters_on_images_are_named_shortly():
    sheet = filter_sheet(np.zeros((2, 8, 1, 1, 3, 3), np.float32))
    assert sheet.rows == ("filter 0", "filter 1")
    assert sheet.largest == 1.0


def test_mistakes_name_the_rule(turned):
    with pytest.raises(ValueError, match=r"must lie in 0…1, got 2"):
        filter_sheet(turned, only=2)
    with pytest.raises(ValueError, match=r"must have shape \(F, R, C"):
        filter_sheet(turned[0])
