"""What becomes of a row when a model has looked at the car."""

from __future__ import annotations

import pytest

from roteq_core.filled_cars import OUTSIDE, Answer, with_answer
from roteq_core.tables import Car, CarTable, read_cars, write_cars

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
