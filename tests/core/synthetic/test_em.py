"""EM-like stacks: repeatable, and their truth fits their image."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from roteq_core.angles import difference
from roteq_core.synthetic import em_stack


@pytest.fixture(scope="module")
def stack():
    return em_stack(3, (128, 160), seed=1)


def test_all_arrays_have_the_shape_of_the_stack(stack):
    kinds = {
        "image": np.uint8,
        "membranes": np.bool_,
        "cells": np.int32,
        "direction": np.float32,
        "direction_mask": np.bool_,
    }
    for name, kind in kinds.items():
        array = getattr(stack, name)
        assert array.shape == (3, 128, 160)
        assert array.dtype == kind


def test_the_same_seed_gives_the_same_stack(stack):
    again, other = em_stack(3, (128, 160), seed=1), em_stack(3, (128, 160), seed=2)
    np.testing.assert_array_equal(stack.image, again.image)
    np.testing.assert_array_equal(stack.cells, again.cells)
    assert (other.image != stack.image).any()


def test_membranes_are_dark_and_part_the_cells(stack):
    inside = stack.image[~stack.membranes].mean()
    assert stack.image[stack.membranes].mean() < inside - 25
    assert 0.12 < stack.membranes.mean() < 0.35
    assert ((stack.cells == 0) == stack.membranes).all()
    # Two cells never touch without a membrane between them.
    for first, second in (
        (stack.cells[:, 1:], stack.cells[:, :-1]),
        (stack.cells[:, :, 1:], stack.cells[:, :, :-1]),
    ):
        assert not ((first != second) & (first > 0) & (second > 0)).any()


def test_cells_keep_their_labels_through_depth(stack):
    both = (stack.cells[0] > 0) & (stack.cells[1] > 0)
    same = stack.cells[0][both] == stack.cells[1][both]
    assert same.mean() > 0.8


def test_direction_runs_along_the_membrane(stack):
    mask = stack.direction_mask
    assert mask.any()
    assert not (mask & ~stack.membranes).any()
    assert ((stack.direction >= 0) & (stack.direction < np.pi)).all()
    walls = ndimage.gaussian_filter(stack.membranes.astype(float), (0, 2, 2))
    down, right = np.gradient(walls, axis=(1, 2))
    steep = mask & (np.hypot(down, right) > 0.08)
    along = np.arctan2(down, right) + np.pi / 2
    error = np.abs(difference(stack.direction[steep], along[steep], period=np.pi))
    assert np.rad2deg(np.median(error)) < 8


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"slices": 0}, "slices must be at least 1, got 0"),
        ({"size": 16}, "size must be at least 32, got 16"),
        ({"membrane_px": 0.0}, r"membrane_px must be positive, got 0\.0"),
    ],
)
def test_bad_arguments_are_refused(arguments, rule):
    with pytest.raises(ValueError, match=rule):
        em_stack(seed=0, **arguments)
