"""Where a segmentation is wrong: overlays of joined and cut cells, slice by slice.

No torch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roteq_core.jobs import Job, Report
from roteq_core.membranes.partitions import merges_and_splits
from roteq_core.membranes.polarity import (
    TruthKind,
    as_membrane,
    prediction_scale,
    truth_regions,
)
from roteq_core.membranes.thinning import thin_membranes


@dataclass(frozen=True)
class Mistakes:
    """Overlays of a stack, and how many mistakes each slice has.

    Parameters
    ----------
    merged, split : int32 arrays of shape (Z, H, W)
        The predicted cell where it joins true ones, the true cell where it is cut; see
        `MergesAndSplits`.
    merges, splits : tuple of int
        For each slice: predicted cells that join true ones, true cells that are cut.
    """

    merged: np.ndarray
    split: np.ndarray
    merges: tuple[int, ...]
    splits: tuple[int, ...]


def iter_mistakes(
    prediction: np.ndarray,
    truth: np.ndarray,
    *,
    truth_kind: TruthKind,
    threshold: float | None = None,
    inverted: bool = False,
) -> Job[Mistakes]:
    """Find joined and cut cells.

    Parameters
    ----------
    prediction : array of shape (Z, H, W)
        Membrane probability, or labels of cells.
    truth : array of the same shape
        See `roteq_core.metrics.iter_score_stack`, which also finds out `truth_kind`.
    truth_kind : "labels", "membranes" or "cells"
        What the truth's values above 0 are.
    threshold : float, optional
        Membrane probability at which cells part; None if the prediction is labels.
    inverted : bool
        Whether high values of the prediction are cells.
    """
    if prediction.shape != truth.shape or truth.ndim != 3:
        raise ValueError(
            "prediction and truth must have the same shape (Z, H, W), got "
            f"{prediction.shape} and {truth.shape}"
        )
    scale = 1.0
    if threshold is not None:
        scale = prediction_scale(prediction)
    merged, split = (np.zeros(truth.shape, np.int32) for _ in range(2))
    merges, splits = [], []
    for z, plane in enumerate(prediction):
        cells = plane
        if threshold is not None:
            cells = thin_membranes(as_membrane(plane, scale, inverted) >= threshold)
        regions, _ = truth_regions(truth[z], truth_kind, None)
        found = merges_and_splits(cells, regions)
        merged[z], split[z] = found.merged, found.split
        merges.append(len(found.merges))
        splits.append(len(found.splits))
        yield Report(z + 1, len(truth), f"mistakes in slice {z + 1} of {len(truth)}")
    return Mistakes(merged, split, tuple(merges), tuple(splits))
