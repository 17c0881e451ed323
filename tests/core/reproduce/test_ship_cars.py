"""The shipped heading model can be trained again: splits, mended labels, a run."""

from __future__ import annotations

import dataclasses

from roteq_core.cars import mended_labels
from roteq_core.cars.frames import CarFrames
from roteq_core.jobs import drain
from roteq_core.model import load_model
from roteq_core.reproduce import ship_cars
from roteq_core.reproduce.ship_cars import (
    LAST_LEG,
    LEGS,
    iter_ship_cars,
    shipped_frames,
)
from roteq_core.tables import Car


def test_frames_are_split_by_number_and_parked_cars_are_not_checked(split_frames):
    learnt, checked = shipped_frames(split_frames)
    assert [path.stem for path in learnt.images] == ["frame_118", "frame_119"]
    assert [path.stem for path in checked.images] == ["frame_122"]
    parked = [c.extra["stationary_id"] for c in checked.cars[0]]
    assert parked
    assert set(parked) == {"-1"}


def test_only_listed_labels_are_turned_around(tmp_path):
    file, cx, cy = min(mended_labels.WRONG_WAY)
    cars = [Car(cx, cy, 50, 20, 200, file=file), Car(cx, cy, 50, 20, 200, file="b.jpg")]
    mended = mended_labels.turned_around(CarFrames([tmp_path / file], [cars]))
    assert [c.heading_cw_from_up_deg for c in mended.cars[0]] == [20, 200]


def test_the_recipe_gives_a_model_with_scores_and_a_card(
    split_frames, tmp_path, monkeypatch
):
    monkeypatch.setattr(ship_cars, "DRAWN_CHECKS", 24)
    *legs, last = (
        dataclasses.replace(leg, steps=1, batch=2, epoch_steps=1)
        for leg in (*LEGS, LAST_LEG)
    )
    model = drain(iter_ship_cars(split_frames, legs=legs, last=last, synthetic=11))
    names = {"val", "left_out", "drawn_anew", "sketches", "demo_scene"}
    names |= {"test_turn_0", "test_turn_37", "test_one_reading"}
    assert names <= set(model.card.scores)
    assert model.card.settings["calibration"]["cars"] > 24
    assert [leg["seed"] for leg in model.card.training["legs"]] == [0, 1, 2]
    assert "Drawn: 11 crops" in model.card.data
    model.save(tmp_path / "cars.safetensors")
    load_model(tmp_path / "cars.safetensors", task="cars")
