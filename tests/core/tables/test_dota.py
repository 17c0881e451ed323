"""DOTA text of other tools with known answers, and ours as they read it."""

import numpy as np
import pytest

from roteq_core.tables import (
    AXIS_ONLY,
    Car,
    CarTable,
    read_cars,
    write_cars as write,
)

# A car at (100, 50), 40 long and 20 wide, that points right.
RIGHT = Car(100, 50, length=40, width=20, heading_cw_from_up_deg=90, label="car")
UP = Car(100, 50, length=40, width=20, heading_cw_from_up_deg=0, label="car")
# Front left, front right, rear right, rear left: clockwise on the screen.
RIGHT_CORNERS = [[120, 40], [120, 60], [80, 60], [80, 40]]


def numbers_of(corners, scale=(1, 1)):
    return " ".join(str(value) for value in (np.array(corners) / scale).ravel())


DOTA = f"imagesource:GoogleEarth\ngsd:0.12\n{numbers_of(RIGHT_CORNERS)} car 1\n"


@pytest.mark.parametrize("start", range(4))
def test_foreign_dota_gives_the_axis_wherever_it_starts(read, start):
    corners = np.roll(RIGHT_CORNERS, start, axis=0)
    table = read(f"{numbers_of(corners)} small-vehicle 0\n", "P0001.txt")
    (car,) = table.cars
    assert (car.cx, car.cy, car.length, car.width) == (100, 50, 40, 20)
    assert (car.axis_cw_from_up_deg, car.heading_cw_from_up_deg) == (90, None)
    assert (car.status, car.label) == (AXIS_ONLY, "small-vehicle")
    assert table.format == "dota"
    assert "front" in table.notes[0]


def test_dota_keeps_its_header_and_difficulty(read, tmp_path):
    table = read(DOTA, "a.txt")
    assert table.header == {"imagesource": "GoogleEarth", "gsd": "0.12"}
    write(table, tmp_path / "b.txt")
    lines = (tmp_path / "b.txt").read_text().splitlines()
    assert lines[:2] == ["imagesource:GoogleEarth", "gsd:0.12"]
    assert lines[-1].endswith(" car 1")


def test_our_dota_goes_clockwise_from_the_front_left(tmp_path):
    write(CarTable((RIGHT,)), tmp_path / "a.txt", format="dota")
    convention, line = (tmp_path / "a.txt").read_text().splitlines()
    assert convention == "convention:front-edge-first"
    assert len(convention.split()) < 9  # which is what DOTA's own tools skip
    assert line.split()[8:] == ["car", "0"]
    corners = np.array(line.split()[:8], dtype=float).reshape(4, 2)
    np.testing.assert_allclose(corners, RIGHT_CORNERS)


def test_our_dota_keeps_the_front_without_the_file_beside(tmp_path):
    write(CarTable((RIGHT, UP)), tmp_path / "a.txt", format="dota", sidecar=False)
    assert not list(tmp_path.glob("*.roteq.csv"))
    headings = [car.heading_cw_from_up_deg for car in read_cars(tmp_path / "a.txt")]
    assert headings == pytest.approx([90, 0])


def test_dota_does_not_claim_fronts_that_are_not_known(tmp_path):
    axis = Car(1, 2, 30, 10, axis_cw_from_up_deg=20, status=AXIS_ONLY)
    write(CarTable((RIGHT, axis)), tmp_path / "a.txt", format="dota", sidecar=False)
    assert "convention" not in (tmp_path / "a.txt").read_text()
    assert all(car.status == AXIS_ONLY for car in read_cars(tmp_path / "a.txt"))


def test_a_person_may_say_that_the_front_edge_comes_first(read):
    (car,) = read(DOTA, "a.txt", corner_order="front edge first").cars
    assert car.heading_cw_from_up_deg == 90


@pytest.mark.parametrize("score", ["", " 0.9", " 1.0"])
def test_corners_in_pixels_after_a_class_number_are_refused(read, score):
    text = f"0 {numbers_of(RIGHT_CORNERS)}{score}\n"
    with pytest.raises(
        ValueError, match=r"a\.txt: line 1: the ninth word must be a cl"
    ):
        read(text, "a.txt")


def test_a_class_may_be_a_number_before_a_difficulty(read, tmp_path):
    table = read(f"{numbers_of(RIGHT_CORNERS)} 3 0\n", "a.txt")
    assert table.cars[0].label == "3"
    write(table, tmp_path / "b.txt")
    assert read_cars(tmp_path / "b.txt").cars[0].label == "3"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("1 2 3 4 5 6 7 car\n", "line 1: needs eight coordinates and a class"),
        ("gsd:1\n1 2 3 4 x 6 7 8 car 0\n", "line 2: could not convert"),
        ("gsd:1\n1 1 1 1 1 1 1 1 car 0\n", "line 2: a box must have an area"),
    ],
)
def test_broken_dota_is_named(read, text, rule):
    with pytest.raises(ValueError, match=rf"a\.txt: {rule}"):
        read(text, "a.txt", format="dota")
