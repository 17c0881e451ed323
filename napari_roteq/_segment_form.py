"""The controls of the Segment membranes widget, laid out; what they do is elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qtpy.QtCore import Qt, QTimer, Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from superqt import QLabeledDoubleSlider

from napari_roteq._form import Form
from napari_roteq._images import level_names
from napari_roteq._job_bar import JobBar
from napari_roteq._layer_choice import LayerChoice, is_source_image
from napari_roteq._model_choice import ModelBox, spelled
from napari_roteq._segment_source import Part, pixel_size_nm
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
        self.image = LayerChoice(viewer, is_source_image, nothing="open an image first")
        self._level = QComboBox()
        self._part = QComboBox()
        self.model = ModelBox(session, "membranes")
        self._cells = QCheckBox("Cells")
        self._direction = QCheckBox("Direction")
        self._options = Form(_first_options(), skip=_ELSEWHERE)
        self.start = QPushButton("Segment")
        self.bar = JobBar()
        self.threshold = QLabeledDoubleSlider(Qt.Orientation.Horizontal)
        self.follow = QCheckBox("Segment slices as I scroll to them")
        self._rows = QFormLayout()
        self._settling = QTimer(self)
        self._prepare()
        self._set_tips()
        self._lay_out()
        self._settling.timeout.connect(self.threshold_settled)
        self.threshold.valueChanged.connect(lambda: self._settling.start())
        self.image.layer_changed.connect(self._on_layer)
        self._level.currentIndexChanged.connect(self._on_level)
        self._on_layer(self.image.layer())

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
            self._level: "Level of a multiscale image, by rows × columns",
            self._part: "How much of the image to segment; in a stack the slice in "
            "view comes first, also while you scroll",
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
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.addRow("Image", self.image)
        self._rows.addRow("Level", self._level)
        self._rows.addRow("Part", self._part)
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
        chosen: Part = self._part.currentData()
        return chosen

    def set_part(self, part: Part) -> None:
        """Choose how much to segment."""
        self._part.setCurrentIndex(self._part.findData(part))

    def level(self) -> int:
        """Give the level of a multiscale image, 0 for others."""
        return max(0, self._level.currentIndex())

    def set_running(self, is_running: bool) -> None:
        """Let nobody start a second run beside the first."""
        self.start.setEnabled(not is_running)

    def _on_layer(self, layer: Any) -> None:
        """Offer what makes sense for the layer."""
        before = self._part.currentData()
        is_stack = layer is not None and layer.ndim > 2
        self._part.clear()
        for name, part in (_STACK_PARTS if is_stack else _IMAGE_PARTS).items():
            self._part.addItem(name, part)
        self._part.setCurrentIndex(max(0, self._part.findData(before)))
        self.follow.setVisible(is_stack)
        self._level.clear()
        has_levels = layer is not None and layer.multiscale
        self._level.addItems(level_names(layer) if has_levels else [])
        self._rows.setRowVisible(self._level, has_levels)
        self._on_level()

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
