"""How the shipped car finder was trained and described, to be done again."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from roteq_core.cars.finder_scores import RULE, iter_finder_scores
from roteq_core.cars.mended_labels import turned_around
from roteq_core.cars.splits import read_split
from roteq_core.cars.train import LEFT_OUT
from roteq_core.cars.train_finder import TRAIN_FINDER, iter_train_finder
from roteq_core.config import TrainConfig
from roteq_core.jobs import Job
from roteq_core.model import Model, load_model, with_card
from roteq_core.net_config import FINDER_NET, CarFinderNetConfig
from roteq_core.training.run_folder import LAST

_FIRST = replace(TRAIN_FINDER, seed=1)
_LAST = replace(
    TRAIN_FINDER,
    steps=2400,
    learning_rate=4e-3,
    warmup=0.05,
    freeze=1.0,
    average=0.4,
    seed=2,
)
#: The legs of the training, and how many scenes are drawn for it.
FINDER_LEGS = (_FIRST, _LAST)
DRAWN_SCENES = 300
_TERMS = (
    "Free to use under the license of this package. The frames it learnt from are not "
    "included and may not be redistributed."
)


def iter_ship_finder(
    data: Path,
    folder: Path,
    *,
    network: CarFinderNetConfig = FINDER_NET,
    legs: Sequence[TrainConfig] = FINDER_LEGS,
    drawn: int = DRAWN_SCENES,
) -> Job[Model]:
    """Train the finder leg by leg, and describe it with its scores.

    Parameters
    ----------
    data : path
        With `cars.csv` and `frames/`.
    folder : path
        For checkpoints and the model of each leg; one that is there already is gone
        on with.
    network : CarFinderNetConfig
    legs : sequence of TrainConfig
        Each from where the one before it ended.
    drawn : int
        Synthetic scenes to learn from.
    """
    frames = turned_around(read_split(data, "train"))
    start: Path | None = None
    for number, leg in enumerate(legs, start=1):
        path, run = folder / f"leg{number}.safetensors", folder / f"leg{number}_run"
        run.mkdir(parents=True, exist_ok=True)
        if not path.is_file():
            model = yield from iter_train_finder(
                frames,
                network=network,
                config=leg,
                synthetic=drawn,
                left_out=LEFT_OUT,
                name="car-finder",
                folder=run,
                resume=(run / LAST).is_file(),
                start_from=None if start is None else str(start),
            )
            model.save(path)
        start = path
    if start is None:
        raise ValueError("the training of a finder must have a leg, got none")
    model = load_model(start, task="car-finder")
    return (yield from iter_described_finder(model, data, legs, drawn))


def iter_described_finder(
    model: Model,
    data: Path,
    legs: Sequence[TrainConfig] = FINDER_LEGS,
    drawn: int = DRAWN_SCENES,
) -> Job[Model]:
    """Score a finder, and put on its card what it learnt from and where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "car-finder.safetensors"
        model.save(path)
        found = yield from iter_finder_scores(data, model=str(path))
    rows = {name: _rounded(row) for name, row in found["rows"].items()}
    return with_card(
        model,
        data="Real: frames of one drone video of a roundabout, the last fifth held "
        f"out. Drawn: {drawn} synthetic scenes of ten styles; the styles "
        f"{' and '.join(LEFT_OUT)} were left out.",
        terms=_TERMS,
        limits=_limits(rows),
        training={"legs": [asdict(leg) for leg in legs]},
        scores={**model.card.scores, **rows, "matching": RULE},
    )


def _limits(rows: dict[str, Any]) -> str:
    """Say what the scores mean."""
    here, elsewhere = rows["test_frames"], rows["left_out_styles"]
    swapped = [row["heading"].get("share_above_150", 0) for row in (here, elsewhere)]
    return (
        f"On test frames of the place it learnt from it finds {here['recall']:.0%} of "
        f"the cars, and {here['precision']:.0%} of its finds are cars; on drawn scenes "
        f"of styles it has not seen {elsewhere['recall']:.0%} and "
        f"{elsewhere['precision']:.0%}. Of the cars it found, "
        f"{swapped[0]:.0%} and {swapped[1]:.0%} have front and rear swapped. Learnt "
        "from one real place only; give the length of cars in pixels where it is known."
    )


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _rounded(value)
        if isinstance(value, dict)
        else round(value, 4)
        if isinstance(value, float)
        else value
        for key, value in row.items()
    }
