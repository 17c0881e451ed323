"""Headings drawn, boxes moved, cars added with the mouse."""

import numpy as np
import pytest
from qtpy.QtCore import Qt
from review_scene import settle

from roteq_core import angles
from roteq_core.tables import (
    AXIS_ONLY,
    EDITED,
    MACHINE,
)

WAIT = 300_000  # milliseconds; generous, nothing waits that long when all is well


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


@pytest.mark.parametrize("moves_before", [0, 2])
def test_a_box_in_the_hand_is_not_drawn_anew(widget, press, drag, moves_before):
    press("E")
    car = widget.queue.car()
    end = car.cx + 12, car.cy + 5
    drag((car.cx, car.cy), end, meanwhile=(moves_before, widget.review.draw))
    moved = widget.queue.car(car.id)
    assert (moved.cx, moved.cy) == pytest.approx(end, abs=2)


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
