"""The command `roteq`: one typer app, to which each command is added here.

Command modules import torch and the rest of the library inside their functions, so
that `roteq --help` answers at once.
"""

from __future__ import annotations

import typer

import roteq_core
from roteq_core.cli import (
    demo,
    doctor,
    equivariance,
    field,
    find_cars,
    models,
    networks,
    orient,
    reproduce,
    robustness,
    score,
    segment,
    train,
)

app = typer.Typer(
    name="roteq",
    help="Rotation-equivariant vector-field networks from the command line.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode="markdown",  # paragraphs are wrapped anew
)

# A single command: app.command()(module.function).
# A group of commands: app.add_typer(module.app, name="membranes").
app.command()(doctor.doctor)
app.command()(networks.networks)
app.command()(demo.demo)
app.command()(equivariance.equivariance)
app.command()(segment.segment)
app.command()(score.score)
app.command()(robustness.robustness)
app.command()(field.field)
app.command()(orient.orient)
app.command("find-cars")(find_cars.find_cars)
app.add_typer(models.app, name="models")
app.add_typer(train.app, name="train")
app.add_typer(reproduce.app, name="reproduce")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"napari-roteq {roteq_core.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_show_version,
        is_eager=True,
        help="Show the version and stop.",
    ),
) -> None:
    """Hold the options that stand before every command."""


if __name__ == "__main__":
    app()
