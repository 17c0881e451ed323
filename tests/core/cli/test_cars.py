"""The commands on cars: `roteq orient` and `roteq find-cars`."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from imageio import v3 as imageio
from PIL import Image
from typer.testing import CliRunner

from roteq_core.cli.main import app
from roteq_core.model import make_model
from roteq_core.net_config import (
    CarFinderNetConfig,
    CarNetConfig,
    TurningConfig,
)
from roteq_core.networks import build_network
from roteq_core.tables import Car, CarTable, read_cars, write_cars

TURNING = TurningConfig(8, frequencies=2)
CARS = (
    Car(30, 40, 24, 10, axis_cw_from_up_deg=30, label="car", file="a.png"),
    Car(60, 20, 24, 10, axis_cw_from_up_deg=90, label="car", file="a.png"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    """A folder with an image, a table of its cars and of others, and two models."""
    path: Path = tmp_path_factory.mktemp("cars")
    coarse = np.random.default_rng(0).integers(0, 256, (10, 12, 3), dtype=np.uint8)
    imageio.imwrite(path / "a.png", np.kron(coarse, np.ones((8, 8, 1), np.uint8)))
    others = [replace(car, file="b.png") for car in CARS]
    write_cars(CarTable((*others, *CARS)), path / "all.csv")
    torch.manual_seed(0)
    network = build_network(
        CarNetConfig(
            filters=(2, 2), kernel_size=7, crop=47, first_stride=2, turning=TURNING
        )
    )
    make_model([network], name="tiny", task="cars").save(path / "tiny.safetensors")
    finder = build_network(
        CarFinderNetConfig(filters=(2, 3), kernel_size=3, hidden=4, turning=TURNING)
    )
    with torch.no_grad():
        finder.decide.bias[0] = 0.0
    make_model([finder], name="finder", task="car-finder").save(
        path / "finder.safetensors"
    )
    return path


def run(*words: Any) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.output


def refused(*words: Any) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 1, result.output
    return " ".join(result.output.split())


def orient(folder, cars, output, *words) -> tuple[Any, ...]:
    model = folder / "tiny.safetensors"
    return ("orient", folder / "a.png", cars, "-o", output, "--model", model, *words)


def test_a_table_of_many_images_may_be_written_over_itself(folder, tmp_path):
    cars = tmp_path / "all.csv"
    shutil.copy(folder / "all.csv", cars)
    said = run(*orient(folder, cars, cars))
    assert "2 of 4 cars are of other images and stay as they were" in said
    assert "2 of 2 cars of a.png with a heading" in " ".join(said.split())
    back = read_cars(cars)
    assert [car.file for car in back] == ["b.png", "b.png", "a.png", "a.png"]
    assert [car.status for car in back] == ["axis only"] * 2 + ["machine"] * 2


def test_a_table_of_another_image_is_refused_and_nothing_written(folder, tmp_path):
    cars, output = tmp_path / "c.csv", tmp_path / "out.csv"
    write_cars(CarTable((replace(CARS[0], file="c.png"),)), cars)
    assert "must have cars of a.png, got" in refused(*orient(folder, cars, output))
    assert not output.exists()


@pytest.mark.parametrize("format", ["dota", "yolo-obb"])
def test_any_format_can_be_written_from_any(folder, tmp_path, format):
    output = tmp_path / "a.txt"
    run(*orient(folder, folder / "all.csv", output, "--format", format))
    back = read_cars(output, format=format)
    assert [car.file for car in back] == ["a.png", "a.png"]
    assert all(car.heading_cw_from_up_deg is not None for car in back)


def test_what_cannot_be_written_is_refused_before_the_work(folder, tmp_path):
    finder = ("--model", folder / "no-such-model.safetensors")
    text = tmp_path / "a.txt"
    assert "the format must be given for a.txt" in refused(
        "orient", folder / "a.png", folder / "all.csv", "-o", text, *finder
    )
    unknown = tmp_path / "cars.dat"
    unknown.write_text("hello\n")
    assert "error: cars.dat: the format must be one of csv" in refused(
        "orient", folder / "a.png", unknown, "-o", tmp_path / "a.xml", *finder
    )
    find = ("find-cars", folder / "a.png", *finder, "-o")
    assert "the format must be given for a.txt" in refused(*find, text)
    assert "format must be one of" in refused(*find, text, "--format", "coco")
    assert "there is no folder" in refused(*find, tmp_path / "none" / "a.csv")


@pytest.mark.parametrize("name", ["sc.png", "link.csv", "../sub/sc.png"])
def test_the_image_is_not_written_over(folder, tmp_path, name):
    home = tmp_path / "sub"
    home.mkdir()
    image = home / "sc.png"
    shutil.copy(folder / "a.png", image)
    (home / "link.csv").symlink_to(image)
    words = ("-o", home / name, "--format", "csv", "--model", "no-such-model")
    rule = "must not be the input itself"
    assert rule in refused("find-cars", image, *words)
    assert rule in refused("orient", image, folder / "all.csv", *words)
    assert image.read_bytes() == (folder / "a.png").read_bytes()


@pytest.mark.parametrize("format", ["dota", "yolo-obb", "voc-labelimg2"])
@pytest.mark.parametrize(
    ("car", "reason"),
    [
        (Car(60, 20, 24, file="a.png"), "got no width at (60, 20)"),
        (Car(60, 20, file="a.png"), "got no length and no width at (60, 20)"),
        (Car(600, 20, 24, 10, file="a.png"), "got no heading or axis at (600, 20)"),
    ],
)
def test_cars_without_a_box_are_refused_before_the_model_runs(
    folder, tmp_path, monkeypatch, format, car, reason
):
    ran = []
    monkeypatch.setattr(
        "roteq_core.cars.orient.load_model", lambda *_, **__: ran.append("the model")
    )
    cars, output = tmp_path / "cars.csv", tmp_path / "out.txt"
    write_cars(CarTable((CARS[0], car)), cars)
    said = refused(*orient(folder, cars, output, "--format", format))
    assert "out.txt: car 2: " in said
    assert "a box needs length, width and a heading or an axis, " + reason in said
    assert not ran
    assert not output.exists()


def test_cars_without_a_box_may_be_rows_of_other_images(folder, tmp_path):
    cars, output = tmp_path / "cars.csv", tmp_path / "out.txt"
    write_cars(CarTable((Car(60, 20, file="b.png"), *CARS)), cars)
    run(*orient(folder, cars, output, "--format", "dota"))
    assert [car.file for car in read_cars(output)] == ["a.png", "a.png"]


def test_found_cars_can_be_written_as_text(folder, tmp_path):
    output = tmp_path / "a.txt"
    words = ("--model", folder / "finder.safetensors", "--no-orient")
    words += ("--threshold", 0.01, "--car-length", 24, "--format", "yolo-obb")
    run("find-cars", folder / "a.png", "-o", output, *words)
    assert len(read_cars(output)) == len(output.read_text().splitlines()) > 0


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("--copies", 0), "--copies must lie in [1, 64], got 0"),
        (("--batch", 0), "--batch must lie in [1, 65536], got 0"),
        (("--car-length", 1), "--car-length must lie in [2, 10000], got 1"),
        (("--car-length", 3600), "--car-length must be at most 125, the diagonal"),
        (("--pixel-size", 60), "--pixel-size must lie in [0.0001, 10], got 60"),
        (("--device", "tpu"), "--device must be one of"),
    ],
)
def test_mistakes_name_the_options_of_orient(folder, tmp_path, words, rule):
    said = refused(*orient(folder, folder / "all.csv", tmp_path / "a.csv", *words))
    assert f"error: {rule}" in said


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("--car-length", 1), "--car-length must lie in [4, 2000], got 1"),
        (("--pixel-size", 0.01), "--pixel-size must be at least 0.036, or a car of"),
        (("--threshold", 2), "--threshold must lie in [0.0, 1.0], got 2"),
        (("--tile", 3), "--tile must lie in [64, 16384], got 3"),
    ],
)
def test_mistakes_name_the_options_of_find_cars(folder, tmp_path, words, rule):
    output = tmp_path / "a.csv"
    said = refused("find-cars", folder / "a.png", "-o", output, *words)
    assert f"error: {rule}" in said


def test_numbers_that_may_be_in_other_units_get_a_note(folder, tmp_path):
    output, cars = tmp_path / "a.csv", tmp_path / "cars.csv"
    words = ("--model", folder / "finder.safetensors", "--no-orient")
    said = run("find-cars", folder / "a.png", "-o", output, *words, "--car-length", 7.5)
    assert "note: a car length of 7.5 is read as pixels" in said
    write_cars(CarTable((Car(0.4, 0.5, 4.5),)), cars)
    said = " ".join(run(*orient(folder, cars, output)).split())
    assert "note: all centers lie within 0…1, the first at (0.4, 0.5)" in said
    assert "note: 1 of 1 cars are shorter than 8 px, the first 4.5" in said


def test_found_cars_are_shown_to_the_heading_model_that_is_named(folder, tmp_path):
    output = tmp_path / "a.csv"
    words = ("--model", folder / "finder.safetensors", "--threshold", 0.01)
    words += ("--car-length", 24, "--heading-model", folder / "tiny.safetensors")
    run("find-cars", folder / "a.png", "-o", output, *words)
    car = read_cars(output).cars[0]
    assert car.source.startswith("tiny ")
    assert car.extra["found_by"].startswith("finder ")


def test_a_table_that_is_not_there_is_named(folder, tmp_path):
    said = refused(*orient(folder, tmp_path / "no.csv", tmp_path / "a.csv"))
    assert f"error: there is no table of cars {tmp_path / 'no.csv'}" in said
    said = refused(*orient(folder, tmp_path, tmp_path / "a.csv"))
    assert "error: a table of cars must be a file, got the folder" in said


def test_what_a_person_decided_is_kept_however_the_status_is_spelt(folder, tmp_path):
    cars, output = tmp_path / "cars.csv", tmp_path / "out.csv"
    cars.write_text(
        "cx,cy,length,heading_cw_from_up_deg,status\n"
        "30,40,24,300,Accepted\n60,20,24,300,approved\n"
    )
    said = " ".join(run(*orient(folder, cars, output)).split())
    accepted, approved = read_cars(output)
    assert (accepted.heading_cw_from_up_deg, accepted.status) == (300, "accepted")
    assert approved.status == "machine"
    assert "note: status 'approved' of 1 cars is not known and counts as not" in said


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 60), (60, 1)])
def test_images_one_pixel_high_or_wide_are_no_trouble(folder, tmp_path, shape):
    image, cars, output = (tmp_path / name for name in ("b.png", "b.csv", "out.csv"))
    imageio.imwrite(image, np.zeros(shape, np.uint8))
    cars.write_text("cx,cy\n0,0\n")
    model = ("--model", folder / "tiny.safetensors")
    run("orient", image, cars, "-o", output, *model)
    run("find-cars", image, "-o", output, "--model", folder / "finder.safetensors")


def test_an_image_that_asks_to_be_turned_gets_a_note(folder, tmp_path):
    image, output = tmp_path / "a.png", tmp_path / "out.csv"
    tag = Image.Exif()
    tag[0x0112] = 6
    Image.open(folder / "a.png").save(image, exif=tag)
    note = "note: the EXIF tag Orientation of a.png (6) is not 1 and is not obeyed"
    words = ("-o", output, "--model")
    said = run("orient", image, folder / "all.csv", *words, folder / "tiny.safetensors")
    assert note in " ".join(said.split())
    finder = (*words, folder / "finder.safetensors", "--no-orient")
    assert note in " ".join(run("find-cars", image, *finder).split())
