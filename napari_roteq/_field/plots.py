"""What the Vector field widget draws in itself: legends, filters, the turn curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from qtpy.QtCore import QSize
from qtpy.QtWidgets import QStackedLayout, QWidget

from napari_roteq._parts.plot_canvas import Plot
from napari_roteq._parts.plots import LINE_COLORS, SweepPlot, WheelPlot
from roteq_core.fields.filter_sheet import FilterSheet
from roteq_core.fields.turn_curve import TurnCurve


class StrengthPlot(Plot):
    """The legend of strength colors: a bar from nothing to a strong vector."""

    margins = (16, 40, 16, 8)

    def _draw(self, axes: Axes) -> None:
        ramp = np.linspace(0, 1, 256)[None]
        axes.imshow(ramp, cmap="viridis", aspect="auto", extent=(0.0, 1.0, 0.0, 1.0))
        axes.set_xlabel("strength, 1 is a strong vector of the field")
        axes.set_yticks([])

    def sizeHint(self) -> QSize:
        """Leave room for the form above on a small screen."""
        return QSize(240, 80)


class FieldLegend(QWidget):
    """Say what the colors of a field mean: directions or strengths."""

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self.wheel = WheelPlot(viewer)
        self.bar = StrengthPlot(viewer)
        self._pages = QStackedLayout(self)
        self._pages.addWidget(self.wheel)
        self._pages.addWidget(self.bar)

    def show_for(self, color_by: str) -> None:
        """Show the legend of a way to color."""
        shown = self.bar if color_by == "strength" else self.wheel
        self._pages.setCurrentWidget(shown)


class FiltersPlot(Plot):
    """Filters at all their orientations: a row for each part, a column for each."""

    margins = (66, 40, 8, 6)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._sheet: FilterSheet | None = None

    def show_sheet(self, sheet: FilterSheet | None) -> None:
        """Show a sheet of filters, or nothing."""
        self._sheet = sheet
        self._fit_height()
        self.redraw()

    def resizeEvent(self, event: Any) -> None:
        """Keep pictures square when the width changes."""
        super().resizeEvent(event)
        self._fit_height()

    def _fit_height(self) -> None:
        """Be as high as square pictures need; whoever holds it may scroll."""
        if self._sheet is None:
            self.setMinimumHeight(0)
            return
        left, bottom, right, top = self.margins
        rows, columns = self._sheet.image.shape
        width = max(self.width() - left - right, 1)
        self.setMinimumHeight(bottom + top + round(width * rows / columns))

    def _draw(self, axes: Axes) -> None:
        sheet = self._sheet
        if sheet is None:
            axes.set_axis_off()
            message = "The filters come with the field."
            axes.text(0.5, 0.5, message, ha="center", va="center", fontsize="small")
            return
        axes.set_axis_on()
        largest = sheet.largest
        axes.imshow(sheet.image, cmap="coolwarm", vmin=-largest, vmax=largest)
        axes.set_anchor("N")
        columns = round((sheet.image.shape[1] + 1) / sheet.size)
        middle = (sheet.size - 2) / 2
        turned = np.arange(0, columns, max(1, columns // 4))
        degrees = [f"{360 * column / columns:g}°" for column in turned]
        axes.set_xticks(turned * sheet.size + middle, degrees)
        axes.set_xlabel("turned by, clockwise")
        rows = np.arange(len(sheet.rows))
        axes.set_yticks(rows * sheet.size + middle, sheet.rows)

    def _paint_theme(self) -> None:
        super()._paint_theme()
        self.axes.grid(visible=False)


class TurnPlot(SweepPlot):
    """How much an answer changes while the image is turned, one line a model.

    Dotted lines tell how much of it reading the image between its pixels does alone.
    """

    margins = (60, 46, 20, 48)  # the legend stands above

    def __init__(self, viewer: Any) -> None:
        self._reading: dict[str, np.ndarray] = {}
        super().__init__(viewer, x_label="image turned by (degrees, clockwise)")

    def show_curve(self, curve: TurnCurve) -> None:
        """Show what is known so far."""
        unit = curve.quantity.partition("(")[2].rstrip(")")
        self._labels = (self._labels[0], f"change ({unit})" if unit else "change")
        _, self._reading = curve.reading_lines()
        self.show_lines(*curve.lines())

    def _draw(self, axes: Axes) -> None:
        axes.set_xlabel(self._labels[0])
        axes.set_ylabel(self._labels[1])
        axes.set_xlim(0, 360)
        axes.set_xticks(np.arange(0, 361, 45))
        # Ours lies low: drawn last and thicker.
        pairs = list(zip(self._lines.items(), LINE_COLORS, strict=False))
        for place, ((name, y), color) in enumerate(reversed(pairs)):
            is_ours = place == len(pairs) - 1
            width = 2.2 if is_ours else 1.4
            axes.plot(self._x, y, color=color, label=name, marker=".", lw=width)
            if name in self._reading:
                axes.plot(self._x, self._reading[name], ":", color=color, lw=width)
        if self._reading:
            axes.plot([], [], ":", color="gray", label="by reading between pixels")
        highest = max((y.max() for y in self._lines.values() if len(y)), default=0.0)
        axes.set_ylim(0, 1.1 * highest or 1.0)
        if self._lines:
            axes.legend(
                fontsize="small", loc="lower right", bbox_to_anchor=(1, 1), ncols=2
            )
