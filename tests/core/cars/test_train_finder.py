"""From files to a car finder."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from imageio import v3 as imageio
from typer.testing import CliRunner

from roteq_core.cars.frames import frames_from_files, hold_out_last
from roteq_core.cars.train_finder import (
    TRAIN_FINDER,
    drawn_scenes,
    iter_train_finder,
)
from roteq_core.cli.main import app
from roteq_core.jobs import drain
from roteq_core.model import load_model
from roteq_core.net_config import CarFinderNetConfig, TurningConfig
from roteq_core.tables import Car, CarTable
from roteq_core.tasks.car_scenes import scene_from_cars

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


def test_images_without_cars_are_ground_and_unusable_cars_are_doubtful(folder):
    images = [folder / f"frame_{index}.png" for index in range(3)]
    cars = [
        Car(40, 40, 30, 12, 10.0, file="frame_0.png"),
        Car(70, 40, 30, 12, file="frame_0.png"),
        Car(20, 40, heading_cw_from_up_deg=5, file="frame_0.png"),
        Car(90, 60, 30, 12, 10.0, status="rejected", file="frame_1.png"),
    ]
    table = CarTable(tuple(cars))
    assert frames_from_files(images, table).cars == [cars[:1]]
    frames = frames_from_files(images, table, every_image=True)
    assert frames.cars == [cars[:1], [], []]
    assert frames.doubtful == [cars[1:3], cars[3:], []]
    train, held = hold_out_last(frames)
    assert train.images == images[:2]
    assert held.doubtful == [[]]
    config = dataclasses.replace(TRAIN_FINDER, steps=1, batch=8, crop=64, epoch_steps=1)
    model = drain(iter_train_finder(frames, network=SMALL, config=config, synthetic=0))
    assert model.card.task == "car-finder"


def test_doubtful_cars_teach_nothing():
    image = np.zeros((60, 60, 3), np.uint8)
    scene = scene_from_cars(image, [], [Car(30, 30), Car(9, 9, 10)], length=20)
    np.testing.assert_allclose(scene.doubtful, [[30, 30, 20], [9, 9, 10]])
    assert scene.image.shape == (4, 60, 60)


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
    imageio.imwrite(folder / "road.png", np.zeros((96, 128), np.uint8))
    output = tmp_path / "mine.safetensors"
    arguments = ["train", "finder", "--images", str(folder), "-o", str(output)]
    arguments += ["--cars", str(folder / "cars.csv"), "--steps", "1"]
    arguments += ["--batch", "1", "--synthetic", "0"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "1 of 4 images have no cars: all ground" in result.output
    assert load_model(output).card.name == "mine"


def test_a_folder_that_is_not_there_is_named(folder):
    with pytest.raises(ValueError, match=r"no image or folder .*nowhere"):
        frames_from_files([folder / "nowhere"], folder / "cars.csv")
    (folder / "empty").mkdir()
    with pytest.raises(ValueError, match="there is no image in"):
        frames_from_files([folder / "empty"], folder / "cars.csv")
