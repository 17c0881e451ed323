"""Let napari free what a removed layer was drawn with where it was made.

napari 0.9 deletes the OpenGL programs of a removed layer in the context that happens to
be current, after a frame that of Qt's window. Drawing by software then ends the viewer
with a segmentation fault when the canvas is drawn next.
"""

from __future__ import annotations

from typing import Any

from qtpy.QtOpenGLWidgets import QOpenGLWidget
from qtpy.QtWidgets import QMainWindow, QWidget

from napari_roteq._parts.connections import connect_while_alive


class CanvasGuard:
    """Makes the canvas current whenever a layer is about to be removed.

    Parameters
    ----------
    owner : QWidget
        A part of the viewer's window; the guard ends with it.
    viewer : Viewer
    """

    def __init__(self, owner: QWidget, viewer: Any) -> None:
        self._owner = owner
        self._canvas: QOpenGLWidget | None = None
        events = viewer.layers.events
        connect_while_alive(owner, events.inserted, self._on_inserted)
        connect_while_alive(owner, events.removing, self._on_removing)

    def _on_inserted(self, _event: Any) -> None:
        # Later the owner may have been taken out of the window.
        self._canvas = canvas_around(self._owner) or self._canvas

    def _on_removing(self, event: Any) -> None:
        self._on_inserted(event)
        try:
            if self._canvas is not None and self._canvas.isValid():
                self._canvas.makeCurrent()
        except RuntimeError:  # Qt has deleted it with its window
            self._canvas = None


def canvas_around(part: QWidget) -> QOpenGLWidget | None:
    """Give the canvas of the viewer that a widget is docked in."""
    window: Any = part
    while window is not None and not isinstance(window, QMainWindow):
        window = window.parentWidget()
    central = None if window is None else window.centralWidget()
    return None if central is None else central.findChild(QOpenGLWidget)
