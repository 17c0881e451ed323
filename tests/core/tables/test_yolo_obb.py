"""YOLO-OBB text of other tools with known answers, and ours as they read it."""

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
# Front left, front right, rear right, rear left: clockwise on the screen.
RIGHT_CORNERS = [[120, 40], [120, 60], [80, 60], [80, 40]]


def numbers_of(corners, scale=(1, 1)):
    return " ".join(str(value) for value in (np.array(corners) / scale).ravel())


SIZE = (200, 400)  # height, width
YOLO = f"0 {numbers_of(RIGHT_CORNERS, (400, 200))}\n"


def test_yolo_fractions_are_of_width_and_height(read):
    table = read(YOLO, "a.txt", image_size=SIZE)
    (car,) = table.cars
    assert table.format == "yolo-obb"
    assert (car.cx, car.cy, car.length, car.width) == (100, 50, 40, 20)
    assert (car.axis_cw_from_up_deg, car.status, car.label) == (90, AXIS_ONLY, "0")


def test_our_yolo_holds_nothing_but_numbers(tmp_path):
    write(CarTable((RIGHT,)), tmp_path / "a.txt", format="yolo-obb", image_size=SIZE)
    (line,) = (tmp_path / "a.txt").read_text().splitlines()
    values = [float(token) for token in line.split()]
    assert len(values) == 9
    np.testing.assert_allclose(
        np.reshape(values[1:], (4, 2)) * (400, 200), RIGHT_CORNERS
    )


def test_yolo_needs_the_image_size(read, tmp_path):
    with pytest.raises(ValueError, match=r"a\.txt: .*image_size must be given"):
        read(YOLO, "a.txt")
    with pytest.raises(ValueError, match="image_size must be given"):
        write(CarTable((RIGHT,)), tmp_path / "b.txt", format="yolo-obb")


def test_the_file_beside_remembers_size_names_and_front(tmp_path):
    cars = (RIGHT, Car(10, 20, 30, 10, heading_cw_from_up_deg=200, label="bus"))
    write(CarTable(cars), tmp_path / "a.txt", format="yolo-obb", image_size=SIZE)
    table = read_cars(tmp_path / "a.txt")
    assert table.cars == cars
    assert table.image_size == SIZE
    assert table.header["class_names"] == ["bus", "car"]
    assert table.notes == ()


def test_class_names_are_taken_in_the_order_given(read, tmp_path):
    (car,) = read(YOLO, "a.txt", image_size=SIZE, class_names=["bus", "car"]).cars
    assert car.label == "bus"
    table = CarTable((RIGHT,), image_size=SIZE)
    write(table, tmp_path / "b.txt", format="yolo-obb", class_names=["bus", "car"])
    assert (tmp_path / "b.txt").read_text().startswith("1 ")


def test_a_score_is_read_from_yolo_predictions(read):
    (car,) = read(YOLO.strip() + " 0.75\n", "a.txt", image_size=SIZE).cars
    assert car.score == 0.75


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("0 0.1 0.2 0.3\n", "line 1: needs a class, eight coordinates"),
        ("x 0 0 1 0 1 1 0 1\n", "line 1: invalid literal"),
        ("0 9 9 40 9 40 20 9 20\n", "line 1: corners must be x / width and y / hei"),
        ("3 0 0 1 0 1 1 0 1\n", "line 1: the class must be below 2"),
    ],
)
def test_broken_yolo_is_named(read, text, rule):
    with pytest.raises(ValueError, match=rf"a\.txt: {rule}"):
        read(text, "a.txt", format="yolo-obb", image_size=SIZE, class_names=["a", "b"])
