"""From files to a heading model, and to the paper's table."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from typer.testing import CliRunner

from roteq_core.cars.drawn import synthetic_patches
from roteq_core.cars.frames import CarFrames, frames_from_files, split_frames
from roteq_core.cars.train import TRAIN_CARS, iter_train_cars
from roteq_core.cli.main import app
from roteq_core.jobs import drain
from roteq_core.model import load_model
from roteq_core.net_config import CarNetConfig, TurningConfig
from roteq_core.reproduce.cars import contenders, fitted_steps
from roteq_core.tables import Car, CarTable, read_cars
from roteq_core.tasks.cars import CarTask

SMALL = CarNetConfig(
    filters=(2, 2),
    kernel_size=7,
    crop=47,
    first_stride=2,
    turning=TurningConfig(8, frequencies=2),
)


@pytest.fixture(scope="module")
def folder(drawn_frames):
    return drawn_frames((128, 128))


def test_images_are_paired_with_their_cars(folder):
    frames = frames_from_files([folder], folder / "cars.csv")
    assert [path.name for path in frames.images] == [f"frame_{k}.png" for k in range(3)]
    table = read_cars(folder / "cars.csv")
    assert frames.count == len(table)


def test_rejected_cars_and_cars_without_heading_are_not_learnt_from(folder):
    image = folder / "frame_0.png"
    cars = [
        Car(60, 60, 30, 12, 10),
        Car(60, 60, 30, 12, 10, status="rejected"),
        Car(60, 60, 30, 12),
    ]
    frames = frames_from_files([image], CarTable(tuple(cars)))
    assert frames.count == 1
    with pytest.raises(ValueError, match=r"got 2 cars: 1 without .*, 1 rejected"):
        frames_from_files([image], CarTable(tuple(cars[1:])))


def test_parked_cars_that_were_learnt_from_are_not_validated_on(tmp_path):
    parked = [Car(50, 50, 30, 12, 90, file=f"{k}.png") for k in range(5)]
    moving = [Car(50 + 40 * k, 90, 30, 12, 90, file=f"{k}.png") for k in range(5)]
    frames = CarFrames(
        [tmp_path / f"{k}.png" for k in range(5)],
        [[parked[k], moving[k]] for k in range(5)],
    )
    train, held = split_frames(frames)
    assert len(train.images) == 4
    assert held.cars == [[moving[4]]]


def test_a_model_is_trained_calibrated_and_saved(folder, tmp_path):
    frames = frames_from_files([folder], folder / "cars.csv")
    config = dataclasses.replace(TRAIN_CARS, steps=3, batch=4, epoch_steps=3)
    job = iter_train_cars(
        frames, network=SMALL, config=config, synthetic=12, left_out=("winter",)
    )
    model = drain(job)
    assert model.card.task == "cars"
    assert model.card.settings["calibration"]["cars"] >= 20
    model.save(tmp_path / "mine.safetensors")
    assert load_model(tmp_path / "mine.safetensors").card.name == "my-cars"


def test_orient_from_the_command_line_keeps_columns_and_adds_headings(folder, tmp_path):
    runner = CliRunner()
    model = tmp_path / "m.safetensors"
    arguments = ["train", "cars", "--images", str(folder), "--network", "5k"]
    arguments += ["--cars", str(folder / "cars.csv"), "-o", str(model)]
    arguments += ["--steps", "1", "--batch", "2", "--synthetic", "0"]
    assert runner.invoke(app, arguments).exit_code == 0
    table = tmp_path / "cars.csv"
    table.write_text("plate,cx,cy,length\nAB 1,60,60,30\nAB 2,900,60,30\n")
    out = tmp_path / "out.csv"
    arguments = ["orient", str(folder / "frame_0.png"), str(table), "-o", str(out)]
    result = runner.invoke(app, [*arguments, "--model", str(model), "--copies", "2"])
    assert result.exit_code == 0, result.output
    found = read_cars(out)
    assert [car.extra["plate"] for car in found] == ["AB 1", "AB 2"]
    assert found.cars[0].heading_cw_from_up_deg is not None
    assert found.cars[1].status == "outside image"
    text = out.read_text()
    for column in ("heading_cw_from_up_deg", "angle_ccw_from_right_deg", "p_flip"):
        assert column in text


def test_a_model_is_fine_tuned(folder, tmp_path):
    frames = frames_from_files([folder], folder / "cars.csv")
    config = dataclasses.replace(TRAIN_CARS, steps=1, batch=4, learning_rate=1e-7)
    options = {"config": config, "synthetic": 0}
    first = drain(iter_train_cars(frames, network=SMALL, **options))
    first.save(tmp_path / "first.safetensors")
    start = str(tmp_path / "first.safetensors")
    second = drain(iter_train_cars(frames, start_from=start, **options))
    assert second.networks[0].config == SMALL  # not the usual one
    for name, value in first.networks[0].named_parameters():
        found = second.networks[0].get_parameter(name)
        np.testing.assert_allclose(found.detach(), value.detach(), atol=1e-5)


def test_a_model_is_carried_over_to_a_network_that_turns_otherwise(folder, tmp_path):
    frames = frames_from_files([folder], folder / "cars.csv")
    config = dataclasses.replace(TRAIN_CARS, steps=1, batch=4, learning_rate=1e-7)
    options = {"config": config, "synthetic": 0}
    start = str(tmp_path / "first.safetensors")
    drain(iter_train_cars(frames, network=SMALL, **options)).save(start)
    other = dataclasses.replace(SMALL, turning=TurningConfig(8, sigma=0.8))
    found = drain(iter_train_cars(frames, network=other, start_from=start, **options))
    assert found.networks[0].config == other
    wider = dataclasses.replace(SMALL, filters=(2, 3))
    with pytest.raises(ValueError, match="only networks that differ in how"):
        drain(iter_train_cars(frames, network=wider, start_from=start, **options))


def test_an_unknown_network_is_refused_in_one_sentence(folder, tmp_path):
    arguments = ["train", "cars", "--images", str(folder), "--network", "huge"]
    model = str(tmp_path / "m.safetensors")
    arguments += ["--cars", str(folder / "cars.csv"), "-o", model]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "network must be one of" in result.output


def test_a_training_gets_as_many_steps_as_fit_into_its_time():
    patches = drain(synthetic_patches(6, 1, ["carpark"], "synthetic"))
    task = CarTask(patches, network=SMALL)
    config = dataclasses.replace(TRAIN_CARS, batch=2)
    assert fitted_steps(task, config, 1e-6).steps == 3
    assert fitted_steps(task, config, 30.0).steps > 20


def test_the_plain_network_is_trained_with_and_without_turned_crops():
    rotate = {c.name: c.config.rotate for c in contenders(5) if "plain" in c.name}
    assert sorted(rotate.values()) == [False, True]
    assert all(c.config.steps == 5 for c in contenders(5))
    assert np.all([c.config.steps > 500 for c in contenders()])
