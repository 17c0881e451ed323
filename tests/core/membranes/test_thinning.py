"""Thinning: lines of one pixel where they should be, regions whole and apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import ndimage

from roteq_core.membranes.partitions import compare_partitions
from roteq_core.membranes.thinning import thin_membranes


@pytest.mark.parametrize(
    ("wall", "line"), [((3,), 3), ((3, 4, 5), 4), ((2, 3, 4, 5, 6), 4)]
)
def test_an_odd_wall_is_thinned_to_its_middle(wall: tuple[int, ...], line: int) -> None:
    membranes = np.zeros((6, 9), bool)
    membranes[:, wall] = True
    regions = thin_membranes(membranes)
    assert np.flatnonzero(regions[0] == 0).tolist() == [line]
    assert regions[0, 0] != regions[0, -1]
    assert np.unique(regions[:, :line]).size == np.unique(regions[:, line + 1 :]).size


def test_an_even_wall_leaves_its_line_to_the_larger_region() -> None:
    membranes = np.zeros((6, 9), bool)
    membranes[:, 2:4] = True
    assert np.flatnonzero(thin_membranes(membranes)[0] == 0).tolist() == [2]
    assert np.flatnonzero(thin_membranes(membranes[:, ::-1])[0] == 0).tolist() == [6]


def test_a_line_that_ends_inside_a_region_vanishes() -> None:
    membranes = np.zeros((9, 9), bool)
    membranes[4, :6] = True
    assert (thin_membranes(membranes) == 1).all()


def test_without_regions_the_image_is_one_region() -> None:
    assert (thin_membranes(np.ones((4, 5), bool)) == 1).all()
    assert (thin_membranes(np.zeros((4, 5), bool)) == 1).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_thinning_keeps_the_regions_apart_and_whole(
    seed: int, height: int, width: int
) -> None:
    noise = np.random.default_rng(seed).normal(size=(height, width))
    membranes = ndimage.gaussian_filter(noise, 1) > 0
    cells, count = ndimage.label(~membranes)
    regions = thin_membranes(membranes)
    assert regions.max() == max(1, count)
    if count > 1:
        np.testing.assert_array_equal(regions[~membranes], cells[~membranes])
    for axis in (0, 1):
        first = np.take(regions, range(regions.shape[axis] - 1), axis)
        second = np.take(regions, range(1, regions.shape[axis]), axis)
        assert not np.any((first != second) & (first > 0) & (second > 0))


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_scores_of_thinned_membranes_turn_with_the_image(turns: int) -> None:
    noise = np.random.default_rng(0).normal(size=(2, 120, 90))
    walls, truth = ndimage.gaussian_filter(noise, (0, 3, 3)) > 0.02
    cells, _ = ndimage.label(truth)
    upright = compare_partitions(thin_membranes(walls), cells)
    turned = compare_partitions(
        thin_membranes(np.rot90(walls, turns)), np.rot90(cells, turns)
    )
    assert turned.v_rand == pytest.approx(upright.v_rand, abs=1e-12)
    assert turned.v_info == pytest.approx(upright.v_info, abs=1e-12)
