"""`roteq train membranes`: from a stack and its labels to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from roteq_core.cli.progress import follow, plain_errors, say
from roteq_core.jobs import Report


@plain_errors
def membranes(
    images: Path = typer.Option(..., help="TIFF, Zarr, or folder of slices."),
    labels: Path = typer.Option(..., help="Membranes, or numbered cells."),
    output: Path = typer.Option(
        ..., "--output", "-o", help="The model: a .safetensors file."
    ),
    preset: str = typer.Option(
        "laptop", help="quick (2 min on two cores), laptop (10-15 min) or best (1 h)."
    ),
    held_out: str = typer.Option(
        "auto",
        help="Slices to validate on, e.g. 24-29; auto: the last fifth of those with "
        "labels; none.",
    ),
    label_kind: str | None = typer.Option(
        None,
        help="What labels above 0 are: membranes, cells, labels (numbered cells), or "
        "painted (1 membrane, 2 not, 0 unlabelled).",
    ),
    ignore: int | None = typer.Option(None, help="Label of unlabelled pixels."),
    folder: Path | None = typer.Option(
        None, help="For checkpoints, log and curves; NAME_run beside the model."
    ),
    resume: bool = typer.Option(False, "--resume", help="Go on with a stopped run."),
    start_from: str | None = typer.Option(
        None, "--start", "--start-from", help="A model's name or file to start from."
    ),
    width: int | None = typer.Option(None, help="Width N of the network."),
    steps: int | None = typer.Option(None, help="Weight updates in all."),
    crop: int | None = typer.Option(
        None, help="Side of a training crop in pixels, a multiple of 8."
    ),
    batch: int | None = typer.Option(None, help="Crops per step."),
    learning_rate: float | None = typer.Option(None, help="Highest learning rate."),
    patience: int | None = typer.Option(
        None, help="Stop after so many epochs without gain."
    ),
    seed: int | None = typer.Option(None, help="Same seed, same weights."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
    pixel_size: float | None = typer.Option(
        None, help="Nanometers per pixel; read from the images if they say."
    ),
    name: str | None = typer.Option(None, help="The model's name; the file's."),
    about: str = typer.Option("", help="One sentence on the model for its card."),
    data: str = typer.Option("", help="What it was trained on, for its card."),
    terms: str = typer.Option("", help="What may be done with it, for its card."),
) -> None:
    """Train a membrane model on a stack and its labels.

    Ctrl-C stops: the model so far is saved, and --resume goes on exactly.
    """
    from roteq_core.card_text import CardText
    from roteq_core.files.volumes import open_volume
    from roteq_core.membranes.examples import read_examples
    from roteq_core.membranes.train import iter_train_membranes, save_unfinished
    from roteq_core.training.presets import membrane_preset
    from roteq_core.training.run_folder import run_folder_of

    if start_from is not None and width is not None:
        _check_width(start_from, width)
    network, train = membrane_preset(
        preset,
        width=width,
        steps=steps,
        crop=crop,
        batch=batch,
        learning_rate=learning_rate,
        patience=patience,
        seed=seed,
        device=device,
    )
    kind: Any = label_kind
    examples = read_examples(
        images, labels, held_out=held_out, kind=kind, ignore=ignore
    )
    for path in (images, labels):
        if note := open_volume(path).note:
            say(f"note: {note}")
    size = pixel_size or open_volume(images).pixel_size_nm
    card = CardText(name or output.stem, about, data, terms, pixel_size_nm=size)
    run = folder or run_folder_of(output)
    say(_labels_line(examples.description))
    say(_plan(examples.description, train.steps, run))
    job = iter_train_membranes(
        examples,
        output,
        network=network,
        train=train,
        card=card,
        folder=run,
        resume=resume,
        start_from=start_from,
    )

    def keep() -> None:
        if (run / "last.safetensors").is_file():
            say(f"wrote {save_unfinished(run, output)}; --resume goes on from here")

    path = follow(job, "training", _epoch_line, keep)
    say(f"wrote {path}")
    _show_scores(path)


def _check_width(start_from: str, width: int) -> None:
    """Refuse another width than that of the model to start from."""
    from roteq_core.card import find_model, read_card

    found = read_card(find_model(start_from)).networks[0].get("width")
    if width != found:
        raise ValueError(
            f"--width must be that of the model to start from, {start_from}, which is "
            f"{found}, got {width}: leave it out"
        )


def _labels_line(data: dict[str, Any]) -> str:
    from roteq_core.membranes.label_meaning import MEANINGS

    meaning, reason = data["labels_read_as"], data["labels_read_because"]
    return f"{data['labels']} is read as {MEANINGS[meaning]} ({reason})"


def _plan(data: dict[str, Any], steps: int, run: Path) -> str:
    held = data["held_out"]
    told = f"validating on {held[0]}-{held[1]}" if held else "without validation"
    share = f"{100 * data['membrane_share']:.1f} % of labelled pixels are membrane"
    return f"{data['shape'][0]} slices, {told}; {share}; {steps} steps; run in {run}"


def _epoch_line(report: Report) -> str | None:
    values = report.values
    if "is_best" not in values:
        return None
    best = " (best)" if values["is_best"] else ""
    left = values["seconds_left"] / 60
    return f"step {report.done}: {report.text}{best}; {left:.0f} min left"


def _show_scores(path: Path) -> None:
    from roteq_core.card import read_card

    scores = read_card(path).scores
    for key in ("v_rand", "v_info", "pixel_error", "direction_deg", "pixels_right"):
        if scores.get(key) is not None:
            digits = 2 if key.endswith("_deg") else 4  # as many as the card keeps
            typer.echo(f"{key:14} {scores[key]:.{digits}f}")
