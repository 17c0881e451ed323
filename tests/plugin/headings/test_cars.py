import numpy as np
import pytest
from napari.layers import Image, Layer, Points, Shapes

from napari_roteq._car_shapes import table_layer
from napari_roteq._headings.cars import (
    car_layers,
    cars_between,
    cars_of_file,
    cars_of_layer,
    headings_of,
    pixel_size_m,
    with_sizes,
)
from napari_roteq._recipes import Recipe
from roteq_core.tables import Car, CarTable, write_cars

CARS = (
    Car(30, 40, 24, 10, heading_cw_from_up_deg=10, id="a"),
    Car(60, 20),
    Car(50, 70, 30, 12, heading_cw_from_up_deg=200, heading_sd_deg=3),
)


@pytest.fixture
def image():
    return Image(
        np.zeros((100, 90), np.uint8), scale=(2, 2), translate=(5, 7), rotate=20
    )


def placed(image):
    """Keywords that put a layer where the image is."""
    names = ("scale", "translate", "rotate")
    return {name: getattr(image, name) for name in names}


def test_points_become_cars_in_the_pixels_of_the_image(image):
    places = np.array([(40.0, 30.0), (20.0, 60.0)])
    world = [image.data_to_world(place) for place in places]
    cars = cars_of_layer(Points(np.array(world)), image).cars
    centers = [(car.cy, car.cx) for car in cars]
    np.testing.assert_allclose(centers, places, atol=1e-9)
    assert cars[0].length is None


def test_points_of_other_slices_are_left_out():
    stack = Image(np.zeros((3, 20, 20)), scale=(10, 1, 1))
    points = Points([(10, 4, 5), (20, 8, 9)])
    assert [car.cx for car in cars_of_layer(points, stack, (1,))] == [5]
    assert [car.cx for car in cars_of_layer(points, stack, (2,))] == [9]
    flat = Points([(4, 5)])
    assert [car.cx for car in cars_of_layer(flat, stack, (2,))] == [5]


def test_drawn_box_gives_its_long_side_as_length(image):
    upright = np.array([(10, 20), (10, 28), (40, 28), (40, 20)], float)
    (car,) = cars_of_layer(Shapes([upright], **placed(image)), image)
    assert (car.cx, car.cy, car.length, car.width) == pytest.approx((24, 25, 30, 8))
    assert car.heading_cw_from_up_deg is None


def test_shapes_of_any_kind_give_a_center(image):
    triangle = np.array([(10, 20), (10, 40), (30, 30)], float)
    line = np.array([(5, 5), (5, 15)], float)
    layer = Shapes([triangle, line], shape_type=["polygon", "line"], **placed(image))
    first, second = cars_of_layer(layer, image)
    assert (first.cx, first.cy, first.length) == pytest.approx((30, 20, 20))
    assert (second.cx, second.cy) == pytest.approx((10, 5))
    assert second.length is None


def test_boxes_of_a_table_give_its_cars(image):
    table = CarTable(CARS)
    layer = Layer.create(*table_layer(table, name="cars", **placed(image)))
    cars = cars_of_layer(layer, image).cars
    assert [car.id for car in cars] == ["a", "", ""]
    assert cars[0].heading_cw_from_up_deg == pytest.approx(10)


def test_cars_of_another_image_in_a_file_are_left_out(image, tmp_path):
    image.name = "one.png"
    cars = (Car(1, 2, file="one.png"), Car(3, 4, file="two.png"))
    write_cars(CarTable(cars), tmp_path / "cars.csv")
    assert [car.cx for car in cars_of_file(str(tmp_path / "cars.csv"), image)] == [1]


def test_assumed_sizes_say_so():
    filled = with_sizes(CarTable(CARS)).cars
    assert filled[0] == CARS[0]
    assert filled[1].length == 27
    assert filled[1].extra["size"] == "assumed"
    assert with_sizes(CarTable(CARS), 50.0).cars[1].length == 50


def test_layers_lie_on_the_image_and_know_their_cars(image):
    layers = car_layers(image, (), CarTable(CARS), Recipe("a:b"), "direction")
    arrows, boxes = (Layer.create(*each) for each in layers)
    for layer in (arrows, boxes):
        np.testing.assert_allclose(layer.scale, image.scale)
        np.testing.assert_allclose(layer.translate, image.translate)
        np.testing.assert_allclose(layer.rotate, image.rotate)
        assert list(layer.features["car"]) == [0, 2]


def test_headings_are_chosen_by_their_petal():
    table = CarTable(CARS)
    assert headings_of(table).tolist() == [10, 200]
    assert cars_between(table, 195, 210) == [2]


@pytest.mark.parametrize(
    ("unit", "size"), [("m", 0.15), ("cm", 0.0015), ("pixel", None), ("km", None)]
)
def test_pixel_size_comes_from_the_units(unit, size):
    layer = Image(np.zeros((4, 4)), scale=(0.15, 0.15), units=unit)
    assert pixel_size_m(layer) == size
