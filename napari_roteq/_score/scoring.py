"""Score one layer against another: what to read, and what to say (no Qt)."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from napari.layers import Shapes
from napari.utils.colormaps import DirectLabelColormap

from napari_roteq._car_shapes import TABLE, cars_in_shapes
from napari_roteq._images import Index, Planes, planes_of, transform_of
from napari_roteq._layers import METADATA, LayerData, cells_layer, tag
from roteq_core.angles import angle_from_heading
from roteq_core.jobs import Job, Report
from roteq_core.membranes.mistakes import Mistakes
from roteq_core.membranes.polarity import numbered_cells
from roteq_core.metrics import LabelScore, MembraneScore, summarize_headings
from roteq_core.tables import match_cars

_FAR = 20.0  # pixels between the centers of two boxes of the same car
_COLORS = {"merges": "#ff5a36", "splits": "#38b6ff"}


@dataclass(frozen=True)
class Pair:
    """Prediction and truth in memory, (Z, H, W) each, and which planes they are.

    `is_numbered` says that the prediction is numbered cells, not a probability.
    """

    prediction: np.ndarray
    truth: np.ndarray
    indices: tuple[Index, ...]
    is_numbered: bool


def check_pair(prediction: Any, truth: Any) -> None:
    """Raise a ValueError that says why two layers cannot be compared."""
    if prediction is None or truth is None:
        raise ValueError("choose a prediction and a truth: both layers must be open")
    if prediction is truth:
        raise ValueError("prediction and truth must be two layers, got the same twice")
    are_cars = isinstance(prediction, Shapes), isinstance(truth, Shapes)
    if any(are_cars):
        if not all(are_cars):
            raise ValueError("boxes of cars can only be compared with boxes of cars")
        return
    shapes = planes_of(prediction).shape, planes_of(truth).shape
    if shapes[0] != shapes[1]:
        raise ValueError(
            "prediction and truth must have the same shape, got "
            f"{shapes[0]} for {prediction.name} and {shapes[1]} for {truth.name}"
        )


def iter_read_pair(
    prediction: Planes,
    truth: Planes,
    indices: Sequence[Index],
    *,
    of_labels: bool = False,
) -> Job[Pair]:
    """Read the planes to compare; a job for a thread."""
    planes: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for count, index in enumerate(indices, 1):
        for source, read in zip((prediction, truth), planes, strict=True):
            plane = source.read(index)
            if plane.ndim != 2:
                raise ValueError("prediction and truth must be gray, got colors")
            read.append(plane)
        yield Report(count, len(indices), f"reading slice {count} of {len(indices)}")
    predicted = np.stack(planes[0])
    is_numbered = numbered_cells(predicted, narrow=True) if of_labels else None
    return Pair(predicted, np.stack(planes[1]), tuple(indices), bool(is_numbered))


def predicted_planes(layer: Any, planes: Planes) -> list[Index]:
    """Give the planes that were predicted: those in a result's memory, else all."""
    indices = planes.indices()
    if METADATA not in layer.metadata or not isinstance(planes.array, np.ndarray):
        return indices
    filled = [index for index in indices if planes.array[index].any()]
    return filled or indices


def summary_of(score: MembraneScore | LabelScore) -> str:
    """Say the scores in lines for a person."""
    if isinstance(score, LabelScore):
        return f"V-Rand {score.v_rand:.4f}\nV-Info {score.v_info:.4f}"
    lines = [
        f"V-Rand {score.v_rand:.4f} at {score.threshold:.2f}",
        f"V-Info {score.v_info:.4f} at {score.threshold_info:.2f}",
    ]
    if not np.isnan(score.pixel_error):
        lines.append(
            f"pixel error {score.pixel_error:.4f} at {score.threshold_pixel:.2f}"
        )
    return "\n".join(lines)


def reasons_of(score: MembraneScore | LabelScore) -> str:
    """Say how the values of the two layers were understood."""
    if isinstance(score, MembraneScore):
        decisions = [score.truth_kind, score.polarity]
    else:
        decisions = [score.truth_kind, score.prediction_kind]
    return "; ".join(decision.reason for decision in decisions)


def table_of(
    score: MembraneScore | LabelScore, indices: Sequence[Index]
) -> tuple[list[str], list[list[Any]]]:
    """Give the header and the rows of the per-slice table; the index comes first."""
    if isinstance(score, LabelScore):
        rows = [
            [indices[z], each.v_rand, each.v_info, each.rand_split, each.rand_merge]
            for z, each in zip(score.slices, score.per_slice, strict=True)
        ]
        return ["slice", "V-Rand", "V-Info", "split", "merge"], rows
    rows = [
        [indices[each.index], each.v_rand, each.v_info, each.pixel_error]
        for each in score.per_slice
    ]
    return ["slice", "V-Rand", "V-Info", "error"], rows


def table_as_csv(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Write a table as CSV text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([spell_index(row[0]), *row[1:]] for row in rows)
    return text.getvalue()


def spell_index(index: Any) -> str:
    """Write the index of a plane: "3", or "2, 3" with two leading axes."""
    return ", ".join(map(str, index)) if isinstance(index, tuple) else str(index)


def mistake_layers(layer: Any, mistakes: Mistakes, pair: Pair) -> list[LayerData]:
    """Show joined cells in red and cut cells in blue, over the prediction."""
    shown = []
    for role, planes in (("merges", mistakes.merged), ("splits", mistakes.split)):
        overlay = np.zeros(planes_of(layer).shape, np.int32)
        for index, plane in zip(pair.indices, planes, strict=True):
            overlay[index] = plane
        colors = {None: _COLORS[role], 0: "transparent"}
        options = {
            "colormap": DirectLabelColormap(color_dict=colors),
            "opacity": 0.7,
            "metadata": tag(role, layer, {}),
            **transform_of(layer),
        }
        shown.append(cells_layer(overlay, name=f"{layer.name} {role}", **options))
    return shown


@dataclass(frozen=True)
class CarScore:
    """How two layers of cars differ: errors in degrees, and a line to read."""

    errors: np.ndarray
    median: float
    text: str


def score_cars(prediction: Any, truth: Any) -> CarScore:
    """Compare the headings of two Shapes layers of boxes."""
    found, known = (
        cars_in_shapes(layer.data, dict(layer.features), layer.metadata.get(TABLE))
        for layer in (prediction, truth)
    )
    matches = match_cars(found, known, max_distance=_FAR)
    headings = [
        (found.cars[i].heading_cw_from_up_deg, known.cars[j].heading_cw_from_up_deg)
        for i, j in matches.items()
    ]
    both = np.array([pair for pair in headings if None not in pair], float)
    if not len(both):
        raise ValueError(
            "prediction and truth must share a car with a heading, got none within "
            f"{_FAR:g} pixels of each other"
        )
    angles = angle_from_heading(both)
    summary = summarize_headings(angles[:, 0], angles[:, 1])
    difference = np.abs(both[:, 0] - both[:, 1]) % 360
    text = (
        f"{summary.count} of {len(known)} cars\n"
        f"mean error {summary.mean:.1f}°, median {summary.median:.1f}°\n"
        f"{summary.share_good:.0%} below 15°, {summary.share_flipped:.0%} flipped"
    )
    return CarScore(np.minimum(difference, 360 - difference), summary.median, text)
