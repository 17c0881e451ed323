"""`roteq networks`: the paper's networks, with weights, stride and reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from roteq_core.cli.progress import plain_errors

# What the paper says of each, and what its table counts to: docs/networks.md.
_PAPER = {
    "membranes N=1": ("", 6749),
    "membranes N=2": ("30k", 26786),
    "membranes N=3": ("", 60111),
    "cars 3-6-3": ("9k", 9561),
    "digits": ("100k", 104358),
    "patches": ("40k", 34263),
}


@plain_errors
def networks() -> None:
    """Print a Markdown table of the networks, as in docs/networks.md."""
    typer.echo(
        "| network | weights here | counted from the table | paper | stride | reach |"
    )
    typer.echo("|---|---|---|---|---|---|")
    for row in rows():
        typer.echo("| " + " | ".join(row) + " |")


def rows() -> Iterator[tuple[str, ...]]:
    """Give name, weights, weights of the paper's table and text, stride and reach."""
    from roteq_core.net_config import (
        CarNetConfig,
        DigitNetConfig,
        MembraneNetConfig,
        PatchNetConfig,
    )
    from roteq_core.networks import build_network, count_parameters

    configs = {f"membranes N={n}": MembraneNetConfig(width=n) for n in (1, 2, 3)}
    others = {
        "cars 3-6-3": CarNetConfig(filters=(3, 6, 3)),
        "digits": DigitNetConfig(),
        "patches": PatchNetConfig(),
    }
    every: dict[str, Any] = {**configs, **others}
    for name, config in every.items():
        network = build_network(config)
        said, counted = _PAPER[name]
        yield (
            name,
            f"{count_parameters(network):,}",
            f"{counted:,}",
            said,
            str(getattr(network, "stride", "")),
            str(getattr(network, "reach", "")),
        )
