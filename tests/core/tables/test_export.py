import json

import pytest

from roteq_core.tables import (
    AXIS_ONLY,
    FORMATS,
    Car,
    CarTable,
    export_cars,
    read_car_folder,
    read_cars,
    write_training_set,
)

SIZE = (720, 1280)
CARS = (
    Car(10, 20, 40, 20, 30, label="car", file="a.png", id="1", extra={"n": "x"}),
    Car(50, 60, 40, 20, 210, label="bus", file="b.png", id="2", extra={"n": "y"}),
    Car(90, 70, 40, 20, 110, label="bus", file="a.png", id="3", extra={"n": "z"}),
)
TABLE = CarTable(CARS, ("n",))


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_leaves_rejected_cars_out(tmp_path, format):
    rejected = Car(1, 1, 40, 20, 5, status="rejected", file="a.png")
    table = CarTable((CARS[0], rejected))
    path = tmp_path / "out"
    assert export_cars(table, path, format=format, image_sizes=SIZE) == (path,)
    assert len(read_cars(path, format=format, image_size=SIZE)) == 1
    export_cars(table, path, format=format, image_sizes=SIZE, include_rejected=True)
    assert len(read_cars(path, format=format, image_size=SIZE)) == 2


def test_an_export_of_several_images_is_a_folder_where_it_must_be(tmp_path):
    assert export_cars(TABLE, tmp_path / "a.csv", format="csv") == (tmp_path / "a.csv",)
    folder = tmp_path / "labels"
    paths = export_cars(TABLE, folder, format="yolo-obb", image_sizes=SIZE)
    assert paths == (folder / "a.txt", folder / "b.txt")


def test_a_training_set_leaves_out_what_teaches_nothing(tmp_path):
    rejected = Car(1, 1, 40, 20, 5, status="rejected", file="a.png")
    axis = Car(2, 2, 40, 20, axis_cw_from_up_deg=5, status=AXIS_ONLY, file="b.png")
    table = TABLE.with_cars([*CARS, rejected, axis])
    result = write_training_set(table, tmp_path)
    assert result.cars == 3
    assert result.images == {"a.png": ("a.csv", 2), "b.png": ("b.csv", 1)}
    assert result.left_out == {"rejected": 1, "no heading": 1}
    assert read_cars(tmp_path / "a.csv").cars == (CARS[0], CARS[2])
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["cars"] == 3
    assert "clockwise from up" in summary["convention"]
    assert len(read_car_folder(tmp_path)) == 3


def test_a_training_set_may_hold_reviewed_cars_alone(tmp_path):
    accepted = CARS[1].with_heading(5, status="accepted")
    table = TABLE.with_cars([CARS[0], accepted])
    result = write_training_set(table, tmp_path, statuses=("accepted", "edited"))
    assert result.images == {"b.png": ("b.csv", 1)}
    assert result.left_out == {"status ''": 1}


def test_a_training_set_of_a_table_without_image_names(tmp_path):
    result = write_training_set(CarTable((Car(1, 2, 40, 20, 5),)), tmp_path)
    assert result.images == {"": ("cars.csv", 1)}
