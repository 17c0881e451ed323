from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from roteq_core.tiles import Span, plan_tiles, round_up, symmetric_padding

SIDES = st.integers(1, 12).map(lambda n: 8 * n)


@given(SIDES, SIDES, st.integers(1, 80), st.integers(0, 40))
def test_every_pixel_is_kept_exactly_once(height, width, tile, reach):
    count = np.zeros((height, width), int)
    for t in plan_tiles(height, width, tile=tile, reach=reach, stride=8):
        count[t.target] += 1
    assert (count == 1).all()


@given(SIDES, SIDES, st.integers(1, 80), st.integers(0, 40))
def test_stitching_a_picture_gives_the_picture(height, width, tile, reach):
    picture = np.arange(height * width).reshape(height, width)
    stitched = np.zeros_like(picture)
    for t in plan_tiles(height, width, tile=tile, reach=reach, stride=8):
        stitched[t.target] = picture[t.source][t.kept]
    assert (stitched == picture).all()


@given(SIDES, SIDES, st.integers(1, 80), st.integers(0, 40))
def test_tiles_read_the_reach_and_start_on_the_stride(height, width, tile, reach):
    for t in plan_tiles(height, width, tile=tile, reach=reach, stride=8):
        for read, keep, length in zip(t.read, t.keep, (height, width), strict=True):
            assert read.start % 8 == 0
            assert read.start <= max(0, keep.start - reach)
            assert read.stop >= min(length, keep.stop + reach)


def test_image_smaller_than_a_tile_is_one_tile():
    (tile,) = plan_tiles(24, 16, tile=512, reach=79, stride=8)
    assert tile.target == (slice(0, 24), slice(0, 16)) == tile.source


@pytest.mark.parametrize(("height", "width"), [(0, 8), (12, 8), (8, 9)])
def test_sides_off_the_stride_are_refused(height, width):
    with pytest.raises(ValueError, match=f"multiples of the stride 8, got {height}x"):
        plan_tiles(height, width, tile=8, reach=0, stride=8)


def test_tile_below_one_pixel_is_refused():
    with pytest.raises(ValueError, match="at least 1 pixel, got 0"):
        plan_tiles(8, 8, tile=0, reach=0, stride=8)


def test_empty_span_is_refused():
    with pytest.raises(ValueError, match="start < stop"):
        Span(3, 3)


def test_padding_is_even_where_it_can_be():
    assert symmetric_padding(16, 8) == (0, 0)
    assert symmetric_padding(14, 8) == (1, 1)
    assert symmetric_padding(13, 8) == (1, 2)
    assert round_up(13, 8) == 16


@given(st.integers(0, 30), st.integers(1, 30), st.integers(1, 40))
def test_cutting_a_span_loses_and_doubles_nothing(start, length, most):
    parts = Span(start, start + length).cut(most)
    pixels = [n for part in parts for n in range(part.start, part.stop)]
    assert pixels == list(range(start, start + length))
    assert max(part.length for part in parts) <= most


def test_a_span_grows_up_to_the_ends_of_its_axis():
    assert Span(5, 8).grown(3, 20) == Span(2, 11)
    assert Span(1, 8).grown(3, 10) == Span(0, 10)
