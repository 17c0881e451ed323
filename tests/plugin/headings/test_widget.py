import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from imageio import v3 as imageio
from napari.layers import Shapes, Vectors
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QApplication, QFileDialog
from shown import layer_with_role, sentence_of

from napari_roteq._headings.recipe import find_recipe
from napari_roteq._headings.widget import HeadingWidget
from napari_roteq._layers import tag
from napari_roteq._parts.model_choice import choose_model
from napari_roteq._sample_data import FOLDER
from roteq_core.config import FindOptions, OrientOptions
from roteq_core.tables import Car, CarTable, read_cars, write_cars

WAIT = 300_000  # milliseconds; generous, nothing waits that long when all is well
PLACES = [(40, 30), (20, 60), (70, 50)]  # rows and columns


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    """Give the file of a tiny heading model, whose weights nobody trained."""
    import torch

    from roteq_core.model import make_model
    from roteq_core.net_config import CarNetConfig, TurningConfig
    from roteq_core.networks import build_network

    torch.manual_seed(0)
    network = build_network(
        CarNetConfig(
            filters=(2, 2),
            kernel_size=7,
            crop=47,
            first_stride=2,
            turning=TurningConfig(8, frequencies=2),
        )
    )
    path = tmp_path_factory.mktemp("models") / "tiny.safetensors"
    make_model([network], name="tiny", task="cars").save(path)
    return str(path)


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 255, (90, 100, 3), dtype=np.uint8)


@pytest.fixture
def viewer(make_napari_viewer):
    return make_napari_viewer()


@pytest.fixture
def widget(viewer, model):
    """Give the widget, made through the manifest, with the tiny model chosen."""
    _, widget = viewer.window.add_plugin_dock_widget("napari-roteq", "Car headings")
    widget._form.model.open_file(model)
    widget.set_value(OrientOptions(model=model, copies=1, batch=2))
    return widget


@pytest.fixture
def press(widget, qtbot):
    def press():
        widget.start()
        qtbot.waitUntil(lambda: not widget.is_running, timeout=WAIT)

    return press


def test_points_get_boxes_arrows_rows_and_a_rose(viewer, widget, press, pixels):
    place = {"scale": (3, 3), "translate": (10, 20), "rotate": 15}
    image = viewer.add_image(pixels, rgb=True, **place)
    viewer.add_points(PLACES, **place)
    press()
    assert sentence_of(widget) == ""
    boxes, arrows = (
        layer_with_role(viewer, "car boxes"),
        layer_with_role(viewer, "car headings"),
    )
    assert (type(boxes), type(arrows)) == (Shapes, Vectors)
    for layer in (boxes, arrows):
        np.testing.assert_allclose(layer.scale, image.scale)
        np.testing.assert_allclose(layer.translate, image.translate)
        np.testing.assert_allclose(layer.rotate, image.rotate)
    centers = [corners.mean(0) for corners in boxes.data]
    np.testing.assert_allclose(centers, PLACES, atol=1e-6)
    assert widget._form.table.model().rowCount() == 3
    assert widget._form.rose.summary().startswith("n 3 ")
    assert all(car.heading_cw_from_up_deg is not None for car in widget.cars)


def test_what_is_held_out_of_a_training_is_not_offered_as_cars(viewer, widget, pixels):
    image = viewer.add_image(pixels, rgb=True)
    box = np.array([[0, 0], [0, 9], [9, 9], [9, 0]])
    viewer.add_shapes([box], name="held out", metadata=tag("held out", image, {}))
    cars = viewer.add_shapes([box + 5], name="cars")
    assert widget._form.cars._offered == [cars]


def test_second_run_updates_its_own_layers(viewer, widget, press, pixels):
    viewer.add_image(pixels, rgb=True)
    points = viewer.add_points(PLACES)
    press()
    layers = list(viewer.layers)
    points.data = PLACES[:2]
    press()
    assert list(viewer.layers) == layers
    assert len(layer_with_role(viewer, "car boxes").data) == 2
    assert len(layer_with_role(viewer, "car headings").data) == 2
    assert widget._form.table.model().rowCount() == 2


def test_rows_and_boxes_are_selected_together(viewer, widget, press, pixels):
    viewer.add_image(pixels, rgb=True)
    viewer.add_points(PLACES)
    press()
    press()  # links must not pile up
    boxes, table = layer_with_role(viewer, "car boxes"), widget._form.table
    table.selectRow(1)
    assert set(boxes.selected_data) == {1}
    assert viewer.layers.selection.active is boxes
    boxes.selected_data = {0, 2}
    assert table.choice() == [0, 2]
    heading = widget.cars.cars[1].heading_cw_from_up_deg
    first = heading // 15 * 15
    widget._form.rose.petal_clicked.emit(first, first + 15)
    assert 1 in table.choice()
    assert set(boxes.selected_data) == set(table.choice())


def test_colors_say_what_was_chosen(viewer, widget, press, pixels):
    viewer.add_image(pixels, rgb=True)
    viewer.add_points(PLACES)
    press()
    boxes, arrows = (
        layer_with_role(viewer, "car boxes"),
        layer_with_role(viewer, "car headings"),
    )
    by_heading = boxes.edge_color.copy()
    drawn = []
    arrows.events.set_data.connect(drawn.append)
    widget._form.color_by.setCurrentText("Uncertainty")
    assert drawn
    assert not np.allclose(boxes.edge_color, by_heading)
    np.testing.assert_allclose(boxes.edge_color, arrows.edge_color)
    widget._form.color_by.setCurrentText("Heading")
    np.testing.assert_allclose(boxes.edge_color, by_heading)


def test_file_gives_cars_that_keep_their_columns(
    viewer, widget, press, pixels, tmp_path, monkeypatch
):
    table = CarTable((Car(30, 40, 24, 10, id="a", extra={"street": "Elm"}),))
    write_cars(table, tmp_path / "in.csv")
    viewer.add_image(pixels, rgb=True)
    widget._form.set_origin("file")
    widget._form.file.setText(str(tmp_path / "in.csv"))
    press()
    assert sentence_of(widget) == ""
    out = tmp_path / "out"
    monkeypatch.setattr(
        QFileDialog, "getSaveFileName", lambda *_: (str(out), "GeoJSON (*.geojson)")
    )
    widget._form.export.click()
    (car,) = read_cars(out.with_suffix(".geojson"))
    assert car.heading_cw_from_up_deg == widget.cars.cars[0].heading_cw_from_up_deg
    assert car.extra["street"] == "Elm"
    assert car.source.startswith("tiny ")


def test_box_deleted_by_hand_is_not_exported(viewer, widget, press, pixels, tmp_path):
    viewer.add_image(pixels, rgb=True)
    viewer.add_points(PLACES)
    press()
    boxes = layer_with_role(viewer, "car boxes")
    boxes.selected_data = {0}
    boxes.remove_selected()
    for name in ("cars.csv", "cars.txt", "cars.xml"):
        widget.export(str(tmp_path / name))
        assert sentence_of(widget) == ""
        places = [(car.cy, car.cx) for car in read_cars(tmp_path / name)]
        np.testing.assert_allclose(places, PLACES[1:], atol=1e-3)


def test_plane_in_view_of_a_stack_is_used(viewer, widget, press, pixels):
    viewer.add_image(np.stack([pixels, pixels[::-1]])[..., 0])
    viewer.add_points([(0, 40, 30), (1, 20, 60)])
    viewer.dims.set_current_step(0, 1)
    press()
    (corners,) = layer_with_role(viewer, "car boxes").data
    np.testing.assert_allclose(corners.mean(0), (1, 20, 60), atol=1e-6)


def test_stop_leaves_the_widget_ready(viewer, widget, pixels, qtbot):
    viewer.add_image(pixels, rgb=True)
    places = np.random.default_rng(1).uniform(5, 85, (2000, 2))
    viewer.add_points(places)
    widget.start()
    assert not widget._form.start.isEnabled()
    qtbot.waitUntil(lambda: widget._bar.job.report.total > 0, timeout=WAIT)
    widget._bar.stop()
    qtbot.waitUntil(lambda: not widget.is_running, timeout=WAIT)
    assert widget._form.start.isEnabled()
    assert widget.error is None


def test_copied_python_makes_the_same(viewer, widget, press, pixels, tmp_path):
    imageio.imwrite(tmp_path / "town.png", pixels)
    viewer.open(tmp_path / "town.png", plugin="napari")
    viewer.add_points(PLACES)
    press()
    widget._copy.python.click()
    code = QApplication.clipboard().text()
    code += "print(*(car.heading_cw_from_up_deg for car in result))\n"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    again = [float(word) for word in done.stdout.split()]
    found = [car.heading_cw_from_up_deg for car in widget.cars]
    np.testing.assert_allclose(again, found, atol=0.05)


@pytest.mark.parametrize(
    ("origin", "advice"),
    [("layer", "add a Points layer"), ("file", "choose a file"), ("find", "no model")],
)
def test_missing_cars_are_said_in_a_sentence(
    viewer, widget, press, pixels, origin, advice, monkeypatch
):
    monkeypatch.setattr(widget._form.finder, "model", lambda: None)
    viewer.add_image(pixels, rgb=True)
    widget._form.set_origin(origin)
    press()
    assert advice in sentence_of(widget)


def test_without_a_model_it_says_what_to_do(viewer, pixels, qtbot, monkeypatch):
    monkeypatch.setattr("napari_roteq._parts.model_choice.shipped_models", dict)
    viewer.add_image(pixels, rgb=True)
    widget = HeadingWidget(viewer)
    qtbot.addWidget(widget)
    widget.start()
    assert "open a model file" in sentence_of(widget)


def test_without_an_image_it_says_what_to_do(widget, press):
    press()
    assert "open one" in sentence_of(widget)


def test_cars_are_found_unless_the_user_has_some(viewer, widget, pixels):
    form = widget._form
    assert form.origin() == "find"
    viewer.add_points(PLACES)
    assert form.origin() == "layer"
    form.set_origin("file")
    viewer.add_points(PLACES)
    assert form.origin() == "file"


def test_closing_the_widget_stops_the_run(viewer, widget, pixels, qtbot):
    viewer.add_image(pixels, rgb=True)
    viewer.add_points(PLACES)
    widget.start()
    job = widget._bar.job
    viewer.window.remove_dock_widget(widget)
    qtbot.waitUntil(lambda: not job.is_running, timeout=WAIT)
    viewer.add_points(PLACES)  # tells no widget that is gone


def test_cars_are_really_found(viewer, widget, press):
    scene = FOLDER / "aerial_scene.png"
    part = imageio.imread(scene)[20:220, 380:580]
    truth = [
        (car.cx - 380, car.cy - 20)
        for car in read_cars(FOLDER / "aerial_cars.csv")
        if 400 < car.cx < 560 and 40 < car.cy < 200
    ]
    viewer.add_image(part, rgb=True)
    widget.set_value(replace(widget.value(), car_length_px=36.6))
    assert widget._form.origin() == "find"
    press()
    assert sentence_of(widget) == ""
    found = np.array([(car.cx, car.cy) for car in widget.cars])
    near = [np.hypot(*(found - place).T).min() < 12 for place in truth]
    assert len(truth) == 7
    assert sum(near) >= 5
    assert all(car.score is not None for car in widget.cars)
    assert all(car.heading_cw_from_up_deg is not None for car in widget.cars)


def test_cars_are_handed_over_to_the_review(viewer, widget, press, pixels, tmp_path):
    image = tmp_path / "town.png"
    imageio.imwrite(image, pixels)
    viewer.open(image, plugin="napari")
    viewer.add_points(PLACES)
    press()
    widget._form.review.click()
    review = widget.review()
    assert review._page.boxes.layer() is layer_with_role(viewer, "car boxes")
    review.start()
    assert review.error is None
    assert review.queue.path == tmp_path / "town_cars.csv"
    before = review.queue.car()
    review.run("flip")
    review.close_review()
    (flipped,) = [car for car in widget.cars if car.status == "edited"]
    assert (flipped.cx, flipped.cy) == (before.cx, before.cy)
    turned = (before.heading_cw_from_up_deg + 180) % 360
    assert flipped.heading_cw_from_up_deg == pytest.approx(turned)


def rows_of(widget, header):
    """Give the texts of a column of the table, as shown."""
    model = widget._form.table.model()
    titles = [
        model.headerData(k, Qt.Orientation.Horizontal)
        for k in range(model.columnCount())
    ]
    place = titles.index(header)
    return [model.index(row, place).data() for row in range(model.rowCount())]


def test_rows_and_arrows_follow_a_review(
    viewer, widget, press, pixels, tmp_path, qtbot
):
    imageio.imwrite(tmp_path / "town.png", pixels)
    viewer.open(tmp_path / "town.png", plugin="napari")
    viewer.add_points(PLACES)
    press()
    arrows = layer_with_role(viewer, "car headings")
    headings, lines = rows_of(widget, "Heading"), np.array(arrows.data)
    rose = widget._form.rose.summary()
    review = widget.review()
    review.start()
    review.run("flip")
    review.run("next")
    review.run("reject")
    review.close_review()
    qtbot.waitUntil(lambda: "edited" in rows_of(widget, "Status"), timeout=WAIT)
    assert sorted(rows_of(widget, "Status")) == ["edited", "machine", "rejected"]
    row = rows_of(widget, "Status").index("edited")
    flipped = widget.cars.cars[row].heading_cw_from_up_deg
    assert rows_of(widget, "Heading")[row] == f"{flipped:.0f}°" != headings[row]
    assert widget._form.rose.summary() != rose
    np.testing.assert_allclose(arrows.data[row, 1], -lines[row, 1], atol=1e-6)
    widget._form.table.selectRow(row)
    assert set(layer_with_role(viewer, "car boxes").selected_data) == {row}


def test_rows_follow_boxes_that_are_changed_by_hand(
    viewer, widget, press, pixels, qtbot
):
    viewer.add_image(pixels, rgb=True)
    viewer.add_points(PLACES)
    press()
    boxes, table = layer_with_role(viewer, "car boxes"), widget._form.table
    boxes.selected_data = {0}
    boxes.remove_selected()
    qtbot.waitUntil(lambda: table.model().rowCount() == 2, timeout=WAIT)
    assert len(layer_with_role(viewer, "car headings").data) == 2
    table.selectRow(1)
    (corners,) = [boxes.data[k] for k in boxes.selected_data]
    np.testing.assert_allclose(corners.mean(0), PLACES[2], atol=1e-6)
    drawn = np.roll(boxes.data[1], 2, axis=0)  # front and rear swapped
    boxes.data = [boxes.data[0], drawn]
    qtbot.waitUntil(
        lambda: (
            rows_of(widget, "Heading")
            == [f"{car.heading_cw_from_up_deg:.0f}°" for car in widget.cars]
        ),
        timeout=WAIT,
    )
    boxes.add_paths(np.array([(1, 1), (5, 5)]))  # no box: the rows stay
    qtbot.wait(50)
    assert table.model().rowCount() == 2
    viewer.layers.remove(layer_with_role(viewer, "car headings"))
    boxes.selected_data = {1, 2}
    boxes.remove_selected()
    qtbot.waitUntil(lambda: table.model().rowCount() == 1, timeout=WAIT)
    assert sentence_of(widget) == ""


def test_command_needs_cars_in_a_file(viewer, widget, press, pixels, tmp_path):
    imageio.imwrite(tmp_path / "town.png", pixels)
    viewer.open(tmp_path / "town.png", plugin="napari")
    viewer.add_points(PLACES)
    press()
    widget._copy.command.click()
    assert "export them" in sentence_of(widget)


def test_finding_with_other_options_takes_two_commands(viewer, model, tmp_path):
    image = viewer.add_image(np.zeros((9, 9)), metadata={"path": "town.png"})
    finding, chosen = FindOptions(threshold=0.5), choose_model(model)
    plain = find_recipe(image, finding, OrientOptions(), chosen).as_cli()
    assert plain == "roteq find-cars town.png --output town_cars.csv --threshold 0.5"
    other = find_recipe(image, finding, OrientOptions(copies=2), chosen).as_cli()
    first, second = other.split(" && ")
    assert first == plain + " --no-orient"
    files = "town.png town_cars.csv --output town_cars.csv"
    assert second == f"roteq orient {files} --copies 2"
