"""The Curves page of the Train widget: losses and the score that matters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from qtpy.QtCore import Qt, QTimer
from qtpy.QtWidgets import QLabel, QVBoxLayout, QWidget

from napari_roteq._parts.plots import CurvesPlot, SweepPlot
from napari_roteq._train.report import progress_text

_LINES = 6
_APART = 150  # milliseconds between the drawing of one plot and the other


class CurvesTab(QWidget):
    """Show the epochs of a training as they come."""

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self.rows: list[Mapping[str, Any]] = []
        self._score_name = "score"
        self.losses = CurvesPlot(viewer, x_label="step", y_label="loss")
        self.scores = SweepPlot(viewer, x_label="step", y_label="held-out score")
        self.losses.setToolTip("The loss on what is learnt from, and on what is not")
        self.scores.setToolTip("The score that matters, on what is never learnt from")
        # Later than the losses: two plots at once would hold the window up.
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(_APART)
        self._later.timeout.connect(self._show_scores)
        self.status = QLabel("The curves appear with the first epoch.")
        self.status.setWordWrap(True)
        self.status.setTextFormat(Qt.TextFormat.RichText)
        self.status.setAlignment(Qt.AlignmentFlag.AlignTop)
        # As high as its longest text: a plot that changes its size is drawn again.
        self.status.setMinimumHeight(_LINES * self.status.fontMetrics().lineSpacing())
        layout = QVBoxLayout(self)
        layout.addWidget(self.status)
        layout.addWidget(self.losses, stretch=1)
        layout.addWidget(self.scores, stretch=1)

    def begin(self, score_name: str, rows: Sequence[Mapping[str, Any]] = ()) -> None:
        """Forget what was shown, and show the epochs that a run has behind it."""
        self._score_name = score_name
        self.rows = []
        self.losses.clear()
        for row in rows:
            self._add_point(row)
        self._show()
        if not rows:
            self.status.setText("The curves appear with the first epoch.")

    def add(self, row: Mapping[str, Any]) -> None:
        """Show one more epoch."""
        self._add_point(row)
        self._show()

    def note(self, text: str) -> None:
        """Add a line to what is said of the training."""
        told = progress_text(self.rows, self._score_name)
        self.status.setText("<br>".join(filter(None, (told, text))))

    def _add_point(self, row: Mapping[str, Any]) -> None:
        self.rows.append(row)
        self.losses.add(row["step"], row["loss"], row.get("validation_loss"))

    def _show(self) -> None:
        self._later.start()
        self.note("")

    def _show_scores(self) -> None:
        scored = [row for row in self.rows if "score" in row]
        steps = [row["step"] for row in scored]
        values = [abs(row["score"]) for row in scored]
        lines = {self._score_name: values} if scored else {}
        best = max(scored, key=lambda row: row["score"], default=None)
        mark = None if best is None else best["step"]
        self.scores.show_lines(steps, lines, mark=mark)
