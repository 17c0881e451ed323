"""`roteq reproduce …`: the paper's tables, beside what this package reaches."""

from __future__ import annotations

import typer

from roteq_core.cli import reproduce_cars, reproduce_isbi

app = typer.Typer(help="Compute the paper's tables and figures.", no_args_is_help=True)
app.command("cars")(reproduce_cars.reproduce_cars)
app.command("isbi")(reproduce_isbi.reproduce_isbi)
