"""A matplotlib canvas in the colors of napari's theme.

A plot keeps its data and draws itself when it is seen, at most a few times a second,
however often new data comes.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_qtagg import FigureCanvasQTAgg
from matplotlib.figure import Figure
from napari.settings import get_settings
from napari.utils.theme import get_system_theme, get_theme
from qtpy.QtCore import QSize, QTimer
from qtpy.QtWidgets import QVBoxLayout, QWidget

_PAUSE = 300  # milliseconds between two drawings


class Plot(QWidget):
    """A themed matplotlib canvas; subclasses draw in `_draw`.

    Parameters
    ----------
    viewer : Viewer, optional
        Whose theme to follow; napari's setting otherwise.
    parent : QWidget, optional
        As in Qt.
    """

    projection: str | None = None
    # Left, bottom, right, top in pixels of the screen. Fixed: matplotlib's automatic
    # layouts draw everything twice, which the window would feel.
    margins = (60, 46, 10, 10)

    def __init__(self, viewer: Any = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.figure = Figure(figsize=(3.2, 2.4))
        self.canvas = FigureCanvasQTAgg(self.figure)
        self.axes: Axes = self.figure.add_subplot(projection=self.projection)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.canvas)
        self._is_stale = True
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._on_timeout)
        self._theme = _theme_name(viewer)
        if viewer is not None:
            # By method name: the connection is weak and ends with the widget.
            viewer.events.theme.connect(self._on_theme)

    def sizeHint(self) -> QSize:
        """Leave room for the form above on a small screen."""
        return QSize(280, 200)

    def set_theme(self, name: str) -> None:
        """Draw in the colors of another theme of napari."""
        self._theme = name
        self.redraw()

    def redraw(self) -> None:
        """Draw soon; many calls in a row give one drawing."""
        self._is_stale = True
        if not self._timer.isActive():
            self._timer.start(_PAUSE)

    def draw_now(self) -> None:
        """Draw at once, for pictures and tests."""
        self._is_stale = False
        self._set_margins()
        self.axes.clear()
        self._draw(self.axes)
        self._paint_theme()
        self.canvas.draw()

    def showEvent(self, event: Any) -> None:
        """Draw what has come while the plot was hidden."""
        super().showEvent(event)
        if self._is_stale:
            self.redraw()

    def resizeEvent(self, event: Any) -> None:
        """Keep the margins when the size changes."""
        super().resizeEvent(event)
        self._set_margins()

    def _set_margins(self) -> None:
        width, height = max(self.width(), 120), max(self.height(), 120)
        left, bottom, right, top = self.margins
        self.figure.subplots_adjust(
            left / width, bottom / height, 1 - right / width, 1 - top / height
        )

    def _on_timeout(self) -> None:
        if self._is_stale and self.isVisible():
            self.draw_now()

    def _on_theme(self, event: Any) -> None:
        self.set_theme(event.value)

    def _draw(self, axes: Axes) -> None:
        raise NotImplementedError

    def _paint_theme(self) -> None:
        colors = theme_colors(self._theme)
        self.figure.set_facecolor(colors["background"])
        self.axes.set_facecolor(colors["background"])
        self.axes.tick_params(colors=colors["text"], labelsize="small")
        self.axes.grid(color=colors["line"], linewidth=0.5)
        self.axes.set_axisbelow(True)
        for part in (self.axes.title, self.axes.xaxis.label, self.axes.yaxis.label):
            part.set_color(colors["text"])
            part.set_fontsize("small")
        for spine in self.axes.spines.values():
            spine.set_color(colors["line"])
        for text in self.axes.texts:
            text.set_color(colors["text"])
            if box := text.get_bbox_patch():
                box.set_facecolor(colors["background"])
        if legend := self.axes.get_legend():
            legend.get_frame().set_facecolor(colors["background"])
            legend.get_frame().set_edgecolor(colors["line"])
            for text in legend.get_texts():
                text.set_color(colors["text"])


def theme_colors(name: str) -> dict[str, str]:
    """Give the background, text and line colors of a theme of napari."""
    theme = get_theme(get_system_theme() if name == "system" else name)
    chosen = {
        "background": theme.background,
        "text": theme.text,
        "line": theme.highlight,
    }
    return {role: color.as_hex() for role, color in chosen.items()}


def _theme_name(viewer: Any) -> str:
    return str(get_settings().appearance.theme if viewer is None else viewer.theme)
