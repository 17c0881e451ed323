"""The pages at the foot of the Vector field widget: colors, filters, turning."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import Qt, Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import (
    QFrame,
    QLabel,
    QPushButton,
    QScrollArea,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from napari_roteq._field.plots import FieldLegend, FiltersPlot, TurnPlot
from roteq_core.fields.filter_sheet import FilterSheet
from roteq_core.fields.turn_curve import TurnCurve


class FieldPages(QTabWidget):
    """A legend, the filters, and what turning the image does to the answer."""

    filters_opened = Signal()

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self.legend = FieldLegend(viewer)
        self.filters = FiltersPlot(viewer)
        self.add_filters = QPushButton("Add to the viewer")
        self.turn = QPushButton("Turn the image")
        self.curve = TurnPlot(viewer)
        self._summary = QLabel()
        self._summary.setWordWrap(True)
        flags = Qt.TextInteractionFlag.TextSelectableByMouse
        self._summary.setTextInteractionFlags(flags)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidget(self.filters)
        self._filters_page = _page(self._scroll, self.add_filters)
        self.addTab(self.legend, "Colors")
        self.addTab(self._filters_page, "Filters")
        self._turn_page = _page(self.turn, self.curve, self._summary)
        self.addTab(self._turn_page, "Turn")
        self.add_filters.setEnabled(False)
        self._set_tips()
        self.currentChanged.connect(self._on_page)

    def _set_tips(self) -> None:
        tips = (
            (self.legend, "Which color means what; directions are clockwise from up"),
            (
                self.filters,
                "The learnt filters at all their orientations: red is "
                "positive, blue negative; filters on fields have a u and a v part",
            ),
            (
                self.add_filters,
                "Lay all filters of the layer beside the image, as an Image layer",
            ),
            (
                self.turn,
                "Turn what is in view through 0…360° (for headings: each car "
                "in view, or the middle), let the model answer, turn its answers back, "
                "and see how much they change; beside it an ordinary network",
            ),
            (
                self.curve,
                "0 is the same answer at any angle; dotted is what reading the image "
                "between its pixels does, without a turn",
            ),
        )
        for part, tip in tips:
            part.setToolTip(tip)

    def show_filters(self, sheet: FilterSheet | None) -> None:
        """Show filters, or that there are none yet."""
        self.filters.show_sheet(sheet)
        self.add_filters.setEnabled(sheet is not None)

    def show_curve(self, curve: TurnCurve) -> None:
        """Show how the answers have changed so far."""
        self.curve.show_curve(curve)
        summary = curve.summary()
        text = f"Averaged over angles, {curve.quantity}: {summary}"
        self._summary.setText(text if summary else "")
        self._summary.setVisible(bool(summary))

    def open_turn(self) -> None:
        """Bring the page of the turn curve to the front."""
        self.setCurrentWidget(self._turn_page)

    def open_filters(self) -> None:
        """Bring the page of the filters to the front."""
        self.setCurrentWidget(self._filters_page)

    def _on_page(self) -> None:
        if self.currentWidget() is self._filters_page:
            self.filters_opened.emit()


def _page(*parts: QWidget) -> QWidget:
    page = QWidget()
    layout = QVBoxLayout(page)
    layout.setContentsMargins(2, 4, 2, 2)
    for part in parts:
        is_plot = not isinstance(part, QPushButton | QLabel)
        layout.addWidget(part, stretch=1 if is_plot else 0)
    return page
