"""`roteq models`: what is shipped, and what a file says of itself."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from roteq_core.cli.progress import plain_errors


@plain_errors
def models(
    model: Path | None = typer.Argument(
        None, help="A name or file, for its whole card."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the shipped models, or show one model's card."""
    from roteq_core.card import find_model, read_card, shipped_models

    if model is not None:
        typer.echo(json.dumps(asdict(read_card(find_model(model))), indent=2))
        return
    cards = {name: read_card(path) for name, path in shipped_models().items()}
    if as_json:
        typer.echo(json.dumps({name: asdict(card) for name, card in cards.items()}))
        return
    table = Table("name", "for", "weights", "what it is")
    for name, card in cards.items():
        table.add_row(name, card.task, f"{card.parameters:,}", card.summary)
    Console().print(table)
