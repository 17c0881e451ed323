"""The controls of the Segment membranes widget, laid out; what they do is elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qtpy.QtCore import Qt, QTimer, Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import (
    QCheckBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from superqt import QLabeledDoubleSlider

from napari_roteq._parts.form import Form
from napari_roteq._parts.job_bar import JobBar
from napari_roteq._parts.model_choice import ModelBox, spelled
from napari_roteq._parts.source_rows import SourceRows
from napari_roteq._segment.source import Part, pixel_size_nm
from napari_roteq._session import Session
from napari_roteq._settings import read_settings
from roteq_core.config import SegmentOptions

_ELSEWHERE = ("model", "cells", "direction", "threshold")
_SETTLED = 500  # milliseconds after which the threshold counts as chosen
_STACK_PARTS: dict[str, Part] = {
    "Current slice": "current slice",
    "Visible area": "visible area",
    "Whole stack": "whole stack",
}
_IMAGE_PARTS: dict[str, Part] = {
    "Whole image": "current slice",
    "Visible area": "visible area",
}


class SegmentForm(QWidget):
    """Every control of the widget as a named part, and their values as options."""

    threshold_settled = Signal()

    def __init__(self, viewer: Any, session: Session) -> None:
        super().__init__()
        self._rows = QFormLayout()
        self._source = SourceRows(
            viewer, self._rows, stack_parts=_STACK_PARTS, image_parts=_IMAGE_PARTS
        )
        self.image = self._source.image
        self.model = ModelBox(session, "membranes")
        self._cells = QCheckBox("Cells")
        self._direction = QCheckBox("Direction")
        self._options = Form(_first_options(), skip=_ELSEWHERE)
        self.start = QPushButton("Segment")
        self.bar = JobBar()
        self.threshold = QLabeledDoubleSlider(Qt.Orientation.Horizontal)
        self.follow = QCheckBox("Segment slices as I scroll to them")
        self._settling = QTimer(self)
        self._prepare()
        self._set_tips()
        self._lay_out()
        self._settling.timeout.connect(self.threshold_settled)
        self.threshold.valueChanged.connect(lambda: self._settling.start())
        self._source.image_changed.connect(self._on_image)
        self._source.level_changed.connect(self._on_level)
        self._source.offer()

    def _prepare(self) -> None:
        self._cells.setChecked(True)
        self._direction.setChecked(True)
        self.threshold.setRange(0.0, 1.0)
        self.threshold.setSingleStep(0.01)  # type: ignore[arg-type]
        self.threshold.setDecimals(2)
        self.threshold.setValue(SegmentOptions().threshold)
        self._settling.setSingleShot(True)
        self._settling.setInterval(_SETTLED)

    def _set_tips(self) -> None:
        tips = {
            self.image: "The image or stack to segment",
            self._source.part_box: "How much of the image to segment; in a stack the "
            "slice in view comes first, also while you scroll",
            self.model: "Model that finds the membranes",
            self._cells: "Cut the image into cells, as a Labels layer",
            self._direction: "Draw which way membranes run, as a Vectors layer; color "
            "is the angle",
            self.start: "Find the membranes; a second run updates the same layers",
            self.threshold: "Membrane strength that parts two cells: lower gives more "
            "cells. The cells follow at once",
            self.follow: "Every slice of the stack that comes into view is segmented, "
            "if it is not yet",
        }
        for part, tip in tips.items():
            part.setToolTip(tip)

    def _lay_out(self) -> None:
        self._rows.addRow("Model", self.model)
        self._rows.addRow("Also", _row(self._cells, self._direction))
        cutting = QFormLayout()
        cutting.addRow(QLabel("Threshold"), self.threshold)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(self._rows)
        layout.addWidget(self._options)
        layout.addWidget(self.start)
        layout.addWidget(self.bar)
        layout.addLayout(cutting)
        layout.addWidget(self.follow)

    def value(self) -> SegmentOptions:
        """Give the options as chosen."""
        model = self.model.model()
        return replace(
            self._options.value(),
            model=SegmentOptions().model if model is None else spelled(model),
            cells=self._cells.isChecked(),
            direction=self._direction.isChecked(),
            threshold=round(self.threshold.value(), 4),
        )

    def set_value(self, options: SegmentOptions) -> None:
        """Show other options."""
        self._options.set_value(options)
        self._cells.setChecked(options.cells)
        self._direction.setChecked(options.direction)
        self.threshold.setValue(options.threshold)
        if options.model != self.value().model:
            self.model.open_file(options.model)

    def part(self) -> Part:
        """Give how much to segment."""
        return self._source.part()

    def set_part(self, part: Part) -> None:
        """Choose how much to segment."""
        self._source.set_part(part)

    def level(self) -> int:
        """Give the level of a multiscale image, 0 for others."""
        return self._source.level()

    def set_running(self, is_running: bool) -> None:
        """Let nobody start a second run beside the first."""
        self.start.setEnabled(not is_running)

    def _on_image(self) -> None:
        self.follow.setVisible(self._source.is_stack)

    def _on_level(self) -> None:
        """Take the pixel size from the layer's units, where it has some."""
        layer = self.image.layer()
        if layer is not None:
            size = pixel_size_nm(layer, self.level())
            self._options.set_value(replace(self._options.value(), pixel_size_nm=size))


def _first_options() -> SegmentOptions:
    settings = read_settings()
    tile = settings.tile or SegmentOptions().tile
    return SegmentOptions(device=settings.device, tile=tile)  # type: ignore[arg-type]


def _row(*parts: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    for part in parts:
        row.addWidget(part)
    row.addStretch()
    return row
