"""Which values are membrane: read from the pixels by a stated rule, or given.

A file does not say whether bright is membrane or cell. Each function here decides by
one rule, says why in words, and raises `ValueError` naming the argument to give where
the rule does not decide. The rules are in docs/metrics.md.
No torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from skimage.measure import label

PredictionPolarity = Literal["membranes", "cells"]
TruthKind = Literal["labels", "membranes", "cells"]

# A class that covers more than this is not accepted as membrane without being told.
LARGEST_MEMBRANE_SHARE = 0.4
# Means of the prediction closer than this on true membranes and in true cells decide
# nothing.
SMALLEST_CONTRAST = 0.05

# Steps from the next label, for the largest value to mean something else.
APART = 8
# Regions of labels that are more and on average smaller are gray values, not cells.
MANY_CELLS, SMALLEST_CELLS = 100, 8

_AS_LABELS = "score them as labels (--labels, `score_labels`)"


@dataclass(frozen=True)
class Decision:
    """What was decided about the values of an image, and why.

    Parameters
    ----------
    value : str
        What high values are, or "labels".
    reason : str
        A sentence for a person.
    given : bool
        Whether the caller said so.
    """

    value: str
    reason: str
    given: bool = False


def decide_truth(
    truth: np.ndarray, kind: TruthKind | None = None, *, ignore: int | None = None
) -> Decision:
    """Decide whether a truth is labels, or which of its two values is membrane.

    More than two values are labels, 0 between them. Of two values, the one that covers
    fewer pixels is membrane if it covers at most 40 %.

    Parameters
    ----------
    truth : array of shape (..., H, W)
        Integers or booleans, or floats that are whole numbers.
    kind : "labels", "membranes" or "cells", optional
        What the values above 0 are, if it is known: numbered cells, membranes, or
        cells without numbers.
    ignore : int, optional
        A value that stands for "not labelled".

    Returns
    -------
    Decision
        With `value` one of the three kinds.
    """
    _check_whole(truth)
    if kind is not None:
        return Decision(_one_of(kind, TruthKind, "truth_kind"), "given", given=True)
    values, counts = np.unique(truth, return_counts=True)
    if ignore is not None:
        values, counts = values[values != ignore], counts[values != ignore]
    if values.size > 2:
        odd = value_apart(values[values != 0].tolist(), truth.dtype)
        if odd is not None:
            raise ValueError(
                f"{odd}: if a value of the truth marks pixels that were not labelled, "
                "give it as the one to ignore (--ignore); otherwise give "
                "truth_kind='labels'"
            )
        _check_cells(truth)
        return Decision("labels", f"the truth has {values.size} values: cell labels")
    if values.size < 2 or values[0] != 0:
        raise ValueError(
            "the truth must have 0 and at least one other value, got "
            f"{values.tolist()}: give truth_kind='labels', 'membranes' or 'cells'"
        )
    return _rarer_value(float(values[1]), float(counts[0] / counts.sum()))


def _check_whole(truth: np.ndarray) -> None:
    """Refuse a truth of fractions, or with pixels that are no number."""
    if truth.dtype.kind != "f":
        return
    wrong = truth[truth != np.round(truth)]
    if not wrong.size and not np.isinf(truth).any():
        return
    got = f"{wrong[0]:g} in {wrong.size} pixels" if wrong.size else "inf"
    raise ValueError(f"a truth must have whole numbers, got {got}")


def _check_cells(truth: np.ndarray) -> None:
    """Refuse gray values as labels: their regions are a few pixels large."""
    plane = truth.reshape(-1, *truth.shape[-2:])[0]
    regions = int(label(plane, connectivity=1, background=-1).max())  # type: ignore[no-untyped-call]
    if regions > MANY_CELLS and regions * SMALLEST_CELLS > plane.size:
        raise ValueError(
            f"the labels of a truth must be cells, got {regions} regions of "
            f"{plane.size / regions:.1f} pixels on average, as in an image; give "
            "truth_kind='labels' if they are"
        )


def value_apart(values: list[float], dtype: np.dtype) -> str | None:
    """Say which of some labels, ascending, may stand for "not labelled", if any."""
    last = np.iinfo(dtype).max if dtype.kind in "iu" else 255
    if values[0] < 0:
        return f"the value {values[0]:g} is below 0"
    if len(values) > 1 and values[-1] == last and values[-2] < last - APART:
        if len(values) == 2:
            return f"{values[0]:g} and {values[1]:g} are few values for numbered cells"
        return f"the value {values[-1]:g} stands apart from the other labels"
    return None


def _rarer_value(high: float, low_share: float) -> Decision:
    """Decide which of 0 and `high` is membrane, by the share of pixels at 0."""
    rare = min(low_share, 1 - low_share)
    if rare > LARGEST_MEMBRANE_SHARE:
        raise ValueError(
            f"the truth's value 0 covers {low_share:.0%} and {high:g} covers "
            f"{1 - low_share:.0%}: neither is clearly membrane; "
            "give truth_kind='membranes' or 'cells'"
        )
    value, other = ("cells", 0.0) if low_share == rare else ("membranes", high)
    reason = f"the truth's value {other:g} covers {rare:.1%} of the pixels: membrane"
    return Decision(value, reason)


def numbered_cells(prediction: np.ndarray, *, narrow: bool = False) -> Decision | None:
    """Say why a prediction is numbered cells, not a probability; None if it is not.

    Integers of 32 bits or more with several values besides 0 are, as those that
    `roteq segment --cells` writes.

    Parameters
    ----------
    prediction : array of shape (..., H, W)
    narrow : bool
        Whether integers of 8 and 16 bits may be too, as in a Labels layer.
    """
    integers, bits = prediction.dtype.kind in "iu", 8 * prediction.dtype.itemsize
    if not integers or not (narrow or bits >= 32) or _is_mask(prediction):
        return None
    highest = int(prediction.max())
    reason = f"the prediction is {bits}-bit integers up to {highest}: numbered cells"
    return Decision("labels", reason)


def _is_mask(prediction: np.ndarray) -> bool:
    """Whether there is at most one value besides 0."""
    return bool(np.all((prediction == 0) | (prediction == prediction.max())))


def decide_prediction(
    on_membranes: float,
    in_cells: float,
    polarity: PredictionPolarity | None = None,
    *,
    may_be_labels: bool = False,
) -> Decision:
    """Decide whether high values of a prediction are membrane or cell.

    It is membrane if the mean over true membranes is higher than over true cells.

    Parameters
    ----------
    on_membranes, in_cells : float
        Means of the prediction, scaled to [0, 1], over the true membranes and cells;
        NaN where there are no such pixels.
    polarity : "membranes" or "cells", optional
        What high values are, if it is known.
    may_be_labels : bool
        Whether the prediction may be numbered cells, for advice.
    """
    if polarity is not None:
        value = _one_of(polarity, PredictionPolarity, "polarity")
        return Decision(value, "given", given=True)
    means = f"mean {on_membranes:.3f} on true membranes, {in_cells:.3f} in true cells"
    if not abs(on_membranes - in_cells) >= SMALLEST_CONTRAST:
        raise ValueError(
            f"cannot tell what high values of the prediction are ({means}): "
            "give polarity='membranes' or 'cells'"
            + (f", or, if they are numbered, {_AS_LABELS}" if may_be_labels else "")
        )
    return Decision("membranes" if on_membranes > in_cells else "cells", means)


def prediction_scale(prediction: np.ndarray) -> float:
    """Give the value that stands for 1 in a prediction, or raise.

    Floats must lie in [0, 1]. Booleans, and integers with one value besides 0, are
    masks; other 8 and 16-bit integers are scaled by their largest possible value.
    """
    dtype, lowest, highest = prediction.dtype, prediction.min(), prediction.max()
    if np.isnan(lowest) or np.isnan(highest):
        raise ValueError("a prediction must be finite, got NaN")
    if dtype.kind == "b" or (lowest >= 0 and highest <= 1):
        return 1.0
    if dtype.kind == "f" or lowest < 0:
        raise ValueError(
            f"a prediction must lie in [0, 1], got {lowest:g} to {highest:g}"
        )
    if _is_mask(prediction):
        return float(highest)
    if dtype.itemsize > 2:
        raise ValueError(
            f"a prediction of type {dtype} up to {highest:g} looks like labels of "
            f"cells: {_AS_LABELS}, or give a probability in [0, 1]"
        )
    limit = 255.0 if dtype.itemsize == 1 else 65535.0
    if limit > 255 and highest <= 255:
        raise ValueError(
            f"a 16-bit prediction must use its range, got {lowest:g} to {highest:g}: "
            f"{_AS_LABELS} if these are cells, or give a probability in [0, 1]"
        )
    return limit


def as_membrane(plane: np.ndarray, scale: float, is_inverted: bool) -> np.ndarray:
    """Bring a plane of a prediction to the probability of a membrane.

    Integers are inverted before they are divided, so that one that stands for a
    threshold reaches it either way.
    """
    return (scale - plane.astype(float) if is_inverted else plane) / scale


def truth_regions(
    truth: np.ndarray, kind: str, ignore: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Give numbers to the true cells of a slice, and where the truth is known.

    Parameters
    ----------
    truth : array of shape (H, W)
        The slice.
    kind : "labels", "membranes" or "cells"
        What its values above 0 are.
    ignore : int, optional
        Value that is left out.

    Returns
    -------
    regions : int array of shape (H, W)
        4-connected cells; 0 on membranes and where the truth is not known. Parts of a
        label that do not touch within the slice are different cells.
    known : bool array of shape (H, W)
    """
    known = _known(truth, ignore)
    cells = truth if kind == "labels" else (truth == 0) == (kind == "membranes")
    inside = np.where(known, cells, 0).astype(np.int64)
    return label(inside, connectivity=1), known  # type: ignore[no-untyped-call]


def class_means(
    prediction: np.ndarray, truth: np.ndarray, kind: str, ignore: int | None
) -> tuple[float, float]:
    """Average a prediction over the true membranes and over the true cells.

    Parameters
    ----------
    prediction, truth : arrays of shape (Z, H, W)
        Any values, and the truth that goes with them.
    kind : "labels", "membranes" or "cells"
        What the truth's values above 0 are.
    ignore : int, optional
        Value of the truth that is left out.
    """
    totals = np.zeros((2, 2))  # membranes, cells; sum, count
    for plane, true in zip(prediction, truth, strict=True):
        known = _known(true, ignore)
        walls = (true == 0) == (kind != "membranes")
        for total, mask in zip(totals, (walls & known, ~walls & known), strict=True):
            total += plane[mask].sum(dtype=float), mask.sum()
    with np.errstate(invalid="ignore"):
        membranes, cells = totals[:, 0] / totals[:, 1]
    return float(membranes), float(cells)


def _known(truth: np.ndarray, ignore: int | None) -> np.ndarray:
    return np.ones(truth.shape, bool) if ignore is None else truth != ignore


def _one_of(value: str, choices: object, name: str) -> str:
    if value not in get_args(choices):
        allowed = ", ".join(repr(choice) for choice in get_args(choices))
        raise ValueError(f"{name} must be one of {allowed}, got {value!r}")
    return value
