"""Scores of membranes: perfect, thick, broken, turned; what they record and refuse."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import ndimage

from roteq_core.jobs import drain
from roteq_core.metrics import (
    DEFAULT_THRESHOLDS,
    iter_score_stack,
    pixel_error,
    score_labels,
    score_stack,
)


@pytest.fixture(scope="module")
def cells() -> np.ndarray:
    """Give labels (3, 80, 96) of a grid of cells with walls of 0, 3 pixels wide."""
    rows, columns = np.mgrid[:80, :96]
    labels = 1 + rows // 20 + 4 * (columns // 24)
    wall = (rows % 20 < 3) | (columns % 24 < 3)
    plane = np.where(wall, 0, labels)
    return np.stack([plane, np.roll(plane, 5, 0), np.roll(plane, 7, 1)])


@pytest.fixture(scope="module")
def blurred(cells: np.ndarray) -> np.ndarray:
    """Give a membrane probability with noise."""
    noise = np.random.default_rng(0).normal(0, 0.6, cells.shape)
    noise = ndimage.gaussian_filter(noise, (0, 1, 1))
    soft = ndimage.gaussian_filter((cells == 0).astype(float), (0, 1, 1))
    return np.clip(soft + noise, 0, 1)


def test_the_truth_itself_scores_one(cells: np.ndarray) -> None:
    score = score_stack(cells == 0, cells)
    assert score.v_rand == score.v_info == 1
    assert score.pixel_error == 0
    assert [row.threshold for row in score.sweep] == [0.5]


def test_thick_membranes_cost_next_to_nothing(cells: np.ndarray) -> None:
    thick = ndimage.binary_dilation(cells == 0, np.ones((1, 3, 3)), iterations=2)
    score = score_stack(thick, cells)
    assert score.v_rand > 0.999
    assert score.pixel_error > 0.2


def test_one_gap_merges_two_cells(cells: np.ndarray) -> None:
    truth = np.repeat([[1] * 10 + [0] + [2] * 10], 9, axis=0)
    broken = truth == 0
    broken[4] = False
    score = score_stack(broken, truth, polarity="membranes")
    # 90 + 90 pixels joined: Σp² = Σt² = 2 · 90², Σs² = 180²
    assert score.v_rand == pytest.approx(2 * 90**2 / (90**2 + 180**2 / 2))
    assert score.v_info == 0
    assert score.pixel_error == pytest.approx(1 / 189)


def test_the_best_mean_over_the_slices_counts(
    cells: np.ndarray, blurred: np.ndarray
) -> None:
    score = score_stack(blurred, cells)
    assert [row.threshold for row in score.sweep] == list(DEFAULT_THRESHOLDS)
    best = max(score.sweep, key=lambda row: row.v_rand)
    assert (score.v_rand, score.threshold) == (best.v_rand, best.threshold)
    singles = [
        score_stack(plane, truth, thresholds=[best.threshold])
        for plane, truth in zip(blurred, cells, strict=True)
    ]
    assert score.v_rand == pytest.approx(np.mean([one.v_rand for one in singles]))
    assert [one.v_rand for one in singles] == [row.v_rand for row in score.per_slice]
    assert score.v_info == max(row.v_info for row in score.sweep)
    assert score.pixel_error == min(row.pixel_error for row in score.sweep)
    assert 0.5 < score.v_rand < 1


def test_binary_truth_of_either_polarity_equals_labels(
    cells: np.ndarray, blurred: np.ndarray
) -> None:
    by_labels = score_stack(blurred, cells)
    for truth, kind in ((cells > 0, "cells"), ((cells == 0) * 255, "membranes")):
        score = score_stack(blurred, truth)
        assert score.truth_kind.value == kind
        assert score.sweep == by_labels.sweep


def test_an_inverted_prediction_is_found_out_and_recorded(
    cells: np.ndarray, blurred: np.ndarray
) -> None:
    blurred = np.round(blurred * 256) / 256  # so that 1 - (1 - p) is p
    upright, inverted = score_stack(blurred, cells), score_stack(1 - blurred, cells)
    assert (upright.polarity.value, inverted.polarity.value) == ("membranes", "cells")
    assert inverted.sweep == upright.sweep
    assert "on true membranes" in inverted.polarity.reason


def test_a_given_polarity_is_obeyed(cells: np.ndarray, blurred: np.ndarray) -> None:
    wrong = score_stack(blurred, cells, polarity="cells")
    assert wrong.polarity.given
    assert wrong.pixel_error > 0.5


def test_8_and_16_bit_predictions_are_scaled(
    cells: np.ndarray, blurred: np.ndarray
) -> None:
    exact = score_stack(blurred, cells)
    for dtype in (np.uint8, np.uint16):
        stored = np.round(blurred * np.iinfo(dtype).max).astype(dtype)
        assert score_stack(stored, cells).v_rand == pytest.approx(
            exact.v_rand, abs=0.01
        )


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_scores_turn_with_the_image(
    cells: np.ndarray, blurred: np.ndarray, turns: int
) -> None:
    upright = score_stack(blurred, cells)
    turned = score_stack(
        np.rot90(blurred, turns, (1, 2)), np.rot90(cells, turns, (1, 2))
    )
    assert turned.v_rand == pytest.approx(upright.v_rand, abs=1e-9)
    assert turned.v_info == pytest.approx(upright.v_info, abs=1e-9)


def test_ignored_pixels_change_nothing(cells: np.ndarray) -> None:
    partial = cells.copy()
    partial[:, 40:] = 255
    garbage = (cells == 0).astype(float)
    garbage[:, 40:] = 0.5
    score = score_stack(garbage, partial, ignore=255)
    assert score.pixel_error == 0
    assert score.v_rand == pytest.approx(1)
    assert score_stack(garbage, cells).v_rand < 0.9


def test_a_slice_without_cells_is_left_out(
    cells: np.ndarray, blurred: np.ndarray
) -> None:
    truth = cells.copy()
    truth[1] = 0
    score = score_stack(blurred, truth)
    assert [row.index for row in score.per_slice] == [0, 2]
    with pytest.raises(ValueError, match="a cell in at least one slice"):
        score_stack(blurred, truth * 0, truth_kind="labels", polarity="membranes")


def test_labels_without_membranes_have_no_pixel_error(blurred: np.ndarray) -> None:
    truth = np.ones(blurred.shape, int)
    truth[:, 40:] = 2
    score = score_stack(blurred, truth, truth_kind="labels", polarity="membranes")
    assert np.isnan(score.pixel_error)
    assert score.as_dict()["pixel_error"] is None


def test_the_job_reports_each_slice_and_gives_the_same(
    cells: np.ndarray, blurred: np.ndarray
) -> None:
    reports = list(iter_score_stack(blurred, cells, thresholds=[0.5]))
    assert [(r.done, r.total) for r in reports] == [(1, 3), (2, 3), (3, 3)]
    assert reports[0].text == "slice 1 of 3"
    job = iter_score_stack(blurred, cells, thresholds=[0.5])
    assert drain(job) == score_stack(blurred, cells, thresholds=[0.5])


def test_the_score_is_plain_json(cells: np.ndarray, blurred: np.ndarray) -> None:
    score = score_stack(blurred[0], cells[0])
    plain = json.loads(json.dumps(score.as_dict(), allow_nan=False))
    assert {"v_rand", "v_info", "threshold", "pixel_error", "sweep"} <= plain.keys()
    assert plain["sweep"][0].keys() == {"threshold", "v_rand", "v_info", "pixel_error"}
    assert plain["v_rand"] == score.v_rand


def test_wrong_arguments_are_refused(cells: np.ndarray, blurred: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"same shape.*\(3, 80, 96\) and \(80, 96\)"):
        score_stack(blurred, cells[0])
    with pytest.raises(ValueError, match=r"thresholds must lie in \(0, 1\], got \[0"):
        score_stack(blurred, cells, thresholds=[0, 0.5])
    with pytest.raises(ValueError, match="finite, got NaN"):
        score_stack(np.full(cells.shape, np.nan), cells)
    with pytest.raises(ValueError, match="looks like labels"):
        score_stack(cells, cells)


def test_predicted_cells_are_scored_slice_by_slice(cells: np.ndarray) -> None:
    upright = np.repeat(cells[:1], 3, axis=0)
    assert score_labels(upright, upright > 0).v_rand == 1
    merged = np.where(cells == 1, 2, cells)
    score = score_labels(merged, cells)
    assert 0.5 < score.v_rand < 1
    assert len(score.per_slice) == 3
    assert score.v_rand == pytest.approx(np.mean([s.v_rand for s in score.per_slice]))
    with pytest.raises(ValueError, match="a cell in at least one slice"):
        score_labels(cells, cells * 0, truth_kind="labels")


def test_slices_of_label_scores_are_numbered(cells: np.ndarray) -> None:
    truth = cells.copy()
    truth[1] = 0
    assert score_labels(cells, truth).slices == (0, 2)


def test_a_pixel_at_the_threshold_is_membrane(cells: np.ndarray) -> None:
    probability = np.where(cells == 0, 0.75, 0.125)
    score = score_stack(probability, cells, thresholds=[0.125, 0.75])
    assert [row.pixel_error < 0.5 for row in score.sweep] == [False, True]
    assert score.v_rand == pytest.approx(1)


def test_pixel_error_counts_known_pixels() -> None:
    predicted, truth = np.array([1, 1, 0, 0], bool), np.array([1, 0, 0, 1], bool)
    assert pixel_error(predicted, truth) == 0.5
    assert pixel_error(predicted, truth, np.array([1, 1, 1, 0], bool)) == 1 / 3
    assert np.isnan(pixel_error(predicted, truth, np.zeros(4, bool)))


def test_predicted_cells_do_not_meet_through_ignored_pixels():
    truth = np.ones((30, 40), np.uint8)
    truth[:, 19:21] = 0
    truth[20:] = 7  # nobody looked there
    prediction = np.full((30, 40), 0.01)
    prediction[:20, 19:21] = 0.9
    score = score_stack(prediction, truth, truth_kind="labels", ignore=7)
    assert (score.v_rand, score.v_info) == pytest.approx((1, 1))
