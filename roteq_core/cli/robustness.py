"""`roteq robustness`: how a membrane model stands worse images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from roteq_core.cli.progress import follow, plain_errors, say
from roteq_core.membranes.slices import parse_slices


@plain_errors
def robustness(
    images: Path = typer.Argument(help="A stack that the model has not seen."),
    truth: Path = typer.Argument(help="Its membranes, or labelled cells."),
    model: str = typer.Option("membranes", help="A shipped model's name, or a file."),
    slices: str | None = typer.Option(None, help="Slices to use, e.g. 24-29."),
    truth_kind: str | None = typer.Option(
        None, help="What values above 0 of the truth are: membranes, cells or labels."
    ),
    ignore: int | None = typer.Option(
        None, help="Value of the truth that nobody labelled."
    ),
    turn: list[float] | None = typer.Option(
        None,
        help="Only turn, by so many degrees; more than once for a row each.",
    ),
    tta: int = typer.Option(1, help="Average over so many turned, mirrored copies."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Score a model on slices turned, with other contrast, blur, noise, pixel size."""
    from roteq_core.config import SegmentOptions
    from roteq_core.files.volumes import open_volume
    from roteq_core.membranes.robustness import (
        AS_IT_IS,
        DEGRADATIONS,
        iter_robustness,
        turned_by,
    )
    from roteq_core.model import load_model

    raw, true = open_volume(images), open_volume(truth)
    if raw.shape != true.shape:
        raise ValueError(
            f"images and truth must have the same shape, got {raw.shape} in {images} "
            f"and {true.shape} in {truth}"
        )
    chosen = parse_slices(slices, len(raw)) if slices else range(len(raw))
    loaded = load_model(model, task="membranes")
    changes = (AS_IT_IS, *map(turned_by, turn)) if turn else DEGRADATIONS
    wanted = tuple(d for d in changes if d.coarser == 1 or loaded.card.pixel_size)
    if left_out := [d.name for d in changes if d not in wanted]:
        say(
            f"left out, because {loaded.card.name} does not know its pixel size: "
            + "; ".join(left_out)
        )
    kind: Any = truth_kind
    options = SegmentOptions(model=model, turns=tta, device=device)  # type: ignore[arg-type]
    job = iter_robustness(
        loaded,
        raw.read(chosen),
        true.read(chosen),
        options,
        degradations=wanted,
        truth_kind=kind,
        ignore=ignore,
    )
    rows = follow(job, "robustness")
    if as_json:
        typer.echo(json.dumps(rows))
        return
    table = Table("change", "V-Rand", "V-Info")
    for row in rows:
        table.add_row(row["change"], f"{row['v_rand']:.4f}", f"{row['v_info']:.4f}")
    Console().print(table)
