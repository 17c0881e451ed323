"""Numbers that cannot be pixels are refused, and those that hardly are get a note."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from roteq_core.cars.find_cars import iter_find_cars
from roteq_core.cars.orient import iter_orient
from roteq_core.cars.units import (
    check_given_length,
    check_own_lengths,
    given_notes,
    row_notes,
)
from roteq_core.config import FindOptions, OrientOptions
from roteq_core.jobs import drain
from roteq_core.tables import MACHINE, Car, CarTable, write_cars

SHAPE = (300, 400, 3)  # with a diagonal of 500


@pytest.mark.parametrize("options", [OrientOptions, FindOptions])
def test_cars_longer_than_the_image_cannot_be_asked_for(options):
    check_given_length(options(car_length_px=500, pixel_size_m=0.001), SHAPE)
    check_given_length(options(pixel_size_m=0.01), SHAPE)
    name = options.__name__
    with pytest.raises(ValueError, match=rf"{name}\.car_length_px .* 500, .* got 501"):
        check_given_length(options(car_length_px=501), SHAPE)
    with pytest.raises(ValueError, match=rf"{name}\.pixel_size_m .* 0.009, .* got 0.0"):
        check_given_length(options(pixel_size_m=0.008), SHAPE)


def test_rows_longer_than_the_image_are_named():
    cars = [Car(1, 2, 500), Car(1, 2), Car(1, 2, 3000)]
    with pytest.raises(ValueError, match=r"^a\.csv: car 3: the length .* got 3000"):
        check_own_lengths(cars, SHAPE, [True] * 3, "a.csv")
    check_own_lengths(cars, SHAPE, [True, True, False])
    found = replace(cars[2], status=MACHINE)
    check_own_lengths([found], SHAPE, [True])


def test_fractions_and_meters_get_a_note():
    (note,) = row_notes([Car(0.5, 0.25, 30), Car(1, 0, 30)])
    assert "within 0…1, the first at (0.5, 0.25)" in note
    (note,) = row_notes([Car(50, 25, 30), Car(60, 25, 4.5), Car(70, 25)])
    assert note.startswith("1 of 3 cars are shorter than 8 px, the first 4.5: ")
    assert row_notes([Car(0.5, 25, 8)]) == row_notes([]) == ()
    (note,) = given_notes(FindOptions(car_length_px=4.5))
    assert "a car length of 4.5 is read as pixels" in note
    assert given_notes(OrientOptions(car_length_px=8)) == ()
    assert given_notes(OrientOptions()) == ()


def test_lengths_are_checked_before_a_model_is_loaded(tmp_path):
    image = np.zeros(SHAPE, np.uint8)
    options = {"model": "no-such-model", "car_length_px": 600}
    with pytest.raises(ValueError, match=r"FindOptions\.car_length_px must be at most"):
        drain(iter_find_cars(image, FindOptions(**options)))
    with pytest.raises(ValueError, match=r"OrientOptions\.car_length_px must be at"):
        drain(iter_orient(image, CarTable(), OrientOptions(**options)))
    write_cars(CarTable((Car(5, 5, 3000),)), tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"a\.csv: car 1: the length must be at most"):
        drain(iter_orient(image, tmp_path / "a.csv", OrientOptions(model="no-such")))
