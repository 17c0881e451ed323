"""Keys and buttons of the review, and the view that follows them."""

import numpy as np
import pytest
import review_scene
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QApplication
from review_scene import FLIPPED, by_id, settle

from napari_roteq._review.journal import journal_path
from napari_roteq._review.keys import COMMANDS
from roteq_core.tables import (
    ACCEPTED,
    EDITED,
    MACHINE,
    REJECTED,
    Car,
    read_cars,
)


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


def test_typing_what_is_no_heading_changes_no_car(widget, press, qtbot):
    queue, box = widget.queue, widget._panel.heading
    front_unknown = queue.add(Car(300, 300, 40, 18)).changes[0].car_id
    settle(widget)
    press("H")
    qtbot.keyClicks(box.lineEdit(), "1e2")
    qtbot.keyClick(box.lineEdit(), Qt.Key.Key_Return)
    assert queue.car(front_unknown).heading_cw_from_up_deg is None
    assert "got '1e2'" in widget._panel.message.text()
    press("H")
    qtbot.keyClicks(box.lineEdit(), "-10")
    qtbot.keyClick(box.lineEdit(), Qt.Key.Key_Return)
    assert queue.car(front_unknown).heading_cw_from_up_deg == 350


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
    from napari_roteq._review.keys import read_keys

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


def test_no_box_of_the_widget_takes_the_keys(widget):
    focused = widget.window().focusWidget()
    assert focused is None or not widget.isAncestorOf(focused)
