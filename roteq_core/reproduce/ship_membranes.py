"""How the shipped membrane models were trained and described, to be done again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from roteq_core.card_text import CardText
from roteq_core.config import SegmentOptions, TrainConfig
from roteq_core.jobs import Job
from roteq_core.membranes.evaluate import iter_score_model, iter_structure_tensor
from roteq_core.membranes.examples import MembraneExamples
from roteq_core.membranes.robustness import DEGRADATIONS, Degradation, iter_robustness
from roteq_core.membranes.train import iter_train_membranes
from roteq_core.model import Model, combine_models, load_model, with_card
from roteq_core.net_config import MembraneNetConfig
from roteq_core.reproduce.isbi import (
    ISBI_DATA,
    ISBI_TERMS,
    ReproduceOptions,
    read_isbi,
)
from roteq_core.training.presets import MEMBRANE_PRESETS
from roteq_core.training.run_folder import LAST, run_folder_of

SINGLE, ENSEMBLE = "membranes", "membranes-ensemble"
_FIRST = replace(MEMBRANE_PRESETS["best"].train, patience=0, freeze=0.0, sharp=False)
_LAST = replace(_FIRST, learning_rate=4e-3, warmup=0.05, average=0.4, freeze=1.0)
# Most crops turned, and as sharp as upright ones: so are images that users turn.
_TURNED = replace(_LAST, learning_rate=3e-3, exact=0.2, sharp=True)
#: The training of each network, by its width N: legs, each from where the one before
#: it ended. In the last one normalizations keep their statistics, as they do when
#: images are predicted.
RECIPES: dict[int, tuple[TrainConfig, ...]] = {
    1: (
        replace(_FIRST, steps=2500, seed=1),
        replace(_LAST, steps=2000, seed=11),
        replace(_TURNED, steps=2000, seed=31, epoch_steps=400),
    ),
    2: (
        replace(_FIRST, steps=4750),
        replace(_LAST, steps=3000, seed=12, epoch_steps=500),
        replace(_TURNED, steps=2400, seed=32, epoch_steps=400),
        replace(
            _TURNED, steps=3000, seed=42, epoch_steps=500, learning_rate=4e-3, exact=0.1
        ),
        replace(
            _TURNED, steps=5000, seed=52, epoch_steps=500, learning_rate=5e-3, exact=0.1
        ),
    ),
    3: (
        replace(_FIRST, steps=1600, seed=3),
        replace(_LAST, steps=1500, seed=13),
        replace(_LAST, steps=2800, seed=23, epoch_steps=350),
        replace(_TURNED, steps=2400, seed=33, epoch_steps=400),
    ),
}
TURNS = 8
_SUMMARIES = {
    SINGLE: "EM membranes, cells and membrane directions; N = 2, one network",
    ENSEMBLE: "EM membranes, cells and membrane directions; N = 1, 2 and 3, three "
    "networks: better and three times slower",
}
_LIMITS = (
    "Trained on one kind of tissue and one microscope. Expects dark membranes (say "
    "that they are inverted otherwise) and about 4 nm pixels (give the pixel size "
    "otherwise). Scores of the single network on images made worse are on its card: "
)


def iter_ship_membranes(
    data: Path | str,
    folder: Path | str,
    *,
    options: ReproduceOptions | None = None,
    recipes: Mapping[int, Sequence[TrainConfig]] = RECIPES,
    degradations: tuple[Degradation, ...] = DEGRADATIONS,
    turns: int = TURNS,
) -> Job[dict[str, Path]]:
    """Train the networks of the shipped models, score them, and write the models.

    Runs and networks that are in the folder already are taken over or gone on with.

    Parameters
    ----------
    data : path
        A folder with ``train-volume.tif`` and ``train-labels.tif``.
    folder : path
        For runs and models.
    options : ReproduceOptions, optional
        Says which slices are held out.
    recipes : mapping of int to sequence of TrainConfig
        Legs by the width of the network; one of width 2 is the single model.
    degradations : tuple of Degradation
        For the table of robustness, which is made for the single network.
    turns : int
        Test-time turns that are scored besides a single look.

    Returns
    -------
    dict of str to Path
        The files of the models, by name.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    examples = read_isbi(data, options or ReproduceOptions())
    parts: dict[int, Model] = {}
    for width, legs in recipes.items():
        path = yield from _iter_legs(examples, folder, width, legs)
        parts[width] = load_model(path, task="membranes")
    models = {
        SINGLE: parts[2],
        # Better ones count more: on slices that were trained on this is the best of
        # N⁰, N and N², and no worse than without N = 1.
        ENSEMBLE: combine_models(
            list(parts.values()), name=ENSEMBLE, shares=[float(n) for n in parts]
        ),
    }
    tensor = yield from iter_structure_tensor(examples)
    worse = yield from _iter_worse(models[SINGLE], examples, degradations)
    paths = {}
    for name, model in models.items():
        scores = yield from iter_score_model(model, examples)
        scores["direction_deg_structure_tensor"] = tensor["direction_deg"]
        scores[f"turns_{turns}"] = yield from iter_score_model(
            model, examples, turns=turns
        )
        if name == SINGLE:
            scores["robustness"] = worse
        paths[name] = folder / f"{name}.safetensors"
        limits = _LIMITS + _worst(worse)
        model = _described(model, name, examples, scores, limits)
        with_legs(model, recipes).save(paths[name])
    return paths


def with_legs(
    model: Model, recipes: Mapping[int, Sequence[TrainConfig]] = RECIPES
) -> Model:
    """Put on the card of a model how its networks were trained, leg by leg."""
    configs: list[Any] = [network.config for network in model.networks]
    legs = {
        f"N = {c.width}": [asdict(leg) for leg in recipes[c.width]] for c in configs
    }
    return with_card(model, training={**model.card.training, "legs": legs})


def _iter_legs(
    examples: MembraneExamples, folder: Path, width: int, legs: Sequence[TrainConfig]
) -> Job[Path]:
    """Train a network leg by leg; give the file of the last one."""
    start: Path | None = None
    for number, train in enumerate(legs, start=1):
        path = folder / f"n{width}_leg{number}.safetensors"
        if not path.is_file():
            yield from iter_train_membranes(
                examples,
                path,
                network=MembraneNetConfig(width=width),
                train=train,
                card=CardText(f"N = {width}", pixel_size_nm=4.0),
                resume=(run_folder_of(path) / LAST).is_file(),
                start_from=start,
            )
        start = path
    if start is None:
        raise ValueError(f"a recipe must have a leg, the one for N = {width} has none")
    return start


def _iter_worse(
    model: Model, examples: MembraneExamples, degradations: tuple[Degradation, ...]
) -> Job[list[dict[str, Any]]]:
    held = list(examples.held_out)
    return (
        yield from iter_robustness(
            model,
            examples.images[held],
            examples.membranes[held],
            SegmentOptions(),
            degradations=degradations,
        )
    )


def _described(
    model: Model,
    name: str,
    examples: MembraneExamples,
    scores: dict[str, Any],
    limits: str,
) -> Model:
    held = examples.held_out
    return with_card(
        model,
        name=name,
        summary=_SUMMARIES[name],
        data=f"{ISBI_DATA}; slices {held[0]}-{held[-1]} were held out, and not used "
        "for choosing weights",
        terms=ISBI_TERMS,
        limits=limits,
        scores=scores,
    )


def _worst(rows: list[dict[str, Any]]) -> str:
    """Name what costs most, for those who read no tables."""
    ordered = sorted(rows, key=lambda row: float(row["v_rand"]))[:4]
    told = [f"{row['change']} (V-Rand {row['v_rand']:.3f})" for row in ordered]
    return "worst are " + ", ".join(told) + "."
