import numpy as np
import pytest
from napari.layers import Layer

from napari_roteq._car_shapes import cars_in_shapes, table_layer
from roteq_core.tables import Car, CarTable, box_corners


@pytest.fixture
def table():
    return CarTable(
        (
            Car(
                30, 20, 12, 5, heading_cw_from_up_deg=90, label="sedan", extra={"x": 1}
            ),
            Car(60, 50, 10, 4, axis_cw_from_up_deg=45),
            Car(5, 5),
        ),
        columns=("cx", "cy", "x"),
    )


@pytest.fixture
def layer(table):
    return Layer.create(*table_layer(table, name="cars"))


def read_back(layer, table):
    return cars_in_shapes(layer.data, dict(layer.features), table)


def test_untouched_boxes_give_the_very_same_cars(layer, table):
    assert read_back(layer, table) == table


def test_turned_box_gives_the_new_heading_and_keeps_the_rest(layer, table):
    box = layer.data[0]
    boxes = [np.roll(box, 2, axis=0), layer.data[1]]  # front and rear change places
    layer.data = list(zip(boxes, ["rectangle"] * 2, strict=True))
    car = read_back(layer, table).cars[0]
    assert car.heading_cw_from_up_deg == pytest.approx(270)
    assert (car.label, car.extra) == ("sedan", {"x": 1})


def test_heading_turned_by_hand_is_no_longer_the_machines():
    known = {"heading_sd_deg": 3.0, "p_flip": 0.1, "status": "machine"}
    cars = CarTable((Car(30, 20, 12, 5, heading_cw_from_up_deg=90, **known),))
    box = box_corners(cars.cars[0])[:, ::-1]
    (turned,) = cars_in_shapes([np.roll(box, 2, axis=0)], {"car": [0]}, cars).cars
    assert turned.status == "edited"
    assert turned.heading_sd_deg is turned.p_flip is None
    assert turned.machine_heading_cw_from_up_deg == 90
    (moved,) = cars_in_shapes([box + 7], {"car": [0]}, cars).cars
    assert (moved.cx, moved.status, moved.heading_sd_deg) == (37, "machine", 3.0)


def test_moved_axis_stays_an_axis(layer, table):
    boxes = [layer.data[0], layer.data[1] + 3]
    layer.data = list(zip(boxes, ["rectangle"] * 2, strict=True))
    car = read_back(layer, table).cars[1]
    assert car.heading_cw_from_up_deg is None
    assert car.axis_cw_from_up_deg == pytest.approx(45)
    assert (car.cx, car.cy) == pytest.approx((63, 53))


def test_deleted_box_is_gone_and_copied_box_is_new(layer, table):
    boxes = [layer.data[0], layer.data[0] + 8]
    features = {"car": [0, 0]}
    found = cars_in_shapes(boxes, features, table)
    assert [(car.cx, car.cy) for car in found.cars] == [(30, 20), (38, 28), (5, 5)]
    assert found.cars[1].label == ""


def test_boxes_without_a_table_are_new_cars(layer):
    found = cars_in_shapes(layer.data, {}, None)
    assert len(found) == 2
    assert found.cars[0].heading_cw_from_up_deg == pytest.approx(90)
