"""The shipped car models on the sample scene, which they have not seen."""

from __future__ import annotations

import numpy as np
import pytest

from roteq_core.angles import angle_from_heading
from roteq_core.angular import angular_error
from roteq_core.cars.find_cars import iter_find_cars
from roteq_core.cars.orient import iter_orient
from roteq_core.config import FindOptions, OrientOptions
from roteq_core.jobs import drain
from roteq_core.synthetic.samples import sample_aerial_scene
from roteq_core.tables import Car, CarTable


@pytest.fixture(scope="module")
def scene():
    return sample_aerial_scene()


@pytest.fixture(scope="module")
def cars(scene):
    return [c for c in scene.cars if c.is_car and c.visible >= 0.5]


def test_headings_of_the_sample_scene_are_right(scene, cars):
    table = CarTable(tuple(Car(c.cx, c.cy, c.length) for c in cars))
    found = drain(iter_orient(scene.image, table, OrientOptions(copies=4)))
    predicted = [c.heading_cw_from_up_deg for c in found]
    truth = [c.heading_cw_from_up_deg for c in cars]
    error = angular_error(angle_from_heading(predicted), angle_from_heading(truth))
    assert np.median(error) < 4
    assert (error < 15).mean() > 0.85


@pytest.mark.parametrize("length", [None, 36])
def test_most_cars_of_the_sample_scene_are_found(scene, cars, length):
    options = FindOptions(car_length_px=length, orient=False)
    table = drain(iter_find_cars(scene.image, options))
    places = np.array([(c.cx, c.cy) for c in table])
    gaps = [np.hypot(*(places - (c.cx, c.cy)).T).min() / c.length for c in cars]
    assert (np.array(gaps) < 0.4).mean() > 0.75
    assert len(table) < 1.25 * len(cars)
