"""`roteq reproduce cars`: the paper's car experiment, as a table, JSON and plots."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from roteq_core.cli.progress import console, follow, plain_errors

QUICK_MINUTES = 0.25


@plain_errors
def reproduce_cars(
    data: Path = typer.Option(..., help="Folder with cars.csv and frames/."),
    output: Path = typer.Option(
        Path("reproduce_cars"), "--output", "-o", help="Folder for JSON and plots."
    ),
    model: str = typer.Option("cars", help="A shipped model's name, or a file."),
    steps: int | None = typer.Option(None, help="Weight updates of each network."),
    minutes: float | None = typer.Option(
        None, help="Processor minutes of each network, in place of steps."
    ),
    train: bool = typer.Option(True, help="Train the networks to compare with."),
    parts: bool = typer.Option(
        False, "--parts", help="Instead, see what each kind of data is worth."
    ),
    quick: bool = typer.Option(False, "--quick", help="Train only for a look."),
    ship: Path | None = typer.Option(
        None, help="Instead, train the shipped model anew, to this .safetensors file."
    ),
    scores: bool = typer.Option(
        False, "--scores", help="Instead, score the model on all cars of its card."
    ),
    start: str | None = typer.Option(
        None, help="A model's name or file to start from, with --ship."
    ),
) -> None:
    """Compare with the paper: errors, flips, the plain CNN, and the sweep over R."""
    from roteq_core.ablate_cars import ablation_lines, iter_ablate_cars
    from roteq_core.model import load_model
    from roteq_core.reproduce_cars import iter_reproduce_cars
    from roteq_core.reproduce_cars_report import (
        detail_lines,
        draw_figures,
        table_lines,
    )
    from roteq_core.ship_cars import iter_scores

    if ship is not None:
        _ship(data, ship, start, steps)
        return
    if scores:
        _print_scores(
            follow(iter_scores(load_model(model, task="cars"), data), "scores")
        )
        return
    if quick and steps is None and minutes is None:
        minutes = QUICK_MINUTES
    if parts:
        found = follow(iter_ablate_cars(data, minutes=minutes or 4.0), "parts")
        output.mkdir(parents=True, exist_ok=True)
        (output / "parts.json").write_text(json.dumps(found, indent=1), "utf-8")
        for line in ablation_lines(found):
            typer.echo(line)
        return
    job = iter_reproduce_cars(
        data, model=model, steps=steps, minutes=minutes, train=train
    )
    result = follow(job, "reproduce cars")
    output.mkdir(parents=True, exist_ok=True)
    (output / "cars.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    draw_figures(result, output / "cars.png")
    for line in (*table_lines(result), *detail_lines(result)):
        typer.echo(line)
    if train and (steps or minutes):
        length = f"{steps} steps" if steps else f"{minutes:g} minutes of processor time"
        typer.echo(f"The networks beside the first were trained for {length} only.")
    console.print(f"wrote {output}", highlight=False)


def _ship(data: Path, output: Path, start: str | None, steps: int | None) -> None:
    import dataclasses

    from roteq_core.ship_cars import LAST_LEG, LEGS, iter_ship_cars

    *legs, last = (
        dataclasses.replace(leg, steps=steps, epoch_steps=min(steps, leg.epoch_steps))
        if steps
        else leg
        for leg in (*LEGS, LAST_LEG)
    )
    job = iter_ship_cars(data, start_from=start, legs=legs, last=last)
    model = follow(job, "train cars", lambda r: r.text if "loss" in r.values else None)
    model.save(output)
    _print_scores(model.card.scores)
    console.print(f"wrote {output}: {model.card.parameters} weights", highlight=False)


def _print_scores(scores: dict[str, dict[str, float]]) -> None:
    for name, row in scores.items():
        typer.echo(
            f"{name:18}{row['cars']:5} cars: mean {row['mean_deg']:.2f}°, median "
            f"{row['median_deg']:.2f}°, {100 * row['share_under_15']:.1f} % under 15°, "
            f"{100 * row['share_above_150']:.1f} % above 150°, 90 % interval holds "
            f"{100 * row['interval_90_holds']:.1f} %"
        )
