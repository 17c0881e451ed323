"""The paper's membrane tables, computed again, as a job that can be taken up again.

Each part is a training or a shipped model, scored on the same held-out slices. What is
finished stays in ``results.json`` of the output folder and is not computed twice.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from roteq_core.card import shipped_models
from roteq_core.config import SegmentOptions, TrainConfig
from roteq_core.device import choose_device
from roteq_core.jobs import Job, Report, drain
from roteq_core.membranes.evaluate import (
    iter_score_model,
    iter_structure_tensor,
    membrane_task,
)
from roteq_core.membranes.examples import MembraneExamples, read_examples
from roteq_core.membranes.robustness import AS_IT_IS, iter_robustness, turned_by
from roteq_core.membranes.train import score_held_out
from roteq_core.model import Model, load_model, make_model
from roteq_core.net_config import MembraneNetConfig
from roteq_core.networks import count_parameters
from roteq_core.networks.baselines import PlainNetConfig, UNetConfig, build_any
from roteq_core.training.checkpoint import read_checkpoint
from roteq_core.training.train import Trained, iter_train

#: What the cards of models that learnt from it say of the data.
ISBI_DATA = (
    "ISBI 2012 EM segmentation challenge, training stack (ssTEM of Drosophila larva "
    "ventral nerve cord, 4 x 4 x 50 nm)"
)
ISBI_TERMS = (
    "The data is free for making and testing non-commercial image segmentation "
    "software; cite Cardona et al. 2010, PLoS Biol 8(10): e1000502, and "
    "Arganda-Carreras et al. 2015, Front. Neuroanat. 9:142"
)
#: V-Rand on five held-out images: (without, with augmentation).
PAPER_AUGMENTATION = {"cnn": (0.9232, 0.9572), "roteqnet": (0.9726, 0.9790)}
#: V-Rand, V-Info and weights on the challenge's hidden test stack.
PAPER_CHALLENGE = {
    "U-Net": (0.9728, 0.9866, "33M"),
    "RotEqNet, N = 2": (0.9599, 0.9806, "30k"),
    "RotEqNet, 3 models": (0.9712, 0.9865, "100k"),
}
_UNCHANGED = {
    "rotate": False,
    "flip": False,
    "scale": 0.0,
    "elastic": 0.0,
    "intensity": 0.0,
}


FULL_TRAINING = TrainConfig(steps=3000, epoch_steps=250, freeze=0.3)
TIMED_STEPS = 4  # from which the U-Net's pace is told
#: What all are scored on beside the slices: the same, turned.
TURNED = (AS_IT_IS, turned_by(90), turned_by(37))


@dataclass(frozen=True)
class ReproduceOptions:
    """How much to spend.

    Parameters
    ----------
    train : TrainConfig
        Of every network.
    width, plain_width, unet_width : int
        Of the equivariant network, of the plain one and of the U-Net.
    held_out : str
        Slices that are scored.
    side : int, optional
        Use only the upper left corner of the slices.
    turns : int
        Test-time copies for the shipped models.
    """

    train: TrainConfig = FULL_TRAINING
    width: int = 2
    plain_width: int = 9
    unet_width: int = 64
    held_out: str = "24-29"
    side: int | None = None
    turns: int = 8


QUICK = ReproduceOptions(
    train=TrainConfig(steps=60, batch=1, crop=96, epoch_steps=60, learning_rate=1e-2),
    held_out="28-29",
    side=256,
    turns=2,
)

Step = Generator[Report, None, dict[str, Any]]


def iter_reproduce_isbi(
    data: Path | str, output: Path | str, options: ReproduceOptions | None = None
) -> Job[dict[str, Any]]:
    """Train and score all parts; give the results that ``results.json`` holds.

    Parameters
    ----------
    data : path
        A folder with ``train-volume.tif`` and ``train-labels.tif``.
    output : path
        For ``results.json`` and the runs; finished parts in it are taken over.
    options : ReproduceOptions, optional
    """
    options = options or ReproduceOptions()
    output = Path(output)
    examples = read_isbi(data, options)
    results = _read_results(output / "results.json", options)
    parts = _parts(examples, output, options, results)
    for index, (name, make) in enumerate(parts.items()):
        if name in results["parts"]:
            continue
        job = make()
        while True:
            try:
                report = next(job)
            except StopIteration as end:
                results["parts"][name] = end.value
                _write_results(output / "results.json", results)
                break
            share = report.done / max(report.total, 1)
            text = f"{name} ({index + 1} of {len(parts)}): {report.text}"
            yield Report(round(100 * (index + share)), 100 * len(parts), text)
    return results


def read_isbi(data: Path | str, options: ReproduceOptions) -> MembraneExamples:
    """Read the labelled stack of the challenge from a folder."""
    folder = Path(data)
    examples = read_examples(
        folder / "train-volume.tif",
        folder / "train-labels.tif",
        held_out=options.held_out,
        kind="cells",
    )
    if options.side is None:
        return examples
    corner = np.s_[:, : options.side, : options.side]
    return replace(
        examples,
        images=examples.images[corner],
        membranes=examples.membranes[corner],
        known=examples.known[corner],
    )


def _parts(
    examples: MembraneExamples,
    output: Path,
    options: ReproduceOptions,
    results: dict[str, Any],
) -> dict[str, Callable[[], Step]]:
    """Name everything there is to do, the cheapest comparisons first."""
    networks = {
        "roteqnet": MembraneNetConfig(width=options.width),
        "cnn": PlainNetConfig(width=options.plain_width),
    }
    changed = {"augmented": {}, "plain": _UNCHANGED}
    parts: dict[str, Callable[[], Step]] = {}
    for name, network in networks.items():
        for how, changes in changed.items():
            train = replace(options.train, **changes)  # type: ignore[arg-type]
            run = output / f"{name}-{how}"
            parts[f"{name}-{how}"] = _training(examples, network, train, run)
    unet = UNetConfig(width=options.unet_width)

    def same_minutes() -> Step:
        run = output / "unet-augmented"
        if (last := run / "last.safetensors").is_file():
            train = TrainConfig(**read_checkpoint(last).record["config"])
        else:
            seconds = results["parts"]["roteqnet-augmented"]["seconds"]
            train = _fit_to_time(examples, unet, options.train, seconds)
        return _training(examples, unet, train, run)()

    parts["unet-augmented"] = same_minutes
    for name in ("membranes", "membranes-ensemble"):
        if name in shipped_models():
            for turns in sorted({1, options.turns}):
                label = f"{name}, {turns} turn{'s' if turns > 1 else ''}"
                parts[label] = _shipped(examples, name, turns, options.train.device)
    parts["structure tensor"] = lambda: iter_structure_tensor(examples)
    return parts


def _training(
    examples: MembraneExamples, network: Any, train: TrainConfig, run: Path
) -> Callable[[], Step]:
    def job() -> Step:
        task = membrane_task(examples, network)
        resume = (run / "last.safetensors").is_file()
        trained: Trained = yield from iter_train(
            task, train, folder=run, resume=resume, build=build_any
        )
        scores = score_held_out(task, trained.network, choose_device(train.device))
        model = make_model([trained.network], name=run.name, task="membranes")
        turned = yield from _iter_turned(model, examples, 1, train.device)
        return {
            **scores,
            "turned": turned,
            "parameters": count_parameters(trained.network),
            "steps": trained.log[-1]["step"],
            "seconds": round(trained.log[-1]["seconds"], 3),
            "log": trained.log,
        }

    return job


def _fit_to_time(
    examples: MembraneExamples, network: Any, train: TrainConfig, seconds: float
) -> TrainConfig:
    """Choose the steps that take so many seconds, from a few that are timed.

    What the first step does once, such as choosing how to convolve, does not count.
    """
    tried = replace(train, steps=TIMED_STEPS, epoch_steps=1)
    untested = replace(examples, held_out=range(0))
    task = membrane_task(untested, network)
    log = drain(iter_train(task, tried, build=build_any)).log
    each = (log[-1]["seconds"] - log[0]["seconds"]) / (TIMED_STEPS - 1)
    steps = max(1, int(seconds / each))
    epoch = min(steps, train.epoch_steps)
    return replace(train, steps=steps, epoch_steps=epoch, learning_rate=1e-3)


def _shipped(
    examples: MembraneExamples, name: str, turns: int, device: str
) -> Callable[[], Step]:
    def job() -> Step:
        model = load_model(name)
        scores = yield from iter_score_model(
            model, examples, turns=turns, device=device
        )
        turned = yield from _iter_turned(model, examples, turns, device)
        return {**scores, "turned": turned}

    return job


def _iter_turned(
    model: Model, examples: MembraneExamples, turns: int, device: Any
) -> Job[list[dict[str, Any]]]:
    """Score held-out slices as they are and turned, grays fitted to them alone."""
    held_out = list(examples.held_out)
    return iter_robustness(
        model,
        examples.images[held_out],
        examples.membranes[held_out],
        SegmentOptions(turns=turns, device=device),
        degradations=TURNED,
        truth_kind="membranes",
    )


def _read_results(path: Path, options: ReproduceOptions) -> dict[str, Any]:
    asked = json.loads(json.dumps(asdict(options)))
    if path.is_file():
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if found["options"] != asked:
            raise ValueError(
                f"{path} holds results with other options: choose another folder"
            )
        return found
    machine = {
        "cpu": platform.processor() or platform.machine(),
        "cpus": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    return {"options": asked, "machine": machine, "parts": {}}


def _write_results(path: Path, results: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(results, indent=1), encoding="utf-8")
    os.replace(partial, path)
