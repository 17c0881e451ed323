"""The controls of the Score widget, laid out; what they do is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from napari.layers import Labels, Layer, Shapes
from qtpy.QtCore import Qt, Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import (
    QCheckBox,
    QFormLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QStackedWidget,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from napari_roteq._layers import METADATA
from napari_roteq._parts.job_bar import JobBar
from napari_roteq._parts.layer_choice import LayerChoice, is_map
from napari_roteq._parts.plots import HistogramPlot, SweepPlot
from napari_roteq._score.scoring import CarScore, spell_index
from roteq_core.metrics import MembraneScore


class ScoreForm(QWidget):
    """Every control of the widget as a named part, and what it shows."""

    slice_chosen = Signal(object)  # the index of a plane

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self.prediction = LayerChoice(
            viewer, _is_scorable, prefer=_likely_prediction, nothing="segment first"
        )
        self.truth = LayerChoice(
            viewer, _is_scorable, prefer=_likely_truth, nothing="open the truth"
        )
        self._current = QCheckBox("Only the slice in view")
        self.start = QPushButton("Score")
        self.bar = JobBar()
        self._summary = _text()
        self._note = _text()
        self._sweep = SweepPlot(viewer, x_label="membrane threshold", y_label="score")
        self._errors = HistogramPlot(viewer, x_label="error of the heading (°)")
        self._plots = QStackedWidget()
        self._table = QTableWidget(0, 0)
        self.mistakes = QPushButton("Show merges and splits")
        self.copy = QPushButton("Copy table")
        self._threshold = 0.5
        self._score: MembraneScore | None = None
        self._indices: list[Any] = []
        self._set_tips()
        self._lay_out()
        self._sweep.x_clicked.connect(self.set_threshold)
        self._table.itemSelectionChanged.connect(self._on_row)
        self.prediction.layer_changed.connect(self._on_layer)
        self._on_layer(self.prediction.layer())

    def _set_tips(self) -> None:
        tips = {
            self.prediction: "Membrane probability, cells, or boxes of cars to judge",
            self.truth: "Labelled cells, membranes, or boxes of cars to judge by",
            self._current: "Leave the other slices out",
            self.start: "Compute V-Rand, V-Info and pixel error, or errors of headings",
            self._sweep: "Click to choose the threshold for merges and splits",
            self._errors: "How many cars have which error",
            self._table: "Click a row to see its slice",
            self.mistakes: "Mark cells that were joined (red) or cut (blue)",
            self.copy: "Copy the table as CSV",
        }
        for part, tip in tips.items():
            part.setToolTip(tip)

    def _lay_out(self) -> None:
        self.mistakes.setEnabled(False)
        self.copy.setEnabled(False)
        self._plots.addWidget(self._sweep)
        self._plots.addWidget(self._errors)
        self._plots.setMinimumHeight(150)
        self._table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        self._table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        self._table.setMinimumHeight(80)
        rows = QFormLayout()
        rows.addRow("Prediction", self.prediction)
        rows.addRow("Truth", self.truth)
        buttons = QHBoxLayout()
        buttons.addWidget(self.mistakes)
        buttons.addWidget(self.copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(rows)
        layout.addWidget(self._current)
        layout.addWidget(self.start)
        layout.addWidget(self.bar)
        layout.addWidget(self._summary)
        layout.addWidget(self._note)
        layout.addWidget(self._plots, stretch=2)
        layout.addWidget(self._table, stretch=1)
        layout.addLayout(buttons)

    def are_cars(self) -> bool:
        """Whether boxes of cars were chosen."""
        return isinstance(self.prediction.layer(), Shapes)

    def only_current(self) -> bool:
        """Whether to score the slice in view alone."""
        return self._current.isChecked()

    def threshold(self) -> float:
        """Give the threshold at which merges and splits are shown."""
        return self._threshold

    def set_threshold(self, threshold: float) -> None:
        """Choose the threshold at which merges and splits are shown."""
        self._threshold = min(max(float(threshold), 0.01), 1.0)
        if self._score is not None:
            self._draw(self._score)

    def clear(self) -> None:
        """Show no score."""
        self._score = None
        self._indices = []
        for text in (self._summary, self._note):
            text.clear()
            text.setToolTip("")
        self._sweep.show_lines([], {})
        self._errors.show_values([])
        self._table.setRowCount(0)

    def show_score(
        self, summary: str, reasons: str, header: Sequence[str], rows: Sequence[Any]
    ) -> None:
        """Show scores as a line and a table."""
        self._summary.setText(summary)
        self._summary.setToolTip(reasons)
        self._note.clear()
        self._score = None
        self._indices = [row[0] for row in rows]
        self._table.setColumnCount(len(header))
        self._table.setHorizontalHeaderLabels(list(header))
        self._table.setRowCount(len(rows))
        for place, (index, *values) in enumerate(rows):
            cells = [spell_index(index), *(f"{value:.4f}" for value in values)]
            for column, text in enumerate(cells):
                self._table.setItem(place, column, QTableWidgetItem(text))
        resize = QHeaderView.ResizeMode.Stretch
        heading = self._table.horizontalHeader()
        numbers = self._table.verticalHeader()
        assert heading is not None
        assert numbers is not None
        heading.setSectionResizeMode(resize)
        numbers.hide()
        self._table.show()

    def show_sweep(self, score: MembraneScore) -> None:
        """Plot the scores over the thresholds."""
        self._score = score
        self._threshold = score.threshold
        self._draw(score)

    def _draw(self, score: MembraneScore) -> None:
        lines = {
            "V-Rand": [row.v_rand for row in score.sweep],
            "V-Info": [row.v_info for row in score.sweep],
            "pixel error": [row.pixel_error for row in score.sweep],
        }
        x = [row.threshold for row in score.sweep]
        self._sweep.show_lines(x, lines, mark=self._threshold)
        self._plots.setCurrentWidget(self._sweep)

    def show_cars(self, score: CarScore) -> None:
        """Show the errors of headings."""
        self._summary.setText(score.text)
        self._summary.setToolTip("Cars are paired by their place")
        self._errors.show_values(score.errors, marks={"median": score.median})
        self._plots.setCurrentWidget(self._errors)

    def show_note(self, text: str) -> None:
        """Add a line below the scores."""
        self._note.setText(text)

    def _on_row(self) -> None:
        row = self._table.currentRow()
        if 0 <= row < len(self._indices):
            self.slice_chosen.emit(self._indices[row])

    def _on_layer(self, layer: Layer | None) -> None:
        is_stack = layer is not None and is_map(layer) and layer.ndim > 2
        self._current.setVisible(is_stack)
        self._table.setVisible(not isinstance(layer, Shapes))
        self.mistakes.setVisible(not isinstance(layer, Shapes))
        self.copy.setVisible(not isinstance(layer, Shapes))


def _is_scorable(layer: Layer) -> bool:
    role = layer.metadata.get(METADATA, {}).get("role")
    return (is_map(layer) or isinstance(layer, Shapes)) and role not in (
        "merges",
        "splits",
    )


def _likely_prediction(layer: Layer) -> int:
    role = layer.metadata.get(METADATA, {}).get("role")
    return 2 if role == "membranes" else int(role is not None)


def _likely_truth(layer: Layer) -> int:
    if METADATA in layer.metadata:
        return 0
    return 1 + isinstance(layer, Labels | Shapes) + ("truth" in layer.name.lower())


def _text() -> QLabel:
    label = QLabel()
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label
