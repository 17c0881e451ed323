"""Two divisions into regions: hand-computed cases, scikit-image, overlays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from skimage.metrics import adapted_rand_error, variation_of_information

from roteq_core.membranes.partitions import (
    compare_partitions,
    merges_and_splits,
    overlap_of,
)


def row(*labels: int) -> np.ndarray:
    return np.array([labels])


@st.composite
def label_pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    shape = draw(st.integers(2, 12)), draw(st.integers(2, 12))
    predicted = rng.integers(1, draw(st.integers(2, 9)), shape)
    truth = rng.integers(0, draw(st.integers(2, 9)), shape)
    truth[0, 0] = 1
    return predicted, truth


def test_equal_partitions_score_one_whatever_the_labels() -> None:
    score = compare_partitions(row(7, 7, 3, 3), row(1, 1, 2, 2))
    assert score.v_rand == score.v_info == 1
    assert score.vi_split == score.vi_merge == score.adapted_rand_error == 0


def test_a_merge_of_four_and_two_pixels() -> None:
    score = compare_partitions(row(1, 1, 1, 1, 1, 1), row(1, 1, 1, 1, 2, 2))
    # Σp² = 16 + 4, Σt² = 20, Σs² = 36
    assert score.v_rand == pytest.approx(20 / 28)
    assert score.rand_split == 1
    assert score.rand_merge == pytest.approx(20 / 36)
    assert score.v_info == 0
    assert score.vi_split == 0
    # H = -(2/3 log 2/3 + 1/3 log 1/3)
    assert score.vi_merge == pytest.approx(np.log2(3) - 2 / 3)


def test_a_split_in_halves() -> None:
    score = compare_partitions(row(1, 2, 3, 3), row(1, 1, 2, 2))
    # Σp² = 1 + 1 + 4, Σt² = 8, Σs² = 6; I = 1 bit, H(S) = 1.5, H(T) = 1
    assert score.v_rand == pytest.approx(6 / 7)
    assert score.v_info == pytest.approx(2 / 2.5)
    assert score.info_split == pytest.approx(1 / 1.5)
    assert score.info_merge == 1
    assert score.vi_split == pytest.approx(0.5)


def test_a_line_through_a_region_is_made_of_lone_pixels() -> None:
    score = compare_partitions(row(1, 1, 0, 2, 2), row(1, 1, 1, 1, 1))
    # Σp² = Σs² = 4 + 1 + 4, Σt² = 25
    assert score.v_rand == pytest.approx(9 / 17)
    # H(S) = 2 (2/5 log 5/2) + 1/5 log 5
    entropy = 0.8 * np.log2(2.5) + 0.2 * np.log2(5)
    assert score.vi_split == pytest.approx(entropy)


def test_two_line_pixels_equal_two_regions_of_one_pixel() -> None:
    truth = row(1, 1, 1, 1, 2, 2)
    assert compare_partitions(row(1, 0, 0, 2, 3, 3), truth) == compare_partitions(
        row(1, 8, 9, 2, 3, 3), truth
    )


def test_pixels_outside_the_true_foreground_do_not_count() -> None:
    truth = row(1, 1, 0, 0, 2, 2)
    good = compare_partitions(row(1, 1, 1, 2, 2, 2), truth)
    assert good == compare_partitions(row(1, 1, 5, 0, 2, 2), truth)
    assert good.v_rand == 1


def test_one_region_in_both_is_perfect_although_its_entropy_is_zero() -> None:
    score = compare_partitions(row(4, 4, 4), row(1, 1, 1))
    assert score.v_info == score.info_split == score.info_merge == 1


@given(label_pairs())
@settings(max_examples=60, deadline=None)
def test_agrees_with_scikit_image(pair: tuple[np.ndarray, np.ndarray]) -> None:
    predicted, truth = pair
    score = compare_partitions(predicted, truth)
    foreground = truth > 0
    split, merge = variation_of_information(truth[foreground], predicted[foreground])
    assert score.vi_split == pytest.approx(split, abs=1e-9)
    assert score.vi_merge == pytest.approx(merge, abs=1e-9)
    with np.errstate(invalid="ignore"):
        error, _, _ = adapted_rand_error(truth, predicted)
    if not np.isnan(error):  # no two pixels share a region in both
        assert score.adapted_rand_error == pytest.approx(error, abs=1e-9)


@given(label_pairs())
@settings(max_examples=30, deadline=None)
def test_sparse_labels_give_the_same_table(
    pair: tuple[np.ndarray, np.ndarray],
) -> None:
    predicted, truth = pair
    sparse = overlap_of(predicted * 10**9, np.where(truth, truth + 10**10, 0))
    dense = overlap_of(predicted, truth)
    assert sparse.total == dense.total
    np.testing.assert_array_equal(sparse.predicted, dense.predicted * 10**9)
    np.testing.assert_array_equal(sparse.truth, dense.truth + 10**10)
    np.testing.assert_array_equal(sparse.pixels, dense.pixels)
    np.testing.assert_array_equal(sparse.smaller, dense.smaller)


def test_wrong_labels_are_refused() -> None:
    with pytest.raises(ValueError, match=r"same shape.*\(1, 2\).*\(1, 3\)"):
        compare_partitions(row(1, 1), row(1, 1, 1))
    with pytest.raises(ValueError, match="integer labels, got float64"):
        compare_partitions(np.ones((1, 2)), row(1, 1))
    with pytest.raises(ValueError, match="negative label, got -1"):
        compare_partitions(row(-1, 1), row(1, 1))
    with pytest.raises(ValueError, match="must have a region"):
        compare_partitions(row(1, 1), row(0, 0))


def test_merges_and_splits_are_painted_and_listed() -> None:
    truth = np.repeat(row(1, 1, 2, 2, 3, 3), 4, axis=0)
    predicted = np.repeat(row(5, 5, 5, 5, 6, 7), 4, axis=0)
    found = merges_and_splits(predicted, truth, min_pixels=4)
    assert found.merges == {5: (1, 2)}
    assert found.splits == {3: (6, 7)}
    np.testing.assert_array_equal(found.merged, np.where(predicted == 5, 5, 0))
    np.testing.assert_array_equal(found.split, np.where(truth == 3, 3, 0))


def test_regions_belong_together_by_a_tenth_of_the_smaller_one() -> None:
    predicted = np.repeat(row(1, 2), [70, 1000], axis=1)
    truth = np.roll(predicted, -7, axis=1)[:, :-7]
    found = merges_and_splits(predicted[:, :-7], truth, min_pixels=5)
    assert found.merges == {1: (1, 2)}
    assert found.splits == {2: (2, 1)}
    stricter = merges_and_splits(predicted[:, :-7], truth, min_pixels=5, min_share=0.12)
    assert stricter.merges == stricter.splits == {}


def test_a_border_off_by_a_pixel_is_no_merge() -> None:
    truth = np.repeat(np.repeat(row(1, 2), 20, axis=1), 20, axis=0)
    found = merges_and_splits(np.roll(truth, 1, axis=1)[:, 1:], truth[:, 1:])
    assert found.merges == found.splits == {}
    assert not found.merged.any()
    assert not found.split.any()
