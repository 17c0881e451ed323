"""`roteq models`: what is shipped, what a file says of itself, ensembles."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Column, Table

from roteq_core.cli.progress import plain_errors, say

app = typer.Typer(help="List, show and combine models.", invoke_without_command=True)


@app.callback()
@plain_errors
def models(
    context: typer.Context,
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the shipped models."""
    from roteq_core.card import read_card, shipped_models

    if context.invoked_subcommand is not None:
        return
    cards = {name: read_card(path) for name, path in shipped_models().items()}
    if as_json:
        typer.echo(json.dumps({name: asdict(card) for name, card in cards.items()}))
        return
    names = Column("name", no_wrap=True)  # to be copied
    table = Table(names, "for", "networks", "weights", "what it is")
    for name, card in cards.items():
        size = f"{card.parameters:,}"
        purpose = f"{card.task} (baseline)" if card.is_baseline else card.task
        table.add_row(name, purpose, str(len(card.networks)), size, card.summary)
    Console().print(table)


@app.command()
@plain_errors
def show(model: str = typer.Argument(help="A shipped name, or a file.")) -> None:
    """Print the card of a model as JSON."""
    from roteq_core.card import find_model, read_card

    typer.echo(json.dumps(asdict(read_card(find_model(model))), indent=2))


@app.command()
@plain_errors
def check(model: str = typer.Argument(help="A shipped name, or a file.")) -> None:
    """Load a model and run its self-test."""
    from roteq_core.model import load_model

    card = load_model(model).card
    typer.echo(f"{card.name}: {len(card.networks)} network(s), the self-test passes")


@app.command()
@plain_errors
def combine(
    models: list[str] = typer.Argument(help="Shipped names, or files."),
    output: Path = typer.Option(..., "--output", "-o", help="A .safetensors file."),
    name: str | None = typer.Option(None, help="What to call it; the file's name."),
    summary: str = typer.Option("", help="One sentence for the list of models."),
    share: list[float] | None = typer.Option(
        None, help="How much a model counts, once for each, in their order."
    ),
) -> None:
    """Make an ensemble, whose predictions are averaged, of several models."""
    from roteq_core.card import check_model_output
    from roteq_core.model import combine_models, load_model

    check_model_output(output)
    ensemble = combine_models(
        [load_model(model) for model in models],
        name=name or output.stem,
        summary=summary,
        shares=share or None,
    )
    ensemble.save(output)
    count, size = len(ensemble.networks), ensemble.card.parameters
    say(f"wrote {output}: {count} networks, {size:,} weights")
