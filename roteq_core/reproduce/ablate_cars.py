"""What each kind of training data and each part of the heading network is worth.

The same short training again and again, each time without one of them, judged on
held-out cars of the same video and on drawn cars of styles that were left out.
"""

from __future__ import annotations

import dataclasses
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roteq_core.cars.drawn import learnt_families, synthetic_patches
from roteq_core.cars.frames import frame_patches, split_frames
from roteq_core.cars.mended_labels import turned_around
from roteq_core.cars.splits import read_split
from roteq_core.cars.train import LEFT_OUT, TRAIN_CARS
from roteq_core.jobs import Job, Report, drain
from roteq_core.net_config import CAR_NETS
from roteq_core.reproduce.cars import fitted_steps
from roteq_core.tasks.car_augment import Look
from roteq_core.tasks.car_patches import CarPatches, join_patches
from roteq_core.tasks.cars import CarTask
from roteq_core.training.train import iter_train


@dataclass(frozen=True)
class Variant:
    """One training: what differs from that with everything.

    Parameters
    ----------
    name : str
    without : tuple of str
        Random changes of crops that are left out, of `LOOKS`.
    train, network : dict
        Changed fields of `TrainConfig` and of the network.
    real : float
        Share of real cars; the rest is drawn.
    """

    name: str
    without: tuple[Look, ...] = ()
    train: dict[str, Any] = field(default_factory=dict)
    network: dict[str, Any] = field(default_factory=dict)
    real: float = 0.5


VARIANTS = (
    Variant("everything"),
    Variant("no synthetic scenes, real cars alone", real=1.0),
    Variant("drawn cars alone", real=0.0),
    Variant("no blur", ("blur",)),
    Variant("no change of size", train={"scale": 0.0}),
    Variant("no change of contrast", ("contrast",)),
    Variant("no inversion of car against road", ("paint", "inversion")),
    Variant("no shadows", ("shadow",)),
    Variant("no light from one side", ("light",)),
    Variant("no JPEG blocks", ("jpeg",)),
    Variant("no noise", ("noise",)),
    Variant("no change of color", ("color",)),
    Variant("none of these but color and size", train={"intensity": 0.0}),
    Variant("no turned and mirrored crops", train={"rotate": False, "flip": False}),
    Variant("gray instead of color", network={"in_maps": 1}),
    Variant("one template instead of 24", network={"hidden": 0}),
)


def iter_ablate_cars(
    data: Path,
    *,
    minutes: float,
    drawn: int = 2000,
    checks: int = 160,
    output: Path | None = None,
) -> Job[dict[str, Any]]:
    """Train all variants for the same processor time, and score them.

    Labels that name the rear are turned around for learning and scoring alike.

    Parameters
    ----------
    data : path
        With `cars.csv` and `frames/`; the last fifth of the split `train` is held out,
        and the split `test` is not looked at.
    minutes : float
        Processor time for each training.
    drawn, checks : int
        Drawn cars to learn from, and of styles that were left out to score on.
    output : path, optional
        A JSON file that is written after each training. What it holds already, from a
        run with the same numbers, is taken over.
    """
    asked = {"minutes": minutes, "drawn": drawn, "checks": checks}
    rows = _rows_so_far(output, asked)
    train, held = split_frames(turned_around(read_split(Path(data), "train")))
    kept = learnt_families(LEFT_OUT)
    learnt = join_patches(
        [
            frame_patches(train, "real"),
            (yield from synthetic_patches(drawn, 1, kept, "synthetic")),
        ]
    )
    held_out = join_patches(
        [
            frame_patches(held, "real"),
            (yield from synthetic_patches(checks, 2, LEFT_OUT, "left-out")),
        ]
    )
    result: dict[str, Any] = {**asked, "held_out": len(held_out), "rows": rows}
    for index, variant in enumerate(VARIANTS):
        if variant.name in rows:
            continue
        yield Report(index, len(VARIANTS), variant.name)
        rows[variant.name] = train_variant(variant, learnt, held_out, 60 * minutes)
        if output is not None:
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(json.dumps(result, indent=1), encoding="utf-8")
    return result


def _rows_so_far(output: Path | None, asked: dict[str, Any]) -> dict[str, Any]:
    if output is None or not output.is_file():
        return {}
    found: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    if any(found.get(name) != value for name, value in asked.items()):
        raise ValueError(
            f"{output} holds a run with other numbers than {asked}: choose another "
            "folder"
        )
    rows: dict[str, Any] = found["rows"]
    return rows


def train_variant(
    variant: Variant, learnt: CarPatches, held_out: CarPatches, seconds: float
) -> dict[str, float]:
    """Train one variant for so many seconds of processor time, and score it."""
    network = dataclasses.replace(CAR_NETS["wide"], **variant.network)
    shares = {"real": variant.real, "synthetic": 1 - variant.real}
    task = CarTask(learnt, network=network, shares=shares, without=variant.without)
    config = dataclasses.replace(TRAIN_CARS, **{"batch": 32, **variant.train})
    config = fitted_steps(task, config, seconds)
    start = time.process_time()
    trained = drain(iter_train(task, config))
    spent = time.process_time() - start
    judge = CarTask(learnt, held_out, network=network)
    scores = judge.validate(trained.network, next(trained.network.parameters()).device)
    return {**scores, "steps": config.steps, "cpu_seconds": round(spent, 1)}


def ablation_lines(result: dict[str, Any]) -> list[str]:
    """Give the table as lines of text."""
    width = max(len(name) for name in result["rows"])
    names = f"{'held-out real':>15}{'left-out drawn':>16}{'flipped':>9}{'steps':>7}"
    lines = [" " * width + names]
    for name, row in result["rows"].items():
        lines.append(
            f"{name:{width}}{row['real_deg']:>14.1f}°{row['left-out_deg']:>15.1f}°"
            f"{100 * row['flipped']:>8.1f}%{row['steps']:>7.0f}"
        )
    lines.append(f"Each was trained for {result['minutes']:g} processor minutes only.")
    return lines
