import subprocess
import sys

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Image, Labels, Layer, Shapes, Vectors

from napari_roteq._detail import Thinned, thin_field
from napari_roteq._images import transform_of
from napari_roteq._layers import (
    arrows_layer,
    axis_layer,
    boxes_layer,
    cells_layer,
    field_layer,
    find_layer,
    probability_layer,
    row_column,
    set_plane,
    tag,
    update_or_add,
)
from roteq_core.angles import heading_from_angle
from roteq_core.tables import Car


def one_vector(u, v, row=10, column=20, spacing=10):
    return Thinned(np.array([[row, column]]), np.array([[u, v]], float), spacing)


def created(layer_data):
    return Layer.create(*layer_data)


@pytest.fixture
def viewer():
    return ViewerModel()


def test_right_and_down_become_row_and_column():
    assert row_column([3, 1]).tolist() == [1, 3]
    points = np.arange(12).reshape(2, 3, 2)
    np.testing.assert_array_equal(row_column(row_column(points)), points)


def test_a_vector_to_the_right_grows_along_columns():
    layer = created(field_layer(one_vector(u=2, v=0), name="field"))
    assert isinstance(layer, Vectors)
    start, along = layer.data[0]
    assert start.tolist() == [10, 20]
    assert along[0] == pytest.approx(0)
    assert along[1] > 0
    assert layer.features["heading_cw_from_up_deg"][0] == pytest.approx(90)


def test_a_vector_downwards_grows_along_rows():
    layer = created(field_layer(one_vector(u=0, v=2), name="field"))
    assert layer.data[0, 1, 0] > 0
    assert layer.features["heading_cw_from_up_deg"][0] == pytest.approx(180)


def test_the_strongest_vector_just_fills_the_spacing():
    thinned = Thinned(np.zeros((2, 2)), np.array([[3.0, 4.0], [0.0, 1.0]]), 10)
    lines, _, _ = field_layer(thinned, name="field")
    assert np.linalg.norm(lines[:, 1], axis=1) == pytest.approx([9, 1.8])
    lines, _, _ = field_layer(thinned, name="field", strongest=10)
    assert np.linalg.norm(lines[:, 1], axis=1) == pytest.approx([4.5, 0.9])


def test_an_axis_is_centered_on_its_pixel_and_opposite_vectors_look_alike():
    there, _, _ = axis_layer(one_vector(1, 2), name="axes")
    back, options, _ = axis_layer(one_vector(-1, -2), name="axes")
    middle = there[0, 0] + there[0, 1] / 2
    assert middle.tolist() == pytest.approx([10, 20])
    ends = {tuple(np.round(there[0, 0] + k * there[0, 1], 9)) for k in (0, 1)}
    assert ends == {tuple(np.round(back[0, 0] + k * back[0, 1], 9)) for k in (0, 1)}
    assert 0 <= options["features"]["axis_cw_from_up_deg"][0] < 180


def test_directions_are_colored_round_the_circle():
    angles = np.radians([0.001, 359.999, 180])
    vectors = np.stack([np.sin(angles), -np.cos(angles)], axis=-1)
    layer = created(field_layer(Thinned(np.zeros((3, 2)), vectors, 8), name="field"))
    up, also_up, down = layer.edge_color
    np.testing.assert_allclose(up, also_up, atol=0.01)
    assert np.abs(up - down).max() > 0.25


def test_strength_can_be_the_color():
    layer = created(field_layer(one_vector(3, 4), name="f", color_by="strength"))
    assert layer.edge_contrast_limits == (0, 5)
    assert layer.features["strength"].tolist() == [5]


@pytest.mark.parametrize("make", [field_layer, axis_layer])
def test_vectors_of_a_stack_lie_in_their_plane(make):
    layer = created(make(one_vector(1, 1), name="field", index=(2, 7)))
    assert layer.ndim == 4
    assert layer.data[0, 0, :2].tolist() == [2, 7]
    assert layer.data[0, 1, :2].tolist() == [0, 0]


@pytest.mark.parametrize("make", [field_layer, axis_layer])
def test_a_flat_field_makes_an_empty_layer(make):
    flat = thin_field(np.zeros((2, 30, 30)))
    assert len(created(make(flat, name="field")).data) == 0


def test_maps_become_image_and_labels():
    image = created(probability_layer(np.zeros((3, 8, 8)), name="membranes"))
    cells = created(cells_layer(np.ones((3, 8, 8), int), name="cells"))
    assert isinstance(image, Image)
    assert tuple(image.contrast_limits) == (0, 1)
    assert isinstance(cells, Labels)


CAR = Car(50, 30, length=20, width=8, heading_cw_from_up_deg=90, heading_sd_deg=3)
AXIS = Car(10, 10, length=20, width=8, axis_cw_from_up_deg=0)
POINT = Car(5, 5)
ARROW = Car(7, 9, heading_cw_from_up_deg=0)


def test_the_box_of_a_car_to_the_right_begins_at_its_front_left():
    layer = created(boxes_layer([CAR], name="cars"))
    assert isinstance(layer, Shapes)
    assert layer.shape_type == ["rectangle"]
    front_left, rear_left, rear_right, front_right = layer.data[0].tolist()
    assert front_left == pytest.approx([26, 60])
    assert rear_left == pytest.approx([26, 40])
    assert rear_right == pytest.approx([34, 40])
    assert front_right == pytest.approx([34, 60])


def test_cars_that_cannot_be_drawn_are_left_out_but_keep_the_count():
    cars = [POINT, CAR, ARROW, AXIS]
    boxes = created(boxes_layer(cars, name="cars"))
    arrows = created(arrows_layer(cars, name="headings"))
    assert boxes.features["car"].tolist() == [1, 3]
    assert arrows.features["car"].tolist() == [1, 2]


def test_an_arrow_goes_through_the_center_towards_the_front():
    lines, _, _ = arrows_layer([CAR, ARROW], name="headings", length=12)
    np.testing.assert_allclose(lines[0], [[30, 40], [0, 20]], atol=1e-9)
    np.testing.assert_allclose(lines[1], [[9 + 6, 7], [-12, 0]], atol=1e-9)


def test_the_drawn_heading_can_be_read_back():
    for heading in (0, 45, 180, 359):
        car = Car(9, 8, length=20, width=8, heading_cw_from_up_deg=heading)
        lines, _, _ = arrows_layer([car], name="headings")
        u, v = row_column(lines[0, 1])
        assert heading_from_angle(np.arctan2(v, u)) == pytest.approx(heading)


def test_a_car_of_unknown_uncertainty_is_gray_not_invisible():
    cars = [CAR, Car(9, 9, length=9, width=4, heading_cw_from_up_deg=0)]
    for make in (boxes_layer, arrows_layer):
        layer = created(make(cars, name="cars", color_by="uncertainty"))
        assert layer.edge_color[1, 3] == 1
        assert np.ptp(layer.edge_color[1, :3]) == pytest.approx(0)


def test_a_front_in_doubt_is_as_uncertain_as_a_wide_spread():
    known = {"length": 9, "width": 4, "heading_cw_from_up_deg": 0}
    doubts = [(2.0, 0.0), (2.0, 0.5), (60.0, 0.0)]
    cars = [Car(9, 9, heading_sd_deg=sd, p_flip=p, **known) for sd, p in doubts]
    colors = created(arrows_layer(cars, name="cars", color_by="uncertainty")).edge_color
    np.testing.assert_allclose(colors[1], colors[2])
    assert np.abs(colors[0] - colors[1]).max() > 0.3


@pytest.mark.parametrize("make", [boxes_layer, arrows_layer])
@pytest.mark.parametrize("index", [(), (4,)])
def test_no_cars_make_an_empty_layer(make, index):
    layer = created(make([], name="cars", index=index))
    assert len(layer.data) == 0
    if make is boxes_layer:
        assert layer.ndim == 2 + len(index)


def test_a_second_run_updates_its_layer_and_keeps_what_the_user_set(viewer):
    source = viewer.add_image(np.zeros((8, 8)), scale=(2, 2))
    other = viewer.add_image(np.zeros((8, 8)))

    def result(value, of=source):
        return probability_layer(
            np.full((8, 8), value),
            name="membranes",
            metadata=tag("membranes", of, {"step": value}),
            **transform_of(of),
        )

    first = update_or_add(viewer, result(0.1))
    first.name, first.colormap, first.visible = "mine", "green", False
    source.scale = (5, 5)
    assert update_or_add(viewer, result(0.2)) is first
    assert len(viewer.layers) == 3
    assert first.data[0, 0] == 0.2
    assert first.scale.tolist() == [5, 5]
    assert first.metadata["roteq"]["step"] == 0.2
    assert (first.name, first.colormap.name, first.visible) == ("mine", "green", False)
    assert update_or_add(viewer, result(0.3, of=other)) is not first


def test_layers_without_our_metadata_are_never_touched(viewer):
    mine = viewer.add_image(np.zeros((4, 4)), name="membranes")
    update_or_add(viewer, probability_layer(np.ones((4, 4)), name="membranes"))
    update_or_add(viewer, probability_layer(np.ones((4, 4)), name="membranes"))
    assert len(viewer.layers) == 3
    assert mine.data.sum() == 0


@pytest.mark.parametrize("make", [boxes_layer, arrows_layer])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_cars_may_become_more_or_fewer_and_are_colored_anew(viewer, make, count):
    source = viewer.add_image(np.zeros((90, 90)))
    metadata = tag("cars", source, {})
    layer = update_or_add(viewer, make([CAR, CAR], name="cars", metadata=metadata))
    east = layer.edge_color[0].copy()
    south = [
        Car(20 * i, 30, length=9, width=4, heading_cw_from_up_deg=180)
        for i in range(count)
    ]
    assert update_or_add(viewer, make(south, name="cars", metadata=metadata)) is layer
    assert len(layer.data) == len(layer.features) == len(layer.edge_color) == count
    if count:
        assert np.abs(layer.edge_color - east).max(axis=1).min() > 0.1
    update_or_add(viewer, make([CAR], name="cars", metadata=metadata))
    np.testing.assert_allclose(layer.edge_color, [east], atol=1e-6)
    if make is boxes_layer:
        assert layer.shape_type == ["rectangle"]


def test_a_result_with_more_axes_replaces_the_layer_in_its_place(viewer):
    source = viewer.add_image(np.zeros((3, 8, 8)))
    metadata = tag("field", source, {})
    flat = field_layer(one_vector(1, 0), name="field", metadata=metadata)
    stacked = field_layer(one_vector(1, 0), name="x", index=(2,), metadata=metadata)
    update_or_add(viewer, flat)
    viewer.add_points(ndim=3)
    layer = update_or_add(viewer, stacked)
    assert layer.ndim == 3
    assert viewer.layers.index(layer) == 1
    assert layer.name == "field"
    assert len(viewer.layers) == 3


def test_a_plane_is_written_into_the_stack(viewer):
    layer = viewer.add_image(np.zeros((3, 4, 4)))
    set_plane(layer, (1,), np.ones((4, 4)))
    assert layer.data.sum(axis=(1, 2)).tolist() == [0, 16, 0]


def test_a_layer_is_found_by_its_key_only(viewer):
    layer = viewer.add_image(np.zeros((4, 4)), metadata={"roteq": {"key": "a of b"}})
    assert find_layer(viewer, "a of b") is layer
    assert find_layer(viewer, None) is None
    assert find_layer(viewer, "a of c") is None


def test_no_qt_is_loaded():
    code = (
        "import sys, napari_roteq._layers; "
        "print([m for m in sys.modules if m.startswith(('PyQt', 'PySide'))])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr
