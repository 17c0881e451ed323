"""Tell when the view of a viewer has moved, once it has come to rest."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import QObject, QTimer, Signal  # type: ignore[attr-defined]

from napari_roteq._parts.connections import connect_while_alive

_REST = 120  # milliseconds without movement


class ViewFollower(QObject):
    """Watch the camera and the sliders of a viewer.

    Parameters
    ----------
    viewer : Viewer
        Whose view.
    parent : QObject
        The widget it serves and ends with.
    """

    stepped = Signal()  # another plane came into view: at once
    rested = Signal()  # the view moved and has come to rest

    def __init__(self, viewer: Any, parent: QObject) -> None:
        super().__init__(parent)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_REST)
        self._timer.timeout.connect(self.rested)
        scene = viewer.scene if hasattr(viewer, "scene") else viewer  # napari < 0.9
        for event in (scene.camera.events.zoom, scene.camera.events.center):
            connect_while_alive(self, event, self._on_moved)
        connect_while_alive(self, viewer.dims.events.current_step, self._on_stepped)

    def _on_moved(self, event: Any = None) -> None:
        self._timer.start()

    def _on_stepped(self, event: Any = None) -> None:
        self.stepped.emit()
        self._timer.start()
