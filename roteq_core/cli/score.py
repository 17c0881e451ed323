"""`roteq score`: a segmentation against the truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from roteq_core.cli.progress import console, follow, plain_errors


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
    slices: str | None = typer.Option(
        None, help="Slices of the truth to use, e.g. 24-29, counted from 0."
    ),
) -> None:
    """Print V-Rand and V-Info (thinned, foreground-restricted) and pixel error."""
    import numpy as np

    from roteq_core.metrics import iter_score_stack, score_labels
    from roteq_core.volumes import open_volume

    predicted, true = open_volume(prediction), open_volume(truth)
    wanted = _slices(slices, len(true)) if slices else range(len(true))
    truth_stack = np.stack([true[z] for z in wanted])
    planes = range(len(predicted)) if len(predicted) == len(wanted) else wanted
    if max(planes) >= len(predicted):
        raise ValueError(
            f"prediction and truth must have the same slices, got {len(predicted)} and "
            f"{len(wanted)}"
        )
    stack = np.stack([predicted[z] for z in planes])
    if stack.dtype == np.int32:  # numbered cells, as `roteq segment --cells` writes
        result: Any = score_labels(
            stack,
            truth_stack,
            truth_kind=truth_kind,  # type: ignore[arg-type]
        )
        typer.echo(json.dumps(vars(result), default=vars))
        return
    job = iter_score_stack(
        stack,
        truth_stack,
        polarity=polarity,  # type: ignore[arg-type]
        truth_kind=truth_kind,  # type: ignore[arg-type]
    )
    found = follow(job, "scoring")
    if as_json:
        typer.echo(json.dumps(found.as_dict()))
        return
    for decision in (found.truth_kind, found.polarity):
        console.print(f"{decision.value}: {decision.reason}", highlight=False)
    typer.echo(f"V-Rand       {found.v_rand:.4f}   at threshold {found.threshold:.2f}")
    typer.echo(f"V-Info       {found.v_info:.4f}   at {found.threshold_info:.2f}")
    typer.echo(f"pixel error  {found.pixel_error:.4f}   at {found.threshold_pixel:.2f}")


def _slices(text: str, count: int) -> range:
    """Read "24-29" or "5" as slices."""
    first, _, last = text.partition("-")
    try:
        start, stop = int(first), int(last or first) + 1
    except ValueError:
        raise ValueError(f"slices must look like 24-29 or 5, got {text!r}") from None
    if not 0 <= start < stop <= count:
        raise ValueError(f"slices must lie in 0…{count - 1}, got {text!r}")
    return range(start, stop)
