"""The Data page of the Train widget: what to learn from, and what was found in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from napari.layers import Labels, Layer, Shapes
from qtpy.QtCore import Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import (
    QComboBox,
    QFormLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from napari_roteq._layers import METADATA
from napari_roteq._parts.editors import Editor, editor_for
from napari_roteq._parts.rich_label import rich_label
from napari_roteq._segment.source import pixel_size_nm
from napari_roteq._train.cars import car_pairs, read_car_files, read_car_layers
from napari_roteq._train.data import (
    TrainingData,
    check_once,
    membrane_pair,
    read_membrane_files,
    read_membrane_layers,
)
from napari_roteq._train.pairs import PairRows
from roteq_core.membranes.label_meaning import MEANINGS

_TASKS = {"Membranes": "membranes", "Car headings": "cars"}
_HELD_OUT = {
    "membranes": ("auto", "slices", "side", "none"),
    "cars": ("auto", "images", "side", "none"),
}


class DataTab(QWidget):
    """Choose what to learn from."""

    task_changed = Signal(str)

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self.task = QComboBox()
        self.origin = QComboBox()
        self.membranes = PairRows(viewer, _is_labels, "labels", "paint labels first")
        self.cars = PairRows(viewer, _is_boxes, "boxes", "review cars first")
        self.images = _folder()
        self.labels = _folder()
        self.meaning = QComboBox()
        self.held_out = QComboBox()
        self.check = QPushButton("Check data")
        self._report = rich_label()
        self._pages = QStackedWidget()
        self._rows = QFormLayout()
        self._fill()
        self._set_tips()
        self._lay_out()
        self.task.currentIndexChanged.connect(self._on_task)
        self.origin.currentIndexChanged.connect(self._on_origin)
        self._on_task()

    def _fill(self) -> None:
        for name, task in _TASKS.items():
            self.task.addItem(name, task)
        self.origin.addItems(["Layers", "Folder"])
        self.meaning.addItem("find out", None)
        for meaning, text in MEANINGS.items():
            self.meaning.addItem(text, meaning)
        self.held_out.setEditable(True)
        for box in (self.meaning, self.held_out):
            policy = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            box.setSizeAdjustPolicy(policy)
            box.setMinimumContentsLength(10)

    def _set_tips(self) -> None:
        tips = {
            self.task: "What the model is to learn",
            self.origin: "Learn from layers of this viewer, or from files",
            self.images: "A folder of slices or images, a TIFF or a Zarr",
            self.labels: "Labels of the same shape; for cars a table or a folder of "
            "tables",
            self.meaning: "What label values mean; found out by a rule that is told",
            self.held_out: "What is never learnt from, to see how well the model does: "
            "auto, slices (the last ones), side (one side of each), none, or slices "
            "such as 24-29",
            self.check: "Read the data, show what is held out, try a few steps and say "
            "what the training will take",
        }
        for part, tip in tips.items():
            part.setToolTip(tip)
            if isinstance(part, Editor):
                part.part.setToolTip(tip)

    def _lay_out(self) -> None:
        layers, folders = QStackedWidget(), QWidget()
        layers.addWidget(self.membranes)
        layers.addWidget(self.cars)
        self._layers = layers
        rows = QFormLayout(folders)
        rows.setContentsMargins(0, 0, 0, 0)
        self._labels_name = QLabel()
        rows.addRow("Images", self.images)
        rows.addRow(self._labels_name, self.labels)
        self._pages.addWidget(layers)
        self._pages.addWidget(folders)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.addRow("Learn", self.task)
        self._rows.addRow("From", self.origin)
        below = QFormLayout()
        below.setContentsMargins(0, 0, 0, 0)
        below.addRow("Labels are", self.meaning)
        below.addRow("Hold out", self.held_out)
        self._below = below
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setWidget(self._report)
        layout = QVBoxLayout(self)
        layout.addLayout(self._rows)
        layout.addWidget(self._pages)
        layout.addLayout(below)
        layout.addWidget(self.check)
        layout.addWidget(scroll, stretch=1)

    def chosen_task(self) -> str:
        """Give what is to be learnt: "membranes" or "cars"."""
        return str(self.task.currentData())

    def set_task(self, task: str) -> None:
        """Choose what is to be learnt."""
        self.task.setCurrentIndex(self.task.findData(task))

    def has_layers(self) -> bool:
        """Whether layers are learnt from, not files."""
        return self.origin.currentIndex() == 0

    def image_layers(self) -> list[Layer]:
        """Give the images that are learnt from, as far as they are layers."""
        return [image for image, _ in self._chosen_rows().pairs()]

    def pixel_size_nm(self) -> float | None:
        """Give the pixel size of the first image, if its layer tells it."""
        for layer in self.image_layers() if self.has_layers() else []:
            return None if layer is None else pixel_size_nm(layer)
        return None

    def reader(self, before: TrainingData | None = None) -> Callable[[], TrainingData]:
        """Give a function for a thread that reads what is chosen.

        Parameters
        ----------
        before : TrainingData, optional
            What a running training has: the same is held out again.

        Raises
        ------
        JobError
            Naming the layer at fault, as far as that can be told at once.
        """
        meaning, held_out = self.meaning.currentData(), self.held_out.currentText()
        held_out = held_out.strip() or "auto"
        paths = str(self.images.value()), str(self.labels.value())
        paths = tuple("" if path == "." else path for path in paths)  # type: ignore[assignment]
        if self.chosen_task() == "membranes":
            if not self.has_layers():
                return lambda: read_membrane_files(*paths, meaning, held_out)
            check_once(self.image_layers())
            pairs = [membrane_pair(*pair) for pair in self.membranes.pairs()]
            return lambda: read_membrane_layers(pairs, meaning, held_out, before)
        if not self.has_layers():
            return lambda: read_car_files(*paths, held_out)
        check_once(self.image_layers())
        cars = [pair for chosen in self.cars.pairs() for pair in car_pairs(*chosen)]
        return lambda: read_car_layers(cars, held_out, before)

    def show_report(self, html: str) -> None:
        """Show what was found in the data."""
        self._report.setText(html)

    def report(self) -> str:
        """Give the report as shown."""
        return self._report.text()

    def _chosen_rows(self) -> PairRows:
        return self.membranes if self.chosen_task() == "membranes" else self.cars

    def _on_task(self) -> None:
        task = self.chosen_task()
        self._layers.setCurrentIndex(0 if task == "membranes" else 1)
        self._below.setRowVisible(self.meaning, task == "membranes")
        self._labels_name.setText("Labels" if task == "membranes" else "Cars")
        self.held_out.clear()
        self.held_out.addItems(_HELD_OUT[task])
        self.show_report("")
        self.task_changed.emit(task)

    def _on_origin(self) -> None:
        self._pages.setCurrentIndex(self.origin.currentIndex())


def _is_labels(layer: Layer) -> bool:
    return isinstance(layer, Labels)


def _is_boxes(layer: Layer) -> bool:
    role = layer.metadata.get(METADATA, {}).get("role", "")
    return isinstance(layer, Shapes) and role not in ("held out", "review")


def _folder() -> Editor:
    editor = editor_for(Path, {"folder": True})
    assert editor is not None
    return editor
