from __future__ import annotations

import numpy as np
import pytest

from roteq_core.resample import resample, scaled_shape


@pytest.mark.parametrize("factor", [0.3, 0.5, 2.0, 3.7])
def test_slope_stays_a_slope_at_every_scale(factor):
    shape = (40, 60)
    new = scaled_shape(shape, factor)
    # Positions of pixel centers, as shares of the image.
    image = np.broadcast_to((np.arange(60) + 0.5) / 60, shape)
    out = resample(image, new)
    assert out.shape == new
    expected = (np.arange(new[1]) + 0.5) / new[1]
    inner = slice(new[1] // 6, -(new[1] // 6))
    np.testing.assert_allclose(out[new[0] // 2][inner], expected[inner], atol=0.01)


def test_same_shape_is_the_image_itself():
    image = np.zeros((3, 4), np.float32)
    assert resample(image, (3, 4)) is image


def test_no_image_becomes_empty():
    assert scaled_shape((3, 200), 0.01) == (1, 2)


def test_fine_stripes_vanish_instead_of_beating():
    image = np.broadcast_to(np.arange(64) % 2, (64, 64)).astype(float)
    out = resample(image, (20, 20))
    assert np.abs(out - 0.5).max() < 0.2
