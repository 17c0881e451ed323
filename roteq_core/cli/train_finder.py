"""`roteq train finder`: a car finder for one's own images."""

from __future__ import annotations

from pathlib import Path

import typer

from roteq_core.cli.progress import console, follow, plain_errors, say


@plain_errors
def train_finder(
    images: list[Path] = typer.Option(..., help="Images, or folders of images."),
    cars: Path = typer.Option(
        ..., help="Table with every car of the images, or a folder of tables."
    ),
    output: Path = typer.Option(..., "--output", "-o", help="A .safetensors file."),
    steps: int | None = typer.Option(None, help="Weight updates in all."),
    batch: int | None = typer.Option(None, help="Windows per step."),
    synthetic: int = typer.Option(150, help="Drawn scenes to learn from besides."),
    seed: int = typer.Option(0, help="Same seed, same weights."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
    folder: Path | None = typer.Option(None, help="Keep checkpoints here."),
    resume: bool = typer.Option(False, "--resume", help="Go on from the folder."),
    start: str | None = typer.Option(
        None, help="A model's name or file to start from."
    ),
) -> None:
    """Learn to find cars; what is not in the table is taken for ground.

    The last fifth of the images is held out, to validate and to fit the threshold.
    """
    import dataclasses

    from roteq_core.card import check_model_output
    from roteq_core.cars.frames import frames_from_files
    from roteq_core.cars.train_finder import TRAIN_FINDER, iter_train_finder

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
    job = iter_train_finder(
        frames,
        config=config,
        synthetic=synthetic,
        name=output.stem,
        folder=folder,
        resume=resume,
        start_from=start,
    )
    model = follow(
        job, "train finder", lambda r: r.text if "loss" in r.values else None
    )
    model.save(output)
    console.print(f"wrote {output}: {model.card.parameters} weights", highlight=False)
