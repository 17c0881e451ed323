from __future__ import annotations

import numpy as np
import pytest

from roteq_core.fields.placed import LayerField, vectors_within


@pytest.mark.parametrize(
    ("area", "expected"),
    [
        ((0, 0, 32, 40), (0, 0, 8, 10)),
        ((3, 3, 7, 7), (1, 1, 2, 2)),
        ((-50, -50, 2, 3), (0, 0, 1, 1)),
        ((3, 0, 5, 40), None),
    ],
)
def test_area_of_pixels_becomes_an_area_of_vectors(area, expected):
    start, stop = vectors_within(area, (1.5, 1.5), (4.0, 4.0), (8, 10))
    found = (*start.tolist(), *stop.tolist()) if (start < stop).all() else None
    assert found == expected


def test_area_keeps_its_vectors_and_places_them_in_it():
    field = np.arange(160, dtype=np.float32).reshape(1, 2, 8, 10)
    whole = LayerField(field, (0,), (1.5, 1.5), (4.0, 4.0))
    part = whole.within((4, 7, 16, 40))
    np.testing.assert_array_equal(part.field, field[:, :, 1:4, 2:])
    assert part.first == (1.5, 2.5)
    assert part.step == (4.0, 4.0)


def test_area_between_vectors_is_refused():
    field = np.zeros((1, 2, 8, 10), np.float32)
    whole = LayerField(field, (0,), (1.5, 1.5), (4.0, 4.0))
    with pytest.raises(ValueError, match="4 × 4 pixels apart, and none in"):
        whole.within((3, 0, 5, 40))
