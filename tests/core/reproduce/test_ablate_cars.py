"""What each part is worth: every part can be left out, and the table is made."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from roteq_core.cars.drawn import synthetic_patches
from roteq_core.cars.frames import frames_from_files
from roteq_core.cars.train import TRAIN_CARS
from roteq_core.jobs import drain
from roteq_core.net_config import CarNetConfig, TurningConfig
from roteq_core.reproduce import ablate_cars
from roteq_core.reproduce.ablate_cars import VARIANTS, ablation_lines, iter_ablate_cars
from roteq_core.tasks.car_augment import LOOKS
from roteq_core.tasks.car_patches import CarPatches
from roteq_core.tasks.cars import CarTask

SMALL = CarNetConfig(
    filters=(2, 2),
    kernel_size=7,
    crop=47,
    first_stride=2,
    in_maps=3,
    turning=TurningConfig(8, frequencies=2),
)
CONFIG = dataclasses.replace(TRAIN_CARS, batch=64, intensity=1.0)


@pytest.fixture(scope="module")
def patches() -> CarPatches:
    return drain(synthetic_patches(8, 1, ["carpark"], "synthetic"))


def images(patches: CarPatches, without: Any, **config: Any) -> torch.Tensor:
    task = CarTask(patches, network=SMALL, without=without)
    settings = dataclasses.replace(CONFIG, **config)
    return task.batch(settings, np.random.default_rng(0))["image"]


@pytest.mark.parametrize("name", LOOKS)
def test_each_look_is_part_of_a_batch_and_can_be_left_out(patches, name):
    assert not torch.equal(images(patches, [name]), images(patches, ()))
    others = [other for other in LOOKS if other != name]
    gaps = (images(patches, others) - images(patches, LOOKS)).abs().amax((1, 2, 3))
    assert (gaps > 1e-3).any()


def test_with_every_look_left_out_crops_are_as_they_were(patches):
    plain = images(patches, ["color"], intensity=0.0)
    gaps = (images(patches, LOOKS) - plain).abs().amax((1, 2, 3))
    assert (gaps < 1e-3).float().mean() > 0.5  # but for those that are cut


def test_an_unknown_look_is_refused(patches):
    with pytest.raises(ValueError, match=r"without must be of .* got \['fog'\]"):
        CarTask(patches, without=["fog"])  # type: ignore[list-item]


def test_each_part_that_is_asked_for_has_a_row_of_its_own():
    left_out = {v.name: (v.without, v.train, v.real) for v in VARIANTS}
    assert len(left_out) == len(VARIANTS)
    assert left_out["everything"] == ((), {}, 0.5)
    for name, expected in {
        "no blur": (("blur",), {}, 0.5),
        "no change of size": ((), {"scale": 0.0}, 0.5),
        "no change of contrast": (("contrast",), {}, 0.5),
        "no inversion of car against road": (("paint", "inversion"), {}, 0.5),
        "no shadows": (("shadow",), {}, 0.5),
        "no JPEG blocks": (("jpeg",), {}, 0.5),
        "no change of color": (("color",), {}, 0.5),
        "no synthetic scenes, real cars alone": ((), {}, 1.0),
    }.items():
        assert left_out[name] == expected


def test_the_table_is_made_by_training_without_each_part(drawn_frames, monkeypatch):
    folder = drawn_frames((128, 128))
    frames = frames_from_files([folder], folder / "cars.csv")
    given = []

    def task(*args: Any, without: Any = (), **options: Any) -> CarTask:
        given.append(tuple(without))
        return CarTask(*args, without=without, **options)

    monkeypatch.setattr(ablate_cars, "read_split", lambda *_: frames)
    monkeypatch.setattr(ablate_cars, "CarTask", task)
    small = dataclasses.replace(VARIANTS[3], train={"batch": 2})
    monkeypatch.setattr(ablate_cars, "VARIANTS", (small,))
    result = drain(iter_ablate_cars(folder, minutes=1e-6, drawn=6, checks=4))
    assert given[0] == small.without == ("blur",)
    head, line, foot = ablation_lines(result)
    assert line.startswith(small.name)
    assert len(line) == len(head)
    assert "1e-06 processor minutes" in foot
    row = result["rows"][small.name]
    assert {"real_deg", "left-out_deg", "flipped", "steps"} <= set(row)


def test_a_run_that_was_stopped_goes_on(drawn_frames, monkeypatch, tmp_path):
    folder = drawn_frames((128, 128))
    frames = frames_from_files([folder], folder / "cars.csv")
    monkeypatch.setattr(ablate_cars, "read_split", lambda *_: frames)
    trained = []

    def train(variant: Any, *_: Any) -> dict[str, float]:
        trained.append(variant.name)
        if trained == [VARIANTS[0].name, VARIANTS[1].name]:
            raise KeyboardInterrupt
        return {"real_deg": float(len(trained))}

    monkeypatch.setattr(ablate_cars, "train_variant", train)
    asked = {
        "minutes": 1.0,
        "drawn": 6,
        "checks": 4,
        "output": tmp_path / "a" / "p.json",
    }
    with pytest.raises(KeyboardInterrupt):
        drain(iter_ablate_cars(folder, **asked))
    result = drain(iter_ablate_cars(folder, **asked))
    assert trained.count(VARIANTS[0].name) == 1
    assert list(result["rows"]) == [variant.name for variant in VARIANTS]
    assert result["rows"][VARIANTS[0].name] == {"real_deg": 1.0}
    with pytest.raises(ValueError, match=r"other numbers than .*'minutes': 2\.0"):
        drain(iter_ablate_cars(folder, **{**asked, "minutes": 2.0}))
