"""`roteq reproduce isbi`: the paper's membrane tables beside ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from roteq_core.cli.progress import follow, plain_errors, say


@plain_errors
def reproduce_isbi(
    data: Path = typer.Option(
        ..., help="Folder with train-volume.tif and train-labels.tif."
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Folder for results.json and the runs."
    ),
    quick: bool = typer.Option(
        False, "--quick", help="A check in minutes, not the paper's figures."
    ),
    steps: int | None = typer.Option(None, help="Weight updates of each network."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
    ship: Path | None = typer.Option(
        None, help="Instead, train the shipped models anew, into this folder."
    ),
) -> None:
    """Train RotEqNet, a plain CNN and a U-Net, and score them beside the paper.

    Stop at any time: the same command goes on from there.
    """
    from roteq_core.reproduce.isbi import (
        QUICK,
        ReproduceOptions,
        iter_reproduce_isbi,
    )

    if ship is not None:
        _ship(data, ship, device)
        return
    options = QUICK if quick else ReproduceOptions()
    train: Any = {"device": device}
    if steps is not None:
        epoch = min(steps, options.train.epoch_steps)
        train |= {"steps": steps, "epoch_steps": epoch}
    options = replace(options, train=replace(options.train, **train))
    folder = output or Path("isbi_quick" if quick else "isbi")
    job = iter_reproduce_isbi(data, folder, options)
    results = follow(job, "reproducing")
    show_tables(results)
    say(f"wrote {folder / 'results.json'}")


def _ship(data: Path, folder: Path, device: str) -> None:
    from roteq_core.reproduce.ship_membranes import RECIPES, iter_ship_membranes

    recipes = {
        width: [replace(leg, device=device) for leg in legs]  # type: ignore[arg-type]
        for width, legs in RECIPES.items()
    }
    for path in follow(
        iter_ship_membranes(data, folder, recipes=recipes), "training"
    ).values():
        say(f"wrote {path}")


def show_tables(results: dict[str, Any]) -> None:
    """Print the paper's two tables with our figures, turned slices and directions."""
    from roteq_core.reproduce.isbi import PAPER_AUGMENTATION, PAPER_CHALLENGE

    parts, console = results["parts"], Console()
    ours = f"ours, slices {results['options']['held_out']}"
    table = Table(
        "V-Rand", "paper, no augm.", "ours", "paper, augm.", "ours", "weights"
    )
    for name, (plain, augmented) in PAPER_AUGMENTATION.items():
        table.add_row(
            name,
            f"{plain:.4f}",
            _figure(parts.get(f"{name}-plain"), "v_rand"),
            f"{augmented:.4f}",
            _figure(parts.get(f"{name}-augmented"), "v_rand"),
            f"{parts[f'{name}-augmented']['parameters']:,}",
        )
    console.print(table)
    table = Table("", "V-Rand", "V-Info", "weights", "minutes", "on")
    for name, (rand, info, size) in PAPER_CHALLENGE.items():
        table.add_row(
            name, f"{rand:.4f}", f"{info:.4f}", size, "", "paper, hidden test stack"
        )
    table.add_section()
    segmented = {name: part for name, part in parts.items() if "v_rand" in part}
    for name, part in segmented.items():
        table.add_row(
            name,
            _figure(part, "v_rand"),
            _figure(part, "v_info"),
            f"{part['parameters']:,}",
            f"{part['seconds'] / 60:.1f}",
            ours,
        )
    console.print(table)
    _show_turned(segmented, console)
    table = Table("direction of membranes", "mean error")
    for name, part in parts.items():
        table.add_row(name, _figure(part, "direction_deg", "{:.1f}°"))
    console.print(table)


def _show_turned(parts: dict[str, Any], console: Console) -> None:
    """Print how scores hold when slices are turned, where that was measured."""
    measured = {
        name: part["turned"] for name, part in parts.items() if "turned" in part
    }
    if not measured:
        return
    changes = [row["change"] for row in next(iter(measured.values()))]
    table = Table("V-Rand / V-Info", *changes)
    for name, rows in measured.items():
        pairs = (f"{row['v_rand']:.4f} / {row['v_info']:.4f}" for row in rows)
        table.add_row(name, *pairs)
    console.print(table)


def _figure(part: dict[str, Any] | None, key: str, form: str = "{:.4f}") -> str:
    found = None if part is None else part.get(key)
    return "" if found is None else form.format(found)
