"""The review in a real viewer: keys, buttons, mouse, crash, files, time."""

import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from qtpy.QtCore import QEvent, QPoint, QPointF, Qt
from qtpy.QtGui import QMouseEvent
from qtpy.QtWidgets import QApplication, QFileDialog

from napari_roteq._car_shapes import TABLE
from napari_roteq._journal import journal_path
from napari_roteq._review_export import TRAINING_SET
from napari_roteq._review_keys import COMMANDS, reset_keys
from roteq_core import angles
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

sys.path.insert(0, str(Path(__file__).parent))
import review_scene

WAIT = 300_000  # milliseconds; generous, nothing waits that long when all is well
FLIPPED = (2, 3, 7, 11, 16)
KEYS = {
    "Space": Qt.Key.Key_Space,
    "Left": Qt.Key.Key_Left,
    "Right": Qt.Key.Key_Right,
    "Delete": Qt.Key.Key_Delete,
    "Escape": Qt.Key.Key_Escape,
}


@pytest.fixture(autouse=True)
def own_files(tmp_path, monkeypatch):
    """Keep what is remembered between sessions in the test's folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "remembered"))
    reset_keys()
    yield
    reset_keys()


@pytest.fixture
def viewer(make_napari_viewer):
    """Give a viewer whose window is not shown, which saves most of the time."""
    viewer = make_napari_viewer()
    viewer.window.resize(1280, 720)
    return viewer


@pytest.fixture
def open_widget(viewer):
    """Open the widget through the manifest."""

    def open_widget():
        _, widget = viewer.window.add_plugin_dock_widget(
            "napari-roteq", "Review headings"
        )
        return widget

    return open_widget


@pytest.fixture
def scene(viewer, tmp_path):
    """Open an image of twenty cars, five of them flipped, and their table."""
    image, table = review_scene.write_scene(tmp_path, FLIPPED)
    viewer.open(image)
    viewer.open(table, plugin="napari-roteq")
    return table


@pytest.fixture
def widget(scene, open_widget, qtbot):
    """Give the widget with the review of the scene begun."""
    widget = open_widget()
    widget._page.reviewer.setText("ann")
    widget._page.start.click()
    assert widget.error is None
    settle(widget)
    return widget


@pytest.fixture
def press(viewer, widget, qtbot):
    """Press a key on the canvas, as "Shift+Left"."""
    canvas = viewer.window._qt_viewer.canvas.native

    def press(*keys):
        for key in keys:
            *modifiers, name = key.split("+")
            modifier = Qt.KeyboardModifier.NoModifier
            for each in modifiers:
                named = {"Ctrl": "ControlModifier", "Shift": "ShiftModifier"}[each]
                modifier |= getattr(Qt.KeyboardModifier, named)
            code = KEYS.get(name) or getattr(Qt.Key, f"Key_{name}")
            qtbot.keyClick(canvas, code, modifier)
            settle(widget)

    return press


def settle(widget):
    """Let the viewer draw."""
    for _ in range(3):
        QApplication.processEvents()
    if widget.review is not None:
        widget.review.draw()


def on_canvas(viewer, widget, x, y):
    """Give the point of the canvas where a pixel of the image is."""
    row, column = widget.review.frame.to_world(x, y)
    camera, size = viewer.scene.camera, viewer.canvas.size
    down = (row - camera.center[-2]) * camera.zoom + size[0] / 2
    right = (column - camera.center[-1]) * camera.zoom + size[1] / 2
    return QPoint(round(right), round(down))


@pytest.fixture
def drag(viewer, widget, qtbot):
    """Drag the mouse over the canvas between places of the image."""
    canvas = viewer.window._qt_viewer.canvas.native
    kinds, button = QEvent.Type, Qt.MouseButton.LeftButton

    def send(kind, at, held, modifier):
        qtbot.wait(15)  # faster movements are dropped
        local, where = QPointF(at), QPointF(canvas.mapToGlobal(at))
        event = QMouseEvent(kind, local, where, button, held, modifier)
        QApplication.sendEvent(canvas, event)

    def drag(start, end, modifier=Qt.KeyboardModifier.NoModifier, steps=4):
        settle(widget)
        first, last = (on_canvas(viewer, widget, *at) for at in (start, end))
        send(kinds.MouseMove, first, Qt.MouseButton.NoButton, modifier)
        send(kinds.MouseButtonPress, first, button, modifier)
        for i in range(1, steps + 1):
            if first != last:
                at = first + (last - first) * (i / steps)
                send(kinds.MouseMove, at, button, modifier)
        send(kinds.MouseButtonRelease, last, Qt.MouseButton.NoButton, modifier)
        settle(widget)

    return drag


def by_id(table):
    return {car.id: car for car in table}


def test_planted_flips_are_found_from_the_keyboard(scene, widget, press):
    before = by_id(read_cars(scene))
    for _ in range(20):
        if review_scene.looks_flipped(widget._panel.loupe):
            press("F")
            assert not review_scene.looks_flipped(widget._panel.loupe)
        press("Space")
    stats = widget.queue.stats()
    assert (stats.done, stats.left, stats.flips_found) == (20, 0, 5)
    widget._panel.save.click()
    after = by_id(read_cars(scene))
    for i, (car_id, car) in enumerate(after.items()):
        is_flipped = i in FLIPPED
        assert car.status == (EDITED if is_flipped else ACCEPTED)
        assert car.reviewer == "ann"
        machine = before[car_id].heading_cw_from_up_deg
        assert car.machine_heading_cw_from_up_deg == machine
        expected = (machine + 180.0 * is_flipped) % 360
        assert car.heading_cw_from_up_deg == pytest.approx(expected)
    assert not journal_path(scene).exists()


def test_every_key_does_what_its_button_does(widget, press):
    queue = widget.queue
    first = queue.current
    heading = queue.car().heading_cw_from_up_deg
    for key, button, turn in (
        ("Right", "right_1", 1),
        ("Left", "left_1", -1),
        ("Shift+Right", "right_10", 10),
        ("Shift+Left", "left_10", -10),
    ):
        press(key)
        widget._panel.buttons[button].click()
        turned = (heading + 2 * turn) % 360
        assert queue.car(first).heading_cw_from_up_deg == pytest.approx(turned)
        press("Ctrl+Z", "Ctrl+Z")
        assert queue.car(first).heading_cw_from_up_deg == heading
    press("X")
    assert queue.car(first).status == REJECTED
    assert queue.current != first
    press("P")
    assert queue.current == first
    press("X")
    assert queue.car(first).status == MACHINE
    press("N", "P", "Ctrl+Z", "Ctrl+Shift+Z", "Ctrl+Z")
    assert queue.car(first).status == REJECTED
    press("Delete")
    assert queue.find(first) is None
    widget._panel.buttons["undo"].click()
    assert queue.current == first


def test_heading_is_typed(viewer, widget, press, qtbot):
    press("H")
    spin = widget._panel.heading
    window = spin.window()
    assert window.focusWidget() in (spin, spin.lineEdit())
    qtbot.keyClicks(spin.lineEdit(), "123.5")
    qtbot.keyClick(spin.lineEdit(), Qt.Key.Key_Return)
    assert widget.queue.car().heading_cw_from_up_deg == 123.5
    assert "edited" in widget._panel.facts.text()
    assert "ann" in widget._panel.facts.text()
    assert window.focusWidget() not in (spin, spin.lineEdit())


def test_view_goes_to_each_car_and_zooms_to_fit(viewer, widget, press):
    for _ in range(3):
        press("N")
        car = widget.queue.car()
        center = viewer.scene.camera.center
        np.testing.assert_allclose(center[-2:], (car.cy, car.cx), atol=1e-6)
        shown = min(viewer.canvas.size) / viewer.scene.camera.zoom
        assert 4 * car.length < shown < 10 * car.length
    widget._panel.follow.setCurrentText("Go to each car, keep my zoom")
    viewer.scene.camera.zoom = 1.25
    press("N")
    assert viewer.scene.camera.zoom == pytest.approx(1.25)


def test_keys_are_shown_changed_and_kept(viewer, widget, press, open_widget):
    panel = widget._panel
    for name, button in panel.buttons.items():
        assert COMMANDS[name].label in button.text()
    assert "[F]" in panel.buttons["flip"].text()
    edit = panel.keys.edits["flip"]
    edit.setKeySequence("G")
    edit.editingFinished.emit()
    assert "[G]" in panel.buttons["flip"].text()
    before = widget.queue.car().heading_cw_from_up_deg
    press("F")
    assert widget.queue.car().heading_cw_from_up_deg == before
    press("G")
    turned = (before + 180) % 360
    assert widget.queue.car().heading_cw_from_up_deg == pytest.approx(turned)
    edit.setKeySequence("Space")
    edit.editingFinished.emit()
    assert "free" in panel.message.text()
    from napari_roteq._review_keys import read_keys

    assert read_keys()["flip"] == "G"


def test_keys_are_given_back(viewer, widget, press, qtbot):
    viewer.window.show()
    canvas = viewer.window._qt_viewer.canvas.native
    seen = []
    queue = widget.queue
    widget.close_review()
    viewer.bind_key("F", lambda _: seen.append("own"), overwrite=True)
    qtbot.keyClick(canvas, Qt.Key.Key_F)
    assert seen == ["own"]
    assert queue.stats().done == 0
    widget.start()
    settle(widget)
    press("F")
    assert seen == ["own"]
    assert widget.queue.stats().edited == 1
    viewer.window.remove_dock_widget(widget)
    QApplication.processEvents()
    viewer.layers.selection.active = None
    qtbot.keyClick(canvas, Qt.Key.Key_F)
    assert seen == ["own", "own"]


def test_dragging_from_tail_to_head_sets_a_heading(widget, drag, press):
    car = widget.queue.car()
    press("D")
    drag((car.cx - 15, car.cy + 15), (car.cx + 15, car.cy - 15))
    after = widget.queue.car(car.id)
    assert after.heading_cw_from_up_deg == pytest.approx(45, abs=3)
    assert (after.status, after.cx) == (EDITED, car.cx)
    press("Escape")
    shift = Qt.KeyboardModifier.ShiftModifier
    drag((car.cx, car.cy - 20), (car.cx, car.cy + 20), shift)
    turned = widget.queue.car(car.id).heading_cw_from_up_deg
    assert turned == pytest.approx(180, abs=3)
    press("Ctrl+Z", "Ctrl+Z")
    assert widget.queue.car(car.id) == car


def test_clicking_a_car_goes_to_it(viewer, widget, drag):
    viewer.reset_view()
    other = next(c for c in widget.queue.cars() if c.id != widget.queue.current)
    drag((other.cx, other.cy), (other.cx, other.cy))
    assert widget.queue.current == other.id


def test_edits_by_handles_are_undone_and_redone(viewer, widget, press, drag):
    queue = widget.queue
    car = queue.car()
    press("E")
    box = widget.review.layers.box
    assert box.mode == "select"
    drag((car.cx, car.cy), (car.cx + 12, car.cy + 5))
    moved = queue.car(car.id)
    assert moved.cx == pytest.approx(car.cx + 12, abs=2)
    assert moved.heading_cw_from_up_deg == car.heading_cw_from_up_deg
    assert moved.status == EDITED
    row, column = box._selected_box[9][-2:]  # the handle that turns
    angle = np.arctan2(row - moved.cy, column - moved.cx) + np.radians(30)
    reach = np.hypot(row - moved.cy, column - moved.cx)
    end = moved.cx + reach * np.cos(angle), moved.cy + reach * np.sin(angle)
    drag((column, row), end, steps=8)
    turned = queue.car(car.id)
    change = (turned.heading_cw_from_up_deg - car.heading_cw_from_up_deg) % 360
    assert change == pytest.approx(30, abs=6)
    assert turned.machine_heading_cw_from_up_deg == car.heading_cw_from_up_deg
    press("Ctrl+Z", "Ctrl+Z")
    assert queue.car(car.id) == car
    corners = widget.review.layers.corners(0)
    np.testing.assert_allclose(corners.mean(0), (car.cx, car.cy), atol=1e-6)
    press("Ctrl+Shift+Z", "Ctrl+Shift+Z")
    assert queue.car(car.id) == turned
    corners = widget.review.layers.corners(0)
    np.testing.assert_allclose(corners.mean(0), (turned.cx, turned.cy), atol=1e-3)


def test_rectangles_drawn_and_deleted_with_napari_s_tools_count(widget, press):
    queue, box = widget.queue, widget.review.layers.box
    queue_length = len(queue)
    first = queue.current
    widget._page.model.model = lambda: None
    corners = np.array([(300, 300), (340, 300), (340, 318), (300, 318)])
    box.add(corners, shape_type="rectangle")
    settle(widget)
    assert len(queue) == queue_length + 1
    added = queue.car()
    assert (added.status, added.length, added.width) == (AXIS_ONLY, 40, 18)
    assert "draw one" in widget._panel.message.text()
    queue.go_to(first)
    settle(widget)
    box.selected_data = {0}
    box.remove_selected()
    settle(widget)
    assert queue.find(first) is None
    press("Ctrl+Z")
    assert queue.find(first) is not None


def test_missed_car_is_added_and_its_heading_predicted(widget, press, drag, qtbot):
    assert widget._page.model.model() is not None
    count = len(widget.queue)
    press("C")
    drag((380, 60), (380, 60))
    assert len(widget.queue) == count + 1
    qtbot.waitUntil(lambda: not widget.is_running, timeout=WAIT)
    assert widget.error is None
    car = widget.queue.car()
    assert (car.cx, car.cy) == (pytest.approx(380, abs=2), pytest.approx(60, abs=2))
    assert car.status == MACHINE
    assert car.heading_cw_from_up_deg == car.machine_heading_cw_from_up_deg
    assert car.heading_sd_deg is not None
    drag((380, 160), (380, 120))
    qtbot.waitUntil(lambda: not widget.is_running, timeout=WAIT)
    car = widget.queue.car()
    assert abs(angles.difference(car.heading_cw_from_up_deg, 0, 360)) < 3
    assert car.status == EDITED
    assert car.machine_heading_cw_from_up_deg is not None


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
    assert "has changed on disk" in question.text
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


@pytest.fixture
def press_start():
    def press_start(widget):
        widget._page.start.click()
        assert widget.error is None
        settle(widget)

    return press_start


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


def test_order_and_filter(widget, press):
    panel, queue = widget._panel, widget.queue
    from napari_roteq._review_order import expected_error_deg

    errors = [expected_error_deg(queue.car(i)) for i in queue.ids]
    assert errors == sorted(errors, reverse=True)
    press("Space", "F")
    panel.queue.order.setCurrentText("Reading order")
    assert queue.current == "c00"
    panel.queue.shown.setCurrentText("To do")
    assert len(queue.ids) == 18
    panel.queue.shown.setCurrentText("Edited")
    assert len(queue.ids) == 1
    panel.queue.shown.setCurrentText("All cars")
    panel.queue.order.setCurrentText("Random sample")
    panel.queue.sample.setValue(5)
    panel.queue.sample.editingFinished.emit()
    assert len(queue.ids) == 5
    panel.queue.table.selectRow(3)
    assert queue.current == queue.ids[3]


def test_second_reviewer_is_compared_and_disagreements_are_gone_to(
    widget, press, tmp_path
):
    others = list(widget.queue.table)
    flipped = others[3].with_heading(others[3].heading_cw_from_up_deg + 175)
    others[3] = flipped
    write_cars(CarTable((*others[:-1], Car(500, 20, 40, 18, 5))), tmp_path / "b.csv")
    view = widget._panel.agreement
    agreement = view.compare(str(tmp_path / "b.csv"))
    assert (agreement.flips, agreement.compared) == (1, 19)
    assert "mean difference <b>9.2°" in view.summary.text()
    assert view.list.count() == 3
    view.list.setCurrentRow(0)
    assert widget.queue.current == "c03"
    view.list.setCurrentRow(2)  # theirs alone: nothing to review, but to see
    settle(widget)


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
    from roteq_core.train_cars import frames_from_files

    press("X", "F", "Space", "Space")
    widget.export(str(tmp_path / "set"), TRAINING_SET)
    assert "2 reviewed cars" in widget._panel.message.text()
    frames = frames_from_files([tmp_path / "scene.png"], tmp_path / "set")
    assert frames.count == 2


def many_cars(count, folder):
    table = review_scene.cars(count, columns=int(count**0.5) + 1)
    cars = [car.with_heading(car.heading_cw_from_up_deg, id="") for car in table]
    write_cars(CarTable(tuple(cars)), folder / "many.csv")
    return folder / "many.csv"


@pytest.mark.parametrize("count", [1000, 10_000])
def test_a_step_takes_less_than_a_tenth_of_a_second(
    viewer, open_widget, tmp_path, qtbot, press_start, count
):
    path = many_cars(count, tmp_path)
    side = 80 * (int(count**0.5) + 2)
    viewer.add_image(np.zeros((side, side), np.uint8), name="plain")
    widget = open_widget()
    widget._page.open_table(str(path))
    press_start(widget)
    canvas = viewer.window._qt_viewer.canvas.native
    steps = []
    for key in [Qt.Key.Key_Space, Qt.Key.Key_F, Qt.Key.Key_N] * 3:
        QApplication.processEvents()
        start = time.thread_time()
        qtbot.keyClick(canvas, key)
        widget.review.draw()
        widget._panel.loupe.grab()  # paints it, and not the whole window
        steps.append(time.thread_time() - start)
    assert widget.queue.stats().done >= 3
    assert np.median(steps) < 0.1
    viewer.reset_view()
    settle(widget)
    assert len(widget.review.layers.dots.data) == count
    assert len(widget.review.layers.arrows.data) <= 301


def test_without_anything_it_says_what_to_do(open_widget):
    widget = open_widget()
    widget._page.start.click()
    assert "choose boxes" in widget.error.sentence
    widget._page.open_table("/nowhere/cars.csv")
    widget._page.start.click()
    assert "no such table" in widget.error.sentence


def test_no_box_of_the_widget_takes_the_keys(widget):
    focused = widget.window().focusWidget()
    assert focused is None or not widget.isAncestorOf(focused)


def test_removing_a_layer_of_the_review_closes_it(viewer, scene, widget, press):
    press("F")
    viewer.layers.remove(widget.review.layers.box)
    settle(widget)
    assert widget.review is None
    assert [layer.name for layer in viewer.layers] == ["scene", "cars"]
    assert "1 action until" in widget._page.offer.text


def test_table_of_other_images_is_refused(viewer, open_widget, tmp_path):
    image, table = review_scene.write_scene(tmp_path)
    cars = (Car(60, 60, 40, 18, 10, file="a.png"), Car(9, 9, 4, 2, 1, file="b.png"))
    write_cars(CarTable(cars), table)
    viewer.open(image)
    widget = open_widget()
    widget._page.open_table(str(table))
    widget._page.start.click()
    assert "must name the image scene.png" in widget.error.sentence
    assert widget.review is None


def test_heading_without_a_direction_is_explained(
    viewer, open_widget, tmp_path, press_start
):
    image, table = review_scene.write_scene(tmp_path)
    write_cars(CarTable((Car(100, 100), Car(60, 60, 40, 18, 10))), table)
    viewer.open(image)
    widget = open_widget()
    widget._page.open_table(str(table))
    press_start(widget)
    assert widget.queue.current == "car-00001"
    widget.run("accept")
    assert "no heading yet" in widget.error.sentence
    assert widget.queue.stats().done == 0
