"""`roteq train finder`: a car finder for one's own images."""

from __future__ import annotations

from pathlib import Path

import typer

from roteq_core.cli.progress import console, plain_errors, say
from roteq_core.cli.train_run import follow_run, say_orientations


@plain_errors
def train_finder(
    images: list[Path] = typer.Option(
        ..., help="An image, or a folder of images; repeat --images for more."
    ),
    cars: Path = typer.Option(
        ..., help="Table with every car of the images, or a folder of tables."
    ),
    output: Path = typer.Option(..., "--output", "-o", help="A .safetensors file."),
    steps: int | None = typer.Option(None, help="Weight updates in all."),
    batch: int | None = typer.Option(None, help="Windows per step."),
    synthetic: int = typer.Option(150, help="Drawn scenes to learn from besides."),
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
    """Learn to find cars; what is not in the table is taken for ground.

    The last fifth of the images is held out, to validate and to fit the threshold.
    Ctrl-C stops: the model so far is saved, and --resume goes on exactly.
    """
    import dataclasses

    from roteq_core.card import check_model_output
    from roteq_core.cars.frames import frames_from_files
    from roteq_core.cars.train_finder import (
        TRAIN_FINDER,
        iter_train_finder,
        model_of_run,
    )
    from roteq_core.training.run_folder import run_folder_of

    check_model_output(output)
    count = steps or TRAIN_FINDER.steps
    config = dataclasses.replace(
        TRAIN_FINDER,
        steps=count,
        epoch_steps=min(count, TRAIN_FINDER.epoch_steps),
        batch=batch or TRAIN_FINDER.batch,
        seed=seed,
        device=device,  # type: ignore[arg-type]
    )
    frames = frames_from_files(images, cars, every_image=True)
    bare = sum(not row for row in frames.cars)
    doubtful = sum(map(len, frames.doubtful))
    if bare:
        say(f"note: {bare} of {len(frames.images)} images have no cars: all ground")
    if doubtful:
        say(f"note: {doubtful} cars without heading or length, or rejected: unused")
    say_orientations(frames.images)
    run = folder or run_folder_of(output)
    job = iter_train_finder(
        frames,
        config=config,
        synthetic=synthetic,
        name=output.stem,
        folder=run,
        resume=resume,
        start_from=start,
    )
    model = follow_run(job, "train finder", run, output, model_of_run)
    model.save(output)
    console.print(f"wrote {output}: {model.card.parameters} weights", highlight=False)
