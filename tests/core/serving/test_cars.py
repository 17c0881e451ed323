"""Cars for the viewer: part by part the same as at once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from roteq_core.cars.orient import iter_orient
from roteq_core.config import FindOptions, OrientOptions
from roteq_core.jobs import drain
from roteq_core.model import make_model
from roteq_core.net_config import CarNetConfig, TurningConfig
from roteq_core.networks import build_network
from roteq_core.serving.cars import iter_find_and_orient, iter_orient_cars
from roteq_core.tables import Car, CarTable

CARS = (Car(30, 30, 24, 10), Car(70, 40), Car(50, 60, 30, 12), Car(200, 5))


@pytest.fixture(scope="module")
def options(tmp_path_factory) -> OrientOptions:
    turning = TurningConfig(8, frequencies=2)
    torch.manual_seed(0)
    network = build_network(
        CarNetConfig(
            filters=(2, 2), kernel_size=7, crop=47, first_stride=2, turning=turning
        )
    )
    path = tmp_path_factory.mktemp("models") / "tiny.safetensors"
    make_model([network], name="tiny", task="cars").save(path)
    return OrientOptions(model=str(path), copies=1, batch=2)


@pytest.fixture
def image() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 255, (80, 96, 3), dtype=np.uint8)


def test_parts_give_what_the_whole_gives(image, options):
    table = CarTable(CARS)
    whole = drain(iter_orient(image, table, options))
    parts = drain(iter_orient_cars(image, table, options))
    assert parts.cars == whole.cars
    assert parts.notes == whole.notes != ()


def test_finished_cars_are_reported_before_the_end(image, options):
    reports = list(iter_orient_cars(image, CarTable(CARS), options))
    first, last = [each for each in reports if "table" in each.values]
    statuses = [car.status for car in first.values["table"]]
    assert statuses == ["machine", "machine", "", ""]
    assert (first.done, last.done, last.total) == (2, 4, 4)
    done = [each.done for each in reports]
    assert done == sorted(done)


def test_found_cars_are_reported_before_their_headings(image, options, monkeypatch):
    asked = []

    def find(image, finding):
        asked.append(finding)
        yield from ()
        return CarTable(CARS[:1])

    monkeypatch.setattr("roteq_core.serving.cars.iter_find_cars", find)
    job = iter_find_and_orient(image, FindOptions(threshold=0.7), options)
    assert next(job).values["table"].cars == CARS[:1]
    assert drain(job).cars[0].status == "machine"
    assert asked == [FindOptions(threshold=0.7, orient=False)]


def test_no_cars_are_no_error(image, options):
    assert drain(iter_orient_cars(image, CarTable(), options)).cars == ()
