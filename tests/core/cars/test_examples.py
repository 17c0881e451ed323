from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from imageio import v3 as imageio

from roteq_core.cars.examples import frames_from_folder, read_tables, usable_cars
from roteq_core.tables import Car, CarTable, write_cars


def test_only_reviewed_cars_are_learnt_once_anybody_reviewed():
    cars = [
        Car(5, 5, 4, 2, 10, status="accepted"),
        Car(5, 5, 4, 2, 10, status="edited"),
        Car(5, 5, 4, 2, 10, status="machine"),
        Car(5, 5, 4, 2, 10, status="rejected"),
        Car(5, 5, 4, 2, status="accepted"),
        Car(50, 5, 4, 2, 10, status="accepted"),
    ]
    found = usable_cars(cars, (10, 10))
    assert found.cars == tuple(cars[:2])
    assert found.left_out == {
        "rejected": 1,
        "not reviewed": 1,
        "without a heading": 1,
        "outside the image": 1,
    }
    assert len(usable_cars(cars[2:3], (10, 10)).cars) == 1
    assert not usable_cars(cars[2:3], (10, 10), reviewed_only=True).cars


def test_images_of_a_folder_are_paired_with_their_cars(tmp_path):
    for name in ("a", "b", "c"):
        imageio.imwrite(tmp_path / f"{name}.png", np.zeros((60, 80, 3), np.uint8))
    cars = [Car(20, 30, 20, 9, 45, file=f"{name}.png") for name in "ab"]
    write_cars(CarTable(tuple(cars)), tmp_path / "cars.csv")
    frames = frames_from_folder(tmp_path, tmp_path / "cars.csv")
    assert [frame.name for frame in frames] == ["a.png", "b.png"]
    assert frames[0].shape == (60, 80)
    assert isinstance(frames[0].image, Path)


def test_mistakes_name_the_folder(tmp_path):
    with pytest.raises(ValueError, match="there is no image in"):
        frames_from_folder(tmp_path, tmp_path)
    with pytest.raises(ValueError, match="there is no file or folder"):
        frames_from_folder(tmp_path / "nowhere", tmp_path)


def test_sizes_of_images_tell_fractions_in_a_folder_of_tables(tmp_path):
    for name, side in (("a", 100), ("b", 200)):
        imageio.imwrite(tmp_path / f"{name}.png", np.zeros((side, 2 * side), np.uint8))
        corners = "0.4 0.4 0.6 0.4 0.6 0.6 0.4 0.6"
        (tmp_path / f"{name}.txt").write_text(f"0 {corners}\n")
    images = [tmp_path / "a.png", tmp_path / "b.png"]
    cars = read_tables(tmp_path, images).cars
    assert [(car.cx, car.cy, car.length) for car in cars] == [
        (100, 50, 40),
        (200, 100, 80),
    ]
    assert read_tables(tmp_path / "a.txt", images[:1]).cars[0].cx == 100
