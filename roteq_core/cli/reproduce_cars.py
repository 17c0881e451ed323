"""`roteq reproduce cars`: the paper's car experiment, as a table, JSON and plots."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import typer

from roteq_core.cli.progress import console, follow, plain_errors
from roteq_core.config import TrainConfig

QUICK_MINUTES = 0.25


@plain_errors
def reproduce_cars(
    data: Path = typer.Option(..., help="Folder with cars.csv and frames/."),
    output: Path = typer.Option(
        Path("reproduce_cars"), "--output", "-o", help="Folder for JSON and plots."
    ),
    model: str = typer.Option("cars", help="A shipped model's name, or a file."),
    finder: str = typer.Option(
        "car-finder", help="The finder to score: a shipped model's name, or a file."
    ),
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
    ship_finder: Path | None = typer.Option(
        None, help="Instead, train the shipped finder anew, to this .safetensors file."
    ),
    scores: bool = typer.Option(
        False,
        "--scores",
        help="Instead, score the model on all cars of its card, and the finder.",
    ),
    start: str | None = typer.Option(
        None, help="A model's name or file to start from, with --ship."
    ),
) -> None:
    """Compare with the paper: errors, flips, the plain CNN, and the sweep over R.

    Also precision and recall of the finder on the test frames.
    """
    from roteq_core.card import check_model_output
    from roteq_core.reproduce.ablate_cars import ablation_lines, iter_ablate_cars
    from roteq_core.reproduce.cars import iter_reproduce_cars
    from roteq_core.reproduce.cars_report import (
        detail_lines,
        draw_figures,
        finder_lines,
        table_lines,
    )

    if ship is not None:
        check_model_output(ship)
        _ship(data, ship, start, steps)
        return
    if ship_finder is not None:
        check_model_output(ship_finder)
        _ship_finder(data, ship_finder, steps, output)
        return
    if scores:
        _score(data, model, finder, output)
        return
    if quick and steps is None and minutes is None:
        minutes = QUICK_MINUTES
    if parts:
        kept = output / "parts.json"
        job = iter_ablate_cars(data, minutes=minutes or 4.0, output=kept)
        found = follow(job, "parts")
        for line in ablation_lines(found):
            typer.echo(line)
        return
    job = iter_reproduce_cars(
        data, model=model, finder=finder, steps=steps, minutes=minutes, train=train
    )
    result = follow(job, "reproduce cars")
    output.mkdir(parents=True, exist_ok=True)
    (output / "cars.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    draw_figures(result, output / "cars.png")
    lines = [*table_lines(result), *detail_lines(result)]
    for line in (*lines, *finder_lines(result["finder"])):
        typer.echo(line)
    if train and (steps or minutes):
        length = f"{steps} steps" if steps else f"{minutes:g} minutes of processor time"
        typer.echo(f"The networks beside the first were trained for {length} only.")
    console.print(f"wrote {output}", highlight=False)


def _ship(data: Path, output: Path, start: str | None, steps: int | None) -> None:
    from roteq_core.reproduce.ship_cars import LAST_LEG, LEGS, iter_ship_cars

    *legs, last = (_shortened(leg, steps) for leg in (*LEGS, LAST_LEG))
    job = iter_ship_cars(data, start_from=start, legs=legs, last=last)
    model = follow(job, "train cars", lambda r: r.text if "loss" in r.values else None)
    model.save(output)
    _print_scores(model.card.scores)
    console.print(f"wrote {output}: {model.card.parameters} weights", highlight=False)


def _shortened(leg: TrainConfig, steps: int | None) -> TrainConfig:
    if not steps:
        return leg
    return replace(leg, steps=steps, epoch_steps=min(steps, leg.epoch_steps))


def _ship_finder(data: Path, file: Path, steps: int | None, output: Path) -> None:
    from roteq_core.reproduce.ship_finder import FINDER_LEGS, iter_ship_finder

    legs = [_shortened(leg, steps) for leg in FINDER_LEGS]
    job = iter_ship_finder(data, output / "finder", legs=legs)
    model = follow(job, "train finder", lambda r: r.text if "heat" in r.text else None)
    model.save(file)
    typer.echo(model.card.limits)
    console.print(f"wrote {file}: {model.card.parameters} weights", highlight=False)


def _score(data: Path, model: str, finder: str, output: Path) -> None:
    from roteq_core.cars.finder_scores import iter_finder_scores
    from roteq_core.model import load_model
    from roteq_core.reproduce.cars_report import finder_lines
    from roteq_core.reproduce.ship_cars import iter_scores

    judged = load_model(model, task="cars")
    job = iter_finder_scores(data, model=finder, heading_model=model)
    found = follow(job, "scores of the finder")
    headings = follow(iter_scores(judged, data), "scores of the headings")
    output.mkdir(parents=True, exist_ok=True)
    result = {"model": model, "headings": headings, "finder": found}
    (output / "scores.json").write_text(json.dumps(result, indent=1), "utf-8")
    _print_scores(headings)
    for line in finder_lines(found):
        typer.echo(line)
    console.print(f"wrote {output / 'scores.json'}", highlight=False)


def _print_scores(scores: dict[str, dict[str, float]]) -> None:
    for name, row in scores.items():
        typer.echo(
            f"{name:18}{row['cars']:5} cars: mean {row['mean_deg']:.2f}°, median "
            f"{row['median_deg']:.2f}°, {100 * row['share_under_15']:.1f} % under 15°, "
            f"{100 * row['share_above_150']:.1f} % above 150°, 90 % interval holds "
            f"{100 * row['interval_90_holds']:.1f} %"
        )
