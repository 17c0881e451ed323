"""`roteq train …`: models from your own labels."""

from __future__ import annotations

import typer

from roteq_core.cli import train_cars, train_finder, train_membranes

app = typer.Typer(help="Train a model on your own labels.", no_args_is_help=True)
app.command("cars")(train_cars.train_cars)
app.command("finder")(train_finder.train_finder)
app.command("membranes")(train_membranes.membranes)
