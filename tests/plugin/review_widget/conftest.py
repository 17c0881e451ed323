"""The review in a real viewer: a scene, the widget, keys and mouse."""

import sys
from pathlib import Path

import numpy as np
import pytest
from qtpy.QtCore import QEvent, QPointF, Qt
from qtpy.QtGui import QMouseEvent
from qtpy.QtWidgets import QApplication

from napari_roteq._review_keys import reset_keys

sys.path.insert(0, str(Path(__file__).parent))
import review_scene
from review_scene import FLIPPED, on_canvas, settle

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

    def rest(end, modifier):
        """Stay until the viewer has seen the pointer: busy machines drop moves."""
        row, column = widget.review.frame.to_world(*end)

        def has_arrived():
            at = on_canvas(viewer, widget, *end)
            send(kinds.MouseMove, at, button, modifier)
            away = np.subtract(viewer.cursor.position[-2:], (row, column))
            return np.abs(away).max() * viewer.scene.camera.zoom < 1.5  # of the canvas

        qtbot.waitUntil(has_arrived, timeout=30_000)

    def drag(start, end, modifier=Qt.KeyboardModifier.NoModifier, steps=4):
        settle(widget)
        # Places are looked up anew each time: the canvas may change its size meanwhile.
        path = np.linspace(start, end, steps + 1)
        first, last = (on_canvas(viewer, widget, *at) for at in (start, end))
        send(kinds.MouseMove, first, Qt.MouseButton.NoButton, modifier)
        send(kinds.MouseButtonPress, first, button, modifier)
        if first != last:
            for x, y in path[1:]:
                at = on_canvas(viewer, widget, x, y)
                send(kinds.MouseMove, at, button, modifier)
            rest(end, modifier)
        last = on_canvas(viewer, widget, *end)
        send(kinds.MouseButtonRelease, last, Qt.MouseButton.NoButton, modifier)
        settle(widget)

    return drag


@pytest.fixture
def press_start():
    def press_start(widget):
        widget._page.start.click()
        assert widget.error is None
        settle(widget)

    return press_start
