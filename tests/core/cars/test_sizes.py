from __future__ import annotations

from roteq_core.cars.sizes import car_lengths
from roteq_core.config import OrientOptions
from roteq_core.tables import Car


def test_missing_lengths_are_taken_from_what_is_known():
    cars = [Car(0, 0, 30), Car(1, 1, 50), Car(2, 2)]
    lengths, note = car_lengths(cars, OrientOptions())
    assert lengths[2] == 40
    assert "median" in note
    assert car_lengths(cars, OrientOptions(car_length_px=20))[0][2] == 20
    assert car_lengths(cars, OrientOptions(pixel_size_m=0.1))[0][2] == 45
    lengths, note = car_lengths(cars[2:], OrientOptions())
    assert lengths[0] == 36
    assert "give the car length" in note
    assert car_lengths(cars[:2], OrientOptions())[1] == ""
