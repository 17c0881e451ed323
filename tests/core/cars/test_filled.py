"""What becomes of a row when a model has looked at the car."""

from __future__ import annotations

import math

import pytest

from roteq_core.cars.filled import (
    DRAWN_AXIS,
    OUTSIDE,
    Answer,
    notes_now,
    with_answer,
)
from roteq_core.tables import Car, CarTable, box_corners, read_cars, write_cars

BOXED = ("dota", "yolo-obb", "voc-labelimg2", "voc-rolabelimg", "geojson", "csv")
SIZE = (200, 300)


def filled(car, answer, redo=False) -> Car:
    return with_answer(car, answer, "tiny 12ab", redo=redo)


def test_a_car_without_an_answer_keeps_its_axis_and_nothing_that_is_stale():
    car = Car(500, 20, 30, 12, 200.0, heading_sd_deg=3, p_flip=0.1, status="machine")
    blank = filled(filled(car, Answer(201.0, 2.0, 0.2)), OUTSIDE)
    assert blank == Car(
        500, 20, 30, 12, axis_cw_from_up_deg=21.0, status=OUTSIDE, source="tiny 12ab"
    )


@pytest.mark.parametrize("format", BOXED)
def test_one_car_without_an_answer_does_not_stop_the_writing(format, tmp_path):
    cars = [Car(50, 60, 30, 12, 80.0), Car(500, 20, 30, 12, 200.0)]
    answers = [Answer(81.0, 2.0, 0.2), OUTSIDE]
    done = [filled(*pair) for pair in zip(cars, answers, strict=True)]
    path = tmp_path / ("a.xml" if format.startswith("voc") else "a.txt")
    write_cars(CarTable(tuple(done)), path, format=format, image_size=SIZE)
    back = read_cars(path, format=format, image_size=SIZE)
    assert back.cars[0].heading_cw_from_up_deg == pytest.approx(81)
    assert back.cars[1].heading_cw_from_up_deg is None
    assert back.cars[1].axis_cw_from_up_deg == pytest.approx(20)
    assert [car.status for car in back] == ["machine", OUTSIDE]


@pytest.mark.parametrize(("told", "heading"), [(33.0, 30.0), (205.0, 210.0)])
def test_a_drawn_box_is_kept_and_gets_a_front(told, heading):
    drawn = Car(50, 60, 30, 12, axis_cw_from_up_deg=30.0, status="axis only")
    car = filled(drawn, Answer(told, 4.0, 0.1))
    assert car.heading_cw_from_up_deg == heading
    assert car.machine_heading_cw_from_up_deg == told
    assert car.heading_sd_deg == pytest.approx(math.hypot(4, told - heading), abs=0.01)
    assert corners(car) == corners(drawn)


def test_a_box_that_lies_another_way_is_turned_and_its_axis_kept(tmp_path):
    drawn = Car(50, 60, 30, 12, axis_cw_from_up_deg=30.0)
    car = filled(drawn, Answer(90.0, 4.0, 0.1))
    assert (car.heading_cw_from_up_deg, car.heading_sd_deg) == (90.0, 4.0)
    write_cars(CarTable((car,)), tmp_path / "a.csv")
    assert read_cars(tmp_path / "a.csv").cars[0].extra == {DRAWN_AXIS: "30"}


@pytest.mark.parametrize(
    ("told", "sd", "heading"), [(52.0, 14.0, 30.0), (52.0, 3.0, 52.0), (80, 90, 80)]
)
def test_an_unsure_model_does_not_turn_a_box(told, sd, heading):
    drawn = Car(50, 60, 30, 12, axis_cw_from_up_deg=30.0)
    assert filled(drawn, Answer(told, sd, 0.1)).heading_cw_from_up_deg == heading


def test_a_second_run_still_knows_the_drawn_axis(tmp_path):
    drawn = Car(50, 60, 30, 12, axis_cw_from_up_deg=30.0)
    write_cars(CarTable((filled(drawn, Answer(90, 4, 0.1)),)), tmp_path / "a.csv")
    again = filled(read_cars(tmp_path / "a.csv").cars[0], Answer(32, 4, 0.1))
    assert again.heading_cw_from_up_deg == 30
    assert filled(again, Answer(27, 4, 0.1)).heading_cw_from_up_deg == 30


def test_a_heading_from_a_file_is_replaced():
    car = filled(Car(50, 60, 30, 12, 30.0), Answer(33.0, 4.0, 0.1))
    assert car.heading_cw_from_up_deg == 33
    assert car.extra == {}


def corners(car) -> list[list[float]]:
    return sorted(box_corners(car).round(6).tolist())


@pytest.mark.parametrize("format", ["dota", "yolo-obb", "voc-rolabelimg"])
def test_the_note_on_unknown_fronts_goes_when_they_are_told(format, tmp_path):
    drawn = Car(50, 60, 30, 12, axis_cw_from_up_deg=30.0, status="axis only")
    path = tmp_path / ("a.xml" if format.startswith("voc") else "a.txt")
    table = CarTable((drawn,), image_size=SIZE)
    write_cars(table, path, format=format, sidecar=False)
    foreign = read_cars(path, image_size=SIZE)
    assert len(foreign.notes) == 1
    assert notes_now((*foreign.notes, "another"), "", "one more") == (
        "another",
        "one more",
    )
