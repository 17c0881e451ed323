"""From files to a car finder."""

from __future__ import annotations

import dataclasses

import pytest
from typer.testing import CliRunner

from roteq_core.car_frames import frames_from_files, hold_out_last
from roteq_core.cli.main import app
from roteq_core.jobs import drain
from roteq_core.model import load_model
from roteq_core.net_config import CarFinderNetConfig, TurningConfig
from roteq_core.train_finder import (
    TRAIN_FINDER,
    drawn_scenes,
    iter_train_finder,
)

SMALL = CarFinderNetConfig(
    filters=(2, 3), kernel_size=3, hidden=4, turning=TurningConfig(8, frequencies=2)
)


@pytest.fixture(scope="module")
def folder(drawn_frames):
    return drawn_frames((96, 128))


def test_the_last_frames_are_held_out_with_all_their_cars(folder):
    frames = frames_from_files([folder], folder / "cars.csv")
    train, held = hold_out_last(frames)
    assert [path.name for path in held.images] == ["frame_2.png"]
    assert train.count + held.count == frames.count
    assert hold_out_last(held)[1].count == 0


def test_drawn_scenes_keep_what_is_no_plain_car_apart():
    scenes = drain(drawn_scenes(2, 5, ["carpark"], "synthetic"))
    assert all(len(scene.cars) and scene.domain == "synthetic" for scene in scenes)


def test_a_finder_is_trained_and_says_its_threshold(folder, tmp_path):
    frames = frames_from_files([folder], folder / "cars.csv")
    config = dataclasses.replace(TRAIN_FINDER, steps=2, batch=2, crop=64, epoch_steps=2)
    model = drain(iter_train_finder(frames, network=SMALL, config=config, synthetic=0))
    assert model.card.task == "car-finder"
    assert 0 < model.card.settings["threshold"] <= 1
    path = tmp_path / "finder.safetensors"
    model.save(path)
    again = iter_train_finder(
        frames, config=config, synthetic=0, start_from=str(path), name="again"
    )
    assert drain(again).networks[0].config == SMALL
    assert load_model(path).card.name == "my-car-finder"


def test_the_command_line_trains_a_finder(folder, tmp_path):
    output = tmp_path / "mine.safetensors"
    arguments = ["train", "finder", "--images", str(folder), "-o", str(output)]
    arguments += ["--cars", str(folder / "cars.csv"), "--steps", "1"]
    arguments += ["--batch", "1", "--synthetic", "0"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert load_model(output).card.name == "mine"
