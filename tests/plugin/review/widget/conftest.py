"""The review in a real viewer: a scene, the widget, keys and mouse."""

import sys
from pathlib import Path

import numpy as np
import pytest
from qtpy.QtCore import QEvent, QPointF, Qt
from qtpy.QtGui import QMouseEvent
from qtpy.QtWidgets import QApplication

from napari_roteq._review.keys import reset_keys

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
    kinds = QEvent.Type
    button, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton

    def send(kind, place, held, modifier):
        # A place is looked up as late as can be: the canvas may change its size.
        at = on_canvas(viewer, widget, *place)
        local, where = QPointF(at), QPointF(canvas.mapToGlobal(at))
        event = QMouseEvent(kind, local, where, button, held, modifier)
        QApplication.sendEvent(canvas, event)

    def move(place, held, modifier):
        qtbot.wait(15)  # faster movements are dropped
        send(kinds.MouseMove, place, held, modifier)

    def rest(place, held, modifier):
        """Stay until the viewer sees the pointer there: busy machines drop moves."""

        def has_arrived():
            move(place, held, modifier)
            there = widget.review.frame.to_world(*place)
            away = np.subtract(viewer.cursor.position[-2:], there)
            return np.abs(away).max() * viewer.scene.camera.zoom < 1.5  # of the canvas

        qtbot.waitUntil(has_arrived, timeout=30_000)

    def drag(
        start,
        end,
        modifier=Qt.KeyboardModifier.NoModifier,
        steps=4,
        meanwhile=(-1, None),
    ):
        """Drag; `meanwhile` says after how many moves something else happens."""
        settle(widget)
        # Nothing else happens between resting and pressing or releasing, so that both
        # are where they should be.
        rest(start, none, modifier)
        send(kinds.MouseButtonPress, start, button, modifier)
        if start != end:
            for i, place in enumerate(np.linspace(start, end, steps + 1)[1:]):
                if i == meanwhile[0]:
                    meanwhile[1]()
                move(place, button, modifier)
            rest(end, button, modifier)
        send(kinds.MouseButtonRelease, end, none, modifier)
        settle(widget)

    return drag


@pytest.fixture
def press_start():
    def press_start(widget):
        widget._page.start.click()
        assert widget.error is None
        settle(widget)

    return press_start
