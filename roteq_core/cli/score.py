"""`roteq score`: a segmentation against the truth."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from roteq_core.cli.progress import follow, plain_errors, say
from roteq_core.membranes.slices import parse_slices

if TYPE_CHECKING:
    import numpy as np


@plain_errors
def score(
    prediction: Path = typer.Argument(help="Membrane probability, or cell labels."),
    truth: Path = typer.Argument(help="Membranes, or labelled cells."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    polarity: str | None = typer.Option(
        None, help="What high values of the prediction are: membranes or cells."
    ),
    truth_kind: str | None = typer.Option(
        None, help="What values above 0 of the truth are: membranes, cells or labels."
    ),
    labels: bool = typer.Option(
        False,
        "--labels",
        help="The prediction is numbered cells, as 32-bit integers with more than one "
        "value besides 0 are.",
    ),
    ignore: int | None = typer.Option(
        None, help="Value of the truth that nobody labelled."
    ),
    slices: str | None = typer.Option(
        None, help="Slices of the truth to use, e.g. 24-29, counted from 0."
    ),
) -> None:
    """Print V-Rand and V-Info (thinned, foreground-restricted) and pixel error."""
    from roteq_core.membranes.polarity import numbered_cells
    from roteq_core.metrics import iter_score_stack, score_labels

    if labels and polarity:
        raise ValueError(
            f"numbered cells (--labels) have no polarity, got --polarity {polarity}"
        )
    stack, true = _read_pair(prediction, truth, slices)
    kind: Any = truth_kind
    if labels or (polarity is None and numbered_cells(stack)):
        found: Any = score_labels(stack, true, truth_kind=kind, ignore=ignore)
        values = json.loads(json.dumps(vars(found), default=vars))
        # What only a probability has; scripts may ask for the same keys.
        values |= {"threshold": None, "pixel_error": None, "sweep": None}
        decisions = [found.truth_kind, found.prediction_kind]
        lines = [f"V-Rand       {found.v_rand:.4f}", f"V-Info       {found.v_info:.4f}"]
    else:
        given: Any = polarity or _told_by_recipe(prediction)
        job = iter_score_stack(
            stack, true, polarity=given, truth_kind=kind, ignore=ignore
        )
        found = follow(job, "scoring")
        values = found.as_dict()
        decisions = [found.truth_kind, found.polarity]
        lines = _lines(found)
    if as_json:
        typer.echo(json.dumps(values))
        return
    for decision in decisions:
        say(f"{decision.value}: {decision.reason}")
    for line in lines:
        typer.echo(line)


def _told_by_recipe(prediction: Path) -> str | None:
    """Give what high values are, if the file was written by `roteq segment`."""
    from roteq_core.files.plane_writer import read_recipe

    try:
        content = read_recipe(prediction).get("content")
    except (ValueError, OSError):
        return None
    return "membranes" if content == "probability" else None


def _lines(found: Any) -> list[str]:
    error = f"{found.pixel_error:.4f}   at {found.threshold_pixel:.2f}"
    if math.isnan(found.pixel_error):
        error = "none: the truth shows no membranes"
    return [
        f"V-Rand       {found.v_rand:.4f}   at threshold {found.threshold:.2f}",
        f"V-Info       {found.v_info:.4f}   at {found.threshold_info:.2f}",
        f"pixel error  {error}",
    ]


def _read_pair(
    prediction: Path, truth: Path, slices: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Read the slices that are compared, (Z, H, W) each."""
    from roteq_core.files.volumes import open_volume

    predicted, true = open_volume(prediction), open_volume(truth)
    wanted = parse_slices(slices, len(true)) if slices else range(len(true))
    # A prediction of just those slices, or of the whole stack.
    planes = range(len(predicted)) if len(predicted) == len(wanted) else wanted
    is_clear = slices is not None or len(predicted) == len(true)
    has_planes = planes[-1] < len(predicted)
    if not (is_clear and has_planes and predicted.shape[1:] == true.shape[1:]):
        raise ValueError(
            f"prediction and truth must match, got {predicted.shape} in {prediction} "
            f"and {len(wanted)} slices of {true.shape} in {truth}; --slices says which "
            "slices of the truth were predicted"
        )
    return predicted.read(planes), true.read(wanted)
