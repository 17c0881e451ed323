from __future__ import annotations

import numpy as np
import pytest

from roteq_core.areas import CONTEXT, check_area, with_context


@pytest.mark.parametrize(
    "area", [(0, 0, 5, 5), (300, 301, 320, 400), (990, 5, 1000, 900)]
)
def test_context_holds_the_area_and_begins_on_whole_strides(area):
    plane = np.arange(1000 * 900).reshape(1000, 900)
    read, keep = with_context(area, plane.shape)
    found = plane[read[0] : read[2], read[1] : read[3]]
    found = found[keep[0] : keep[2], keep[1] : keep[3]]
    assert (found == plane[area[0] : area[2], area[1] : area[3]]).all()
    assert [side % 8 for side in read] == [0, 0, 1000 % 8, 900 % 8]
    for near, far in ((area[0], read[0]), (area[1], read[1])):
        assert far == 0 or near - far >= CONTEXT


@pytest.mark.parametrize("area", [(0, 0, 0, 5), (-1, 0, 5, 5), (0, 0, 11, 5)])
def test_areas_outside_the_plane_are_refused(area):
    with pytest.raises(ValueError, match=r"lie in the plane of 10 × 20 pixels, got"):
        check_area(area, (10, 20))
