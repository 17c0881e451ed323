import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from roteq_core.tables import AXIS_ONLY, Car, CarTable, box_corners, car_from_corners

SIZES = st.floats(1, 200)
HEADINGS = st.floats(0, 360, exclude_max=True)


def gap(a, b, period=360.0):
    return abs((a - b + period / 2) % period - period / 2)


def test_corners_of_a_car_that_points_up():
    car = Car(100, 50, length=40, width=20, heading_cw_from_up_deg=0)
    front_left, rear_left, rear_right, front_right = box_corners(car)
    np.testing.assert_allclose(front_left, [90, 30], atol=1e-9)
    np.testing.assert_allclose(rear_left, [90, 70], atol=1e-9)
    np.testing.assert_allclose(rear_right, [110, 70], atol=1e-9)
    np.testing.assert_allclose(front_right, [110, 30], atol=1e-9)


def test_corners_of_a_car_that_points_right():
    car = Car(0, 0, length=40, width=20, heading_cw_from_up_deg=90)
    expected = [[20, -10], [-20, -10], [-20, 10], [20, 10]]
    np.testing.assert_allclose(box_corners(car), expected, atol=1e-9)


def test_a_flip_rolls_the_corners_by_two():
    car = Car(3, 4, length=40, width=20, heading_cw_from_up_deg=33)
    flipped = car.with_heading(33 + 180)
    np.testing.assert_allclose(
        box_corners(flipped), np.roll(box_corners(car), 2, axis=0), atol=1e-9
    )


@given(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4), SIZES, SIZES, HEADINGS)
def test_box_corners_give_the_car_back(cx, cy, length, width, heading):
    car = Car(cx, cy, length, width, heading)
    back = car_from_corners(box_corners(car))
    assert (back.cx, back.cy) == pytest.approx((cx, cy), abs=1e-5)
    assert (back.length, back.width) == pytest.approx((length, width), abs=1e-5)
    assert gap(back.heading_cw_from_up_deg, heading) < 1e-4


@given(SIZES, SIZES, HEADINGS, st.booleans())
def test_the_front_edge_may_go_round_either_way(length, width, heading, mirrored):
    corners = box_corners(Car(0, 0, length, width, heading))[[0, 3, 2, 1]]
    if mirrored:
        corners = corners[[1, 0, 3, 2]]
    back = car_from_corners(corners, order="front edge first")
    assert gap(back.heading_cw_from_up_deg, heading) < 1e-4


@given(st.floats(21, 200), st.floats(1, 20), HEADINGS, st.integers(0, 3))
def test_unknown_corners_give_the_axis_from_any_start(length, width, heading, start):
    corners = np.roll(box_corners(Car(5, 6, length, width, heading)), start, axis=0)
    car = car_from_corners(corners, order="unknown")
    assert car.heading_cw_from_up_deg is None
    assert car.status == AXIS_ONLY
    assert gap(car.axis_cw_from_up_deg, heading, 180.0) < 1e-4
    assert (car.length, car.width) == pytest.approx((length, width), abs=1e-5)


@pytest.mark.parametrize(
    ("corners", "rule"),
    [
        ([[0, 0], [1, 0], [1, 1]], "4 finite points"),
        ([[0, 0], [1, 0], [1, 1], [0, math.nan]], "4 finite points"),
        ([[0, 0], [1, 0], [1, 0], [0, 0]], "must have an area"),
    ],
)
def test_corners_without_a_box_are_refused(corners, rule):
    with pytest.raises(ValueError, match=rule):
        car_from_corners(corners)


def test_a_box_needs_size_and_direction():
    assert not Car(1, 2).has_box
    with pytest.raises(ValueError, match="got no length and no width at"):
        box_corners(Car(1, 2, heading_cw_from_up_deg=3))


def test_an_axis_is_enough_to_draw_a_box():
    by_axis = Car(1, 2, 30, 10, axis_cw_from_up_deg=40)
    by_heading = Car(1, 2, 30, 10, heading_cw_from_up_deg=40)
    np.testing.assert_array_equal(box_corners(by_axis), box_corners(by_heading))


def test_giving_a_heading_settles_the_axis():
    car = Car(1, 2, axis_cw_from_up_deg=40, status=AXIS_ONLY)
    front = car.with_heading(220, status="machine")
    assert (front.heading_cw_from_up_deg, front.axis_cw_from_up_deg) == (220, None)
    assert front.status == "machine"


@pytest.mark.parametrize(
    ("given", "kept"), [(-10, 350), (370, 10), (360, 0), (-1e-20, 0), (0.5, 0.5)]
)
def test_headings_are_brought_into_one_turn(given, kept):
    assert Car(0, 0, heading_cw_from_up_deg=given).heading_cw_from_up_deg == kept


def test_axes_are_brought_into_half_a_turn():
    assert Car(0, 0, axis_cw_from_up_deg=190).axis_cw_from_up_deg == 10


def test_numpy_numbers_become_plain_floats():
    car = Car(np.float32(1.5), np.int64(2), heading_cw_from_up_deg=np.float32(90))
    assert {type(car.cx), type(car.cy), type(car.heading_cw_from_up_deg)} == {float}


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"cx": math.inf}, "cx must be finite, got inf"),
        ({"cy": None}, "cy must be a number, got None"),
        ({"length": 0}, "length must be positive, got 0"),
        ({"width": -3}, "width must be positive, got -3"),
        ({"heading_cw_from_up_deg": math.nan}, "must be finite, got nan"),
        ({"heading_sd_deg": -1}, "must not be negative, got -1"),
        ({"p_flip": 1.5}, r"p_flip must lie in \[0, 1\], got 1.5"),
    ],
)
def test_impossible_values_are_refused(fields, rule):
    with pytest.raises(ValueError, match=rule):
        Car(**{"cx": 0, "cy": 0, **fields})


@given(HEADINGS)
def test_both_conventions_name_one_direction(heading):
    car = Car(0, 0, heading_cw_from_up_deg=heading)
    ccw = math.radians(car.angle_ccw_from_right_deg)
    up = math.radians(heading)
    # x right; y down for the heading, up for the mathematical angle
    assert math.cos(ccw) == pytest.approx(math.sin(up), abs=1e-7)
    assert math.sin(ccw) == pytest.approx(math.cos(up), abs=1e-7)
    assert 0 <= car.angle_ccw_from_right_deg < 360


def table_of(*files):
    return CarTable(tuple(Car(i, 0, file=name) for i, name in enumerate(files)))


def test_a_table_gives_the_cars_of_one_image():
    table = table_of("a.png", "b.png", "a.png")
    assert [car.cx for car in table.for_image("a.png")] == [0, 2]
    assert table.files == ("a.png", "b.png")


@pytest.mark.parametrize("name", ["b.png", "some/folder/b.png", r"C:\x\b.png", "b.tif"])
def test_images_match_without_folder_and_ending(name):
    assert [car.cx for car in table_of("a.png", "b.png").for_image(name)] == [1]


def test_the_exact_name_is_preferred():
    table = table_of("b.png", "b.tif")
    assert [car.cx for car in table.for_image("b.tif")] == [1]
    with pytest.raises(ValueError, match=r"unambiguous, got 'b'"):
        table.for_image("b")


def test_an_image_without_cars_gives_an_empty_table_and_a_note():
    none = table_of("a.png").for_image("z.png")
    assert len(none) == 0
    assert "z.png" in none.notes[0]


def test_a_table_without_image_names_belongs_to_any_image():
    assert len(CarTable((Car(0, 0),)).for_image("any.png")) == 1


@pytest.mark.parametrize("names", [("a.png", ""), ("a.png", "", "b.png"), ("", "")])
def test_cars_that_name_no_image_are_of_any(names):
    table = table_of(*names)
    own = zip(table, table.is_of("a.png"), strict=True)
    of_a = [car.file for car, is_own in own if is_own]
    assert [car.file for car in table.for_image("a.png")] == of_a
    assert of_a.count("") == names.count("")


def test_an_image_that_no_car_names_has_those_without_a_name_and_a_note():
    rest = table_of("a.png", "").for_image("z.png")
    assert [car.cx for car in rest] == [1]
    assert rest.notes == ("no car names z.png; the table names a.png",)
