"""`roteq train cars`: a heading model for one's own images."""

from __future__ import annotations

from pathlib import Path

import typer

from roteq_core.cli.progress import console, plain_errors
from roteq_core.cli.train_run import follow_run, say_orientations


@plain_errors
def train_cars(
    images: list[Path] = typer.Option(
        ..., help="An image, or a folder of images; repeat --images for more."
    ),
    cars: Path = typer.Option(
        ..., help="Table of cars with headings and lengths, or a folder of tables."
    ),
    output: Path = typer.Option(..., "--output", "-o", help="A .safetensors file."),
    preset: str | None = typer.Option(None, help="quick, laptop or best."),
    network: str | None = typer.Option(
        None,
        help="wide, 9k, 5k, paper-9k or paper-5k; if not given, that of the model to "
        "start from, or wide.",
    ),
    steps: int | None = typer.Option(None, help="Weight updates in all."),
    batch: int | None = typer.Option(None, help="Cars per step."),
    synthetic: int | None = typer.Option(
        None, help="Synthetic cars to learn from besides: 1200, or as the preset says."
    ),
    seed: int = typer.Option(0, help="Same seed, same weights."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
    folder: Path | None = typer.Option(
        None, help="For checkpoints, log and curves; NAME_run beside the model."
    ),
    resume: bool = typer.Option(False, "--resume", help="Go on with a stopped run."),
    start: str | None = typer.Option(
        None, help="A model's name or file to start from."
    ),
) -> None:
    """Learn headings from turned crops; parked cars count once.

    The last fifth of the images is held out, to validate and to fit the error bars.
    Ctrl-C stops: the model so far is saved, and --resume goes on exactly.
    """
    from roteq_core.card import check_model_output
    from roteq_core.cars.frames import frames_from_files
    from roteq_core.cars.train import (
        TRAIN_CARS,
        TRAIN_CARS_PAPER,
        iter_train_cars,
        model_of_run,
    )
    from roteq_core.net_config import CAR_NETS
    from roteq_core.training.presets import car_preset
    from roteq_core.training.run_folder import run_folder_of

    check_model_output(output)
    if network is not None and network not in CAR_NETS:
        raise ValueError(f"network must be one of {list(CAR_NETS)}, got {network!r}")
    is_paper = network is not None and network.startswith("paper")
    chosen = car_preset(
        preset,
        TRAIN_CARS_PAPER if is_paper else TRAIN_CARS,
        steps=steps,
        batch=batch,
        seed=seed,
        device=device,
    )
    drawn = chosen.synthetic if synthetic is None else synthetic
    frames = frames_from_files(images, cars)
    say_orientations(frames.images)
    run = folder or run_folder_of(output)
    job = iter_train_cars(
        frames,
        network=CAR_NETS[network] if network else None,
        config=chosen.train,
        synthetic=0 if is_paper else drawn,
        loss="squared" if is_paper else "density",
        name=output.stem,
        folder=run,
        resume=resume,
        start_from=start,
    )
    model = follow_run(job, "train cars", run, output, model_of_run)
    model.save(output)
    console.print(f"wrote {output}: {model.card.parameters} weights", highlight=False)
