"""What becomes of tables and boxes: crashes, conflicts, saving, exports."""

import subprocess
import sys
import textwrap
from dataclasses import replace

import pytest
import review_scene
from qtpy.QtWidgets import QFileDialog
from review_scene import FLIPPED, by_id, settle

from napari_roteq._car_shapes import TABLE
from napari_roteq._review.export import TRAINING_SET
from napari_roteq._review.journal import journal_path
from roteq_core.tables import (
    ACCEPTED,
    AXIS_ONLY,
    EDITED,
    MACHINE,
    REJECTED,
    Car,
    CarTable,
    read_cars,
    write_cars,
)


def test_killed_viewer_loses_nothing(viewer, open_widget, tmp_path, qtbot):
    image, table = review_scene.write_scene(tmp_path, FLIPPED)
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CRASHING), str(image), str(table)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        said = child.stdout.readline().split()
        assert said[:1] == ["waiting"]
    finally:
        child.kill()
        child.wait()
    assert child.returncode == -9
    assert journal_path(table).exists()
    widget = open_widget()
    offer = widget._page.offer
    assert "cars.csv by bob was not saved: 6 actions" in offer.text
    offer.buttons["Go on"].click()
    settle(widget)
    assert widget.error is None
    assert "scene" in viewer.layers
    queue = widget.queue
    first, second, third, fourth = said[1:5]
    assert queue.car(first).status == ACCEPTED
    assert queue.car(second).status == EDITED
    assert queue.car(third).status == REJECTED
    turned = queue.car(second)
    machine = turned.machine_heading_cw_from_up_deg
    change = (turned.heading_cw_from_up_deg - machine) % 360
    assert change == pytest.approx(170)
    assert queue.car(fourth).status == MACHINE  # undone
    assert queue.can_redo
    widget._panel.buttons["redo"].click()
    assert queue.car(fourth).status == ACCEPTED
    for _ in range(5):
        widget._panel.buttons["undo"].click()
    assert list(queue.table) == list(read_cars(table))


CRASHING = """
    import sys
    import napari
    from qtpy.QtCore import Qt
    from qtpy.QtTest import QTest
    from qtpy.QtWidgets import QApplication

    viewer = napari.Viewer()
    viewer.open(sys.argv[1])
    viewer.open(sys.argv[2], plugin="napari-roteq")
    _, widget = viewer.window.add_plugin_dock_widget("napari-roteq", "Review headings")
    widget._page.reviewer.setText("bob")
    widget._page.start.click()
    canvas = viewer.window._qt_viewer.canvas.native
    names = []
    def press(key, modifier=Qt.KeyboardModifier.NoModifier):
        QTest.keyClick(canvas, key, modifier)
        QApplication.processEvents()
    def note():
        names.append(widget.queue.current)
    note(); press(Qt.Key.Key_Space)
    note(); press(Qt.Key.Key_F)
    press(Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    press(Qt.Key.Key_N)
    note(); press(Qt.Key.Key_X)
    note(); press(Qt.Key.Key_Space)
    press(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    print("waiting", *names, flush=True)
    napari.run()
"""


def test_file_changed_on_disk_is_not_overwritten_without_asking(
    scene, widget, press, tmp_path, monkeypatch
):
    press("Space")
    theirs = CarTable((Car(1, 2, 3, 4, 5),))
    write_cars(theirs, scene)
    widget._panel.save.click()
    question = widget._panel.question
    assert question.text.startswith("The file cars.csv has changed on disk")
    assert len(read_cars(scene)) == 1
    question.buttons["Cancel"].click()
    assert not question.isVisible()
    widget._panel.save.click()
    copy = tmp_path / "mine.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(copy), ""))
    question.buttons["Save as …"].click()
    assert (len(read_cars(copy)), len(read_cars(scene))) == (20, 1)
    assert widget.queue.path == copy
    press("Space")
    write_cars(theirs, copy)
    widget._panel.save.click()
    question.buttons["Overwrite"].click()
    assert len(read_cars(copy)) == 20


def test_review_is_not_exported_over_its_own_table(scene, widget, press):
    press("X")
    assert widget.save()
    widget.export(str(scene), "CSV (*.csv)")
    assert "cars.csv: that is the table under review" in widget.error.sentence
    assert len(read_cars(scene)) == 20
    press("Space")
    assert widget.save()


def test_finishing_keeps_unsaved_actions_for_later(viewer, scene, widget, press):
    first = widget.queue.current
    press("F")
    boxes = viewer.layers["cars"]
    assert not boxes.visible
    widget._panel.finish.click()
    widget._panel.question.buttons["Keep for later"].click()
    assert boxes.visible
    assert [layer.name for layer in viewer.layers] == ["scene", "cars"]
    assert "1 action until" in widget._page.offer.text
    widget._page.offer.buttons["Go on"].click()
    settle(widget)
    assert widget.queue.car(first).status == EDITED
    widget._panel.save.click()
    widget._panel.finish.click()
    assert widget.review is None
    assert widget._page.offer.text == ""


def test_discarding_keeps_the_old_journal_aside(scene, widget, press, tmp_path):
    press("F")
    widget.close_review()
    widget._page.offer.buttons["Discard"].click()
    assert widget._page.offer.text == ""
    assert not journal_path(scene).exists()
    assert list(tmp_path.glob("cars.csv.review.*.jsonl"))


def test_boxes_drawn_by_hand_get_a_table_of_their_own(
    viewer, open_widget, tmp_path, press_start
):
    image, _ = review_scene.write_scene(tmp_path)
    viewer.open(image)
    corners = [(20, 20), (60, 20), (60, 36), (20, 36)]
    viewer.add_shapes([corners], shape_type="rectangle", name="mine")
    widget = open_widget()
    assert "scene_cars.csv" in widget._page.plan.text()
    press_start(widget)
    (car,) = read_cars(tmp_path / "scene_cars.csv")
    assert (car.status, car.cx, car.cy, car.length) == (AXIS_ONLY, 28, 40, 40)
    widget.run("accept")
    assert widget.queue.car().status == ACCEPTED


def test_boxes_are_reviewed_again_in_their_own_table(
    viewer, open_widget, tmp_path, press_start
):
    image, _ = review_scene.write_scene(tmp_path)
    viewer.open(image)
    corners = [(20, 20), (60, 20), (60, 36), (20, 36)]
    mine = viewer.add_shapes([corners], shape_type="rectangle", name="mine")
    widget = open_widget()
    press_start(widget)
    widget.run("flip")
    assert widget.save()
    widget.close_review()
    assert widget._page.path() == tmp_path / "scene_cars.csv"
    press_start(widget)
    assert widget.queue.car().status == EDITED
    assert not widget.queue.can_undo
    widget.close_review()
    table = review_scene.cars(3)
    mine.metadata = {**mine.metadata, TABLE: table}  # a model has filled it anew
    widget._page.choose(mine, None)
    assert widget._page.path() == tmp_path / "scene_cars-2.csv"


def test_boxes_of_another_table_are_left_alone(
    viewer, scene, open_widget, tmp_path, press_start
):
    corners = [(20, 20), (60, 20), (60, 36), (20, 36)]
    mine = viewer.add_shapes([corners], shape_type="rectangle", name="mine")
    widget = open_widget()
    widget._page.boxes.set_layer(mine)
    widget._page.open_table(str(scene))
    press_start(widget)
    widget.run("flip")
    widget.close_review()
    assert len(mine.data) == 1


def test_what_was_done_to_the_boxes_before_is_taken_over(
    viewer, scene, open_widget, press_start
):
    boxes = viewer.layers["cars"]
    data = list(boxes.data)
    data[4] = data[4] + 7.0
    boxes.data = data
    boxes.selected_data = {2}
    boxes.remove_selected()
    widget = open_widget()
    press_start(widget)
    before = by_id(read_cars(scene))
    assert widget.queue.find("c02") is None
    assert widget.queue.car("c04").cx == pytest.approx(before["c04"].cx + 7)
    assert widget.queue.car("c05") == before["c05"]


def test_exports_name_their_convention(widget, press, tmp_path):
    press("X", "F", "Space")
    for name, chosen, marks in (
        ("out_a.csv", "CSV (*.csv)", ["heading_cw_from_up_deg"]),
        ("out_b", "GeoJSON (*.geojson)", ["clockwise from up"]),
        ("out_c", "DOTA (*.txt)", ["convention"]),
        ("out_d", "YOLO-OBB (*.txt)", []),
        ("out_e", "VOC, roLabelImg (*.xml)", ["convention"]),
    ):
        widget.export(str(tmp_path / name), chosen)
        assert widget.error is None
        (file,) = [p for p in tmp_path.glob(f"{name}*") if "roteq" not in p.name]
        text = file.read_text()
        for mark in marks:
            assert mark in text
        assert len(read_cars(file)) == 19


def test_training_set_is_what_the_trainer_reads(widget, press, tmp_path):
    from roteq_core.cars.frames import frames_from_files

    press("X", "F", "Space", "Space")
    widget.export(str(tmp_path / "set"), TRAINING_SET)
    assert "2 reviewed cars" in widget._panel.message.text()
    frames = frames_from_files([tmp_path / "scene.png"], tmp_path / "set")
    assert frames.count == 2


def test_an_added_car_goes_into_the_training_set(
    viewer, open_widget, tmp_path, press_start
):
    image, path = review_scene.write_scene(tmp_path)
    cars = [replace(car, file="scene.png", label="car") for car in read_cars(path)]
    cars[3] = replace(cars[3], file="")
    write_cars(CarTable(cars), path)
    viewer.open(image)
    widget = open_widget()
    widget._page.open_table(str(path))
    widget._page.model.model = lambda: None
    press_start(widget)
    widget.review.add(Car(380, 60, 40, 18, 45.0))
    widget.queue.accept("c03")
    widget.export(str(tmp_path / "set"), TRAINING_SET)
    assert widget.error is None
    trained = read_cars(tmp_path / "set" / "scene.csv")
    assert [(car.cx, car.file, car.label) for car in trained] == [
        (cars[3].cx, "scene.png", "car"),
        (380, "scene.png", "car"),
    ]
