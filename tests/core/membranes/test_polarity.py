"""Which values are membrane: the rule decides, or the caller, or an error."""

from __future__ import annotations

import numpy as np
import pytest

from roteq_core.membranes.polarity import (
    as_membrane,
    class_means,
    decide_prediction,
    decide_truth,
    numbered_cells,
    prediction_scale,
    truth_regions,
)


def walls(low: int, high: int) -> np.ndarray:
    """Two cells of `high` with a wall of `low`, which covers a fifth."""
    truth = np.full((4, 10), high)
    truth[:, 4:6] = low
    return truth


def test_the_rarer_of_two_values_is_membrane() -> None:
    dark = decide_truth(walls(0, 255))
    assert (dark.value, dark.given) == ("cells", False)
    assert dark.reason == "the truth's value 0 covers 20.0% of the pixels: membrane"
    assert decide_truth(walls(1, 0)).value == "membranes"


def test_many_values_are_labels() -> None:
    truth = walls(0, 1)
    truth[:, 6:] = 9
    decision = decide_truth(truth)
    assert decision.value == "labels"
    assert "3 values" in decision.reason


@pytest.mark.parametrize(
    ("truth", "said"),
    [
        (np.array([[0, 1, np.nan]]), "whole numbers, got nan in 1 pixels"),
        (np.array([[0, 1, 0.5]]), "whole numbers, got 0.5 in 1 pixels"),
        (np.array([[0, 1, np.inf]]), "whole numbers, got inf"),
        (np.array([[0, 9, 128, 255]], np.uint8), "255 stands apart"),
        (np.array([[0, 7, 255]], np.uint8), "7 and 255 are few values"),
        (np.arange(240, dtype=np.uint8).reshape(12, 20), "240 regions of 1.0 pixels"),
        (np.array([[-1, 0, 1]]), "-1 is below 0"),
    ],
)
def test_values_that_are_no_label_are_refused(truth: np.ndarray, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        decide_truth(truth)


def test_labels_up_to_the_last_value_are_labels_when_told() -> None:
    truth = np.array([[0, 128, 255]], np.uint8)
    assert decide_truth(truth, "labels").value == "labels"
    assert decide_truth(truth.repeat([2, 3, 4]), ignore=128).value == "cells"


def test_the_ignored_value_has_no_say() -> None:
    truth = walls(0, 1)
    truth[:, 8:] = 2
    assert decide_truth(truth, ignore=2).value == "cells"


def test_up_to_two_fifths_are_membrane() -> None:
    assert decide_truth(np.repeat([[0, 1]], [42, 63], axis=1)).value == "cells"
    with pytest.raises(ValueError, match="neither is clearly membrane"):
        decide_truth(np.repeat([[0, 1]], [43, 62], axis=1))


def test_half_and_half_must_be_told() -> None:
    truth = np.repeat([[0, 1]], 4, axis=0)
    with pytest.raises(ValueError, match=r"50%.*truth_kind='membranes' or 'cells'"):
        decide_truth(truth)
    assert decide_truth(truth, "membranes").given


def test_one_value_must_be_told() -> None:
    with pytest.raises(ValueError, match=r"got \[0\].*truth_kind"):
        decide_truth(np.zeros((3, 3), int))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="truth_kind must be one of 'labels'"):
        decide_truth(walls(0, 1), "neurons")  # type: ignore[arg-type]


def test_the_prediction_is_membrane_where_it_is_higher_on_true_membranes() -> None:
    assert decide_prediction(0.8, 0.1).value == "membranes"
    decision = decide_prediction(0.1, 0.8)
    assert decision.value == "cells"
    assert "0.100 on true membranes" in decision.reason


@pytest.mark.parametrize("in_cells", [0.5, 0.46, float("nan")])
def test_a_flat_prediction_must_be_told(in_cells: float) -> None:
    with pytest.raises(ValueError, match="give polarity='membranes' or 'cells'"):
        decide_prediction(0.5, in_cells)
    assert decide_prediction(0.5, in_cells, "cells").value == "cells"


def integers(*values: int, dtype: str = "uint8") -> np.ndarray:
    return np.array([values], dtype)


def test_scales_of_predictions() -> None:
    assert prediction_scale(np.array([[0, 0.4, 1]], np.float32)) == 1
    assert prediction_scale(integers(0, 40, 255)) == 255
    assert prediction_scale(integers(0, 1)) == 1
    assert prediction_scale(integers(0, 40, 60000, dtype="uint16")) == 65535
    with pytest.raises(ValueError, match=r"in \[0, 1\], got 0 to 255"):
        prediction_scale(np.array([[0, 255]], np.float32))
    with pytest.raises(ValueError, match="looks like labels"):
        prediction_scale(integers(0, 7, 300, dtype="int32"))
    with pytest.raises(ValueError, match="16-bit prediction must use its range"):
        prediction_scale(integers(0, 7, 200, dtype="uint16"))
    with pytest.raises(ValueError, match="finite, got NaN"):
        prediction_scale(np.array([[np.nan, 1]]))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int32", "uint64"])
def test_one_value_besides_zero_is_a_mask(dtype: str) -> None:
    mask = integers(0, 7, 0, 7, dtype=dtype)
    assert prediction_scale(mask) == 7
    assert numbered_cells(mask, narrow=True) is None


def test_wide_integers_of_many_values_are_numbered_cells() -> None:
    decision = numbered_cells(integers(0, 7, 300, dtype="int32"))
    assert decision is not None
    assert "32-bit integers up to 300" in decision.reason
    assert numbered_cells(integers(0, 7, 200)) is None
    assert numbered_cells(integers(0, 7, 200), narrow=True) is not None
    assert numbered_cells(np.array([[0, 0.5, 1]]), narrow=True) is None


@pytest.mark.parametrize("level", [0.2, 0.4, 0.6, 0.8])
def test_a_value_at_a_threshold_reaches_it_either_way(level: float) -> None:
    value = round(255 * level)
    assert as_membrane(integers(value), 255, False)[0, 0] >= level
    assert as_membrane(integers(255 - value), 255, True)[0, 0] >= level


@pytest.mark.parametrize(
    ("truth", "kind"), [(walls(0, 255), "cells"), (walls(1, 0), "membranes")]
)
def test_regions_of_binary_truth(truth: np.ndarray, kind: str) -> None:
    regions, known = truth_regions(truth, kind)
    assert regions[0].tolist() == [1, 1, 1, 1, 0, 0, 2, 2, 2, 2]
    assert known.all()


def test_regions_of_labels_split_where_they_do_not_touch() -> None:
    truth = np.array([[3, 3, 5, 0, 3, 255]])
    regions, known = truth_regions(truth, "labels", ignore=255)
    assert regions.tolist() == [[1, 1, 2, 0, 3, 0]]
    assert known.tolist() == [[True] * 5 + [False]]


def test_means_over_classes_leave_out_ignored_pixels() -> None:
    truth = np.array([[[0, 0, 1, 1, 2]]])
    prediction = np.array([[[1.0, 0.5, 0.25, 0.0, 9.0]]])
    assert class_means(prediction, truth, "cells", 2) == (0.75, 0.125)
    assert class_means(prediction, truth, "membranes", 2) == (0.125, 0.75)
