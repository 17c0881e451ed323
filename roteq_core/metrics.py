"""Score membranes and cells: V-Rand and V-Info after thinning, pixel error.

The scores of the ISBI 2012 challenge (Arganda-Carreras et al., Front. Neuroanat. 2015,
doi:10.3389/fnana.2015.00142); docs/metrics.md says how each detail was read. Scores of
angles are in `angular`, of two label images in `partitions`; their names are here too.
No torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from roteq_core.angular import (
    HeadingBin,
    HeadingSummary,
    angular_error,
    rayleigh_test,
    summarize_headings,
)
from roteq_core.jobs import Job, Report, drain
from roteq_core.membranes.partitions import (
    MergesAndSplits,
    PartitionScore,
    compare_partitions,
    merges_and_splits,
)
from roteq_core.membranes.polarity import (
    Decision,
    PredictionPolarity,
    TruthKind,
    as_membrane,
    class_means,
    decide_prediction,
    decide_truth,
    numbered_cells,
    prediction_scale,
    truth_regions,
)
from roteq_core.membranes.score import LabelScore, MembraneScore, SliceScore, Sweep
from roteq_core.membranes.thinning import thin_membranes

__all__ = [
    "DEFAULT_THRESHOLDS",
    "HeadingBin",
    "HeadingSummary",
    "LabelScore",
    "MembraneScore",
    "MergesAndSplits",
    "PartitionScore",
    "SliceScore",
    "Sweep",
    "angular_error",
    "compare_partitions",
    "equivariance_error",  # noqa: F822 - needs torch, so it is loaded on first use
    "iter_score_stack",
    "merges_and_splits",
    "pixel_error",
    "rayleigh_test",
    "score_labels",
    "score_stack",
    "summarize_headings",
    "thin_membranes",
    "truth_regions",
]

#: Membrane probabilities tried: 0.02, 0.05, 0.10, …, 0.95, 0.98.
DEFAULT_THRESHOLDS = (0.02, *(round(0.05 * n, 2) for n in range(1, 20)), 0.98)


def __getattr__(name: str) -> Any:
    if name == "equivariance_error":
        from roteq_core.equivariance import equivariance_error

        return equivariance_error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def score_stack(
    prediction: np.ndarray,
    truth: np.ndarray,
    *,
    thresholds: Sequence[float] | None = None,
    polarity: PredictionPolarity | None = None,
    truth_kind: TruthKind | None = None,
    ignore: int | None = None,
) -> MembraneScore:
    """Score a membrane probability over thresholds; see `iter_score_stack`."""
    return drain(
        iter_score_stack(
            prediction,
            truth,
            thresholds=thresholds,
            polarity=polarity,
            truth_kind=truth_kind,
            ignore=ignore,
        )
    )


def iter_score_stack(
    prediction: np.ndarray,
    truth: np.ndarray,
    *,
    thresholds: Sequence[float] | None = None,
    polarity: PredictionPolarity | None = None,
    truth_kind: TruthKind | None = None,
    ignore: int | None = None,
) -> Job[MembraneScore]:
    """Score a membrane probability over thresholds, as a job: a report for each slice.

    For each threshold and slice the membranes are thinned to lines of one pixel, the
    regions compared with the true cells, and the scores averaged over the slices; the
    best average counts (docs/metrics.md).

    Parameters
    ----------
    prediction : array of shape (H, W) or (Z, H, W)
        Probability in [0, 1]; 8 and 16-bit integers are scaled.
    truth : array of the same shape
        Labels of the cells, or two values for membranes and cells.
    thresholds : sequence of float, optional
        Membrane probabilities in (0, 1]; a prediction of two values is cut at 0.5.
    polarity : "membranes" or "cells", optional
        What high values of the prediction are; otherwise found out.
    truth_kind : "labels", "membranes" or "cells", optional
        What the truth's values above 0 are; otherwise found out.
    ignore : int, optional
        Value of the truth that is left out of everything.
    """
    prediction, truth = _as_stacks(prediction, truth)
    known = decide_truth(truth, truth_kind, ignore=ignore)
    scale = prediction_scale(prediction)
    means = class_means(prediction, truth, known.value, ignore)
    decided = decide_prediction(
        means[0] / scale,
        means[1] / scale,
        polarity,
        may_be_labels=prediction.dtype.kind in "iu",
    )
    levels = _levels(prediction, thresholds)
    rows: dict[int, np.ndarray] = {}  # slice -> (thresholds, 3)
    for z in range(len(truth)):
        regions, known_pixels = truth_regions(truth[z], known.value, ignore)
        if regions.any():
            membrane = as_membrane(prediction[z], scale, decided.value == "cells")
            rows[z] = _sweep_slice(membrane, regions, known_pixels, levels)
        text = f"slice {z + 1} of {len(truth)}"
        yield Report(z + 1, len(truth), text)
    return _summarize(levels, rows, decided, known)


def score_labels(
    predicted: np.ndarray,
    truth: np.ndarray,
    *,
    truth_kind: TruthKind | None = None,
    ignore: int | None = None,
) -> LabelScore:
    """Score predicted cells slice by slice, without thinning.

    Parameters
    ----------
    predicted : int array of shape (H, W) or (Z, H, W)
        Labels of cells; a pixel at 0 counts as a region of its own.
    truth : array of the same shape
        Labels of the cells, or two values for membranes and cells.
    truth_kind : "labels", "membranes" or "cells", optional
        What the truth's values above 0 are; otherwise found out.
    ignore : int, optional
        Value of the truth that is left out.
    """
    predicted, truth = _as_stacks(predicted, truth)
    known = decide_truth(truth, truth_kind, ignore=ignore)
    slices = {}
    for z, (cells, plane) in enumerate(zip(predicted, truth, strict=True)):
        regions, _ = truth_regions(plane, known.value, ignore)
        if regions.any():
            slices[z] = compare_partitions(cells, regions)
    if not slices:
        raise ValueError("the truth must show a cell in at least one slice, got none")
    return LabelScore(
        v_rand=float(np.mean([score.v_rand for score in slices.values()])),
        v_info=float(np.mean([score.v_info for score in slices.values()])),
        per_slice=tuple(slices.values()),
        slices=tuple(slices),
        truth_kind=known,
        prediction_kind=numbered_cells(predicted, narrow=True)
        or Decision("labels", "given", given=True),
    )


def pixel_error(
    predicted: np.ndarray, truth: np.ndarray, known: np.ndarray | None = None
) -> float:
    """Give the share of pixels put into the wrong class.

    Parameters
    ----------
    predicted, truth : bool arrays of the same shape
        True on membranes.
    known : bool array of the same shape, optional
        Where to count; everywhere if not given. NaN if that is nowhere.
    """
    wrong = predicted != truth
    counted = wrong if known is None else wrong[known]
    return float(counted.mean()) if counted.size else float("nan")


def _sweep_slice(
    membrane: np.ndarray, regions: np.ndarray, known: np.ndarray, levels: np.ndarray
) -> np.ndarray:
    """Score a slice at each threshold: (thresholds, 3) V-Rand, V-Info, pixel error."""
    walls = (regions == 0) & known
    rows = np.full((len(levels), 3), np.nan)
    for row, level in zip(rows, levels, strict=True):
        predicted = membrane >= level
        # Cells must not meet where nothing is known, or nothing was there.
        score = compare_partitions(thin_membranes(predicted | ~known), regions)
        row[:2] = score.v_rand, score.v_info
        if walls.any():
            row[2] = pixel_error(predicted, walls, known)
    return rows


def _summarize(
    levels: np.ndarray, rows: dict[int, np.ndarray], polarity: Decision, kind: Decision
) -> MembraneScore:
    if not rows:
        raise ValueError("the truth must show a cell in at least one slice, got none")
    scores = np.stack(list(rows.values()))  # (slices, thresholds, 3)
    mean = _mean_known(scores)  # (thresholds, 3)
    rand, info = int(np.argmax(mean[:, 0])), int(np.argmax(mean[:, 1]))
    errors = mean[:, 2]
    pixel = rand if np.isnan(errors).all() else int(np.nanargmin(errors))
    return MembraneScore(
        v_rand=float(mean[rand, 0]),
        v_info=float(mean[info, 1]),
        threshold=float(levels[rand]),
        threshold_info=float(levels[info]),
        threshold_pixel=float(levels[pixel]),
        pixel_error=float(errors[pixel]),
        sweep=tuple(
            Sweep(float(level), *map(float, row))
            for level, row in zip(levels, mean, strict=True)
        ),
        per_slice=tuple(
            SliceScore(z, float(s[rand, 0]), float(s[info, 1]), float(s[pixel, 2]))
            for z, s in rows.items()
        ),
        polarity=polarity,
        truth_kind=kind,
    )


def _mean_known(scores: np.ndarray) -> np.ndarray:
    """Average over the slices, leaving out NaN: (slices, ...) to (...)."""
    known = ~np.isnan(scores)
    count = known.sum(axis=0)
    total = np.where(known, scores, 0).sum(axis=0)
    mean: np.ndarray = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return mean


def _levels(prediction: np.ndarray, thresholds: Sequence[float] | None) -> np.ndarray:
    if thresholds is None:
        lowest, highest = prediction.min(), prediction.max()
        is_binary = bool(np.all((prediction == lowest) | (prediction == highest)))
        thresholds = (0.5,) if is_binary else DEFAULT_THRESHOLDS
    levels = np.unique(np.asarray(thresholds, float))
    if levels.size == 0 or not (levels[0] > 0 and levels[-1] <= 1):
        raise ValueError(f"thresholds must lie in (0, 1], got {list(thresholds)}")
    return levels


def _as_stacks(
    prediction: np.ndarray, truth: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    prediction, truth = np.asarray(prediction), np.asarray(truth)
    if prediction.shape != truth.shape or truth.ndim not in (2, 3) or not truth.size:
        raise ValueError(
            "prediction and truth must have the same shape (H, W) or (Z, H, W), "
            f"got {prediction.shape} and {truth.shape}"
        )
    if truth.ndim == 2:
        return prediction[None], truth[None]
    return prediction, truth
