"""The controls of the Car headings widget, laid out; what they do is elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from napari.layers import Layer, Points, Shapes
from qtpy.QtCore import Qt
from qtpy.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from napari_roteq._headings.car_table import CarTableView
from napari_roteq._headings.cars import headings_of, pixel_size_m
from napari_roteq._layers import METADATA, ColorBy
from napari_roteq._parts.form import Form
from napari_roteq._parts.job_bar import JobBar
from napari_roteq._parts.layer_choice import LayerChoice, is_source_image
from napari_roteq._parts.model_choice import ModelBox, spelled
from napari_roteq._parts.plots import RosePlot
from napari_roteq._session import Session
from napari_roteq._settings import read_settings
from napari_roteq._train.layers import HELD_OUT
from roteq_core.angles import angle_from_heading
from roteq_core.config import FindOptions, OrientOptions
from roteq_core.tables import CarTable

Origin = Literal["layer", "file", "find"]
_ORIGINS: dict[str, Origin] = {
    "Points or boxes of a layer": "layer",
    "A table in a file": "file",
    "Find cars": "find",
}
_COLORS: dict[str, ColorBy] = {"Heading": "direction", "Uncertainty": "uncertainty"}
_TABLES = "Tables of cars (*.csv *.tsv *.geojson *.json *.txt *.xml);;All files (*)"


class HeadingForm(QWidget):
    """Every control of the widget as a named part, and what it shows."""

    def __init__(self, viewer: Any, session: Session) -> None:
        super().__init__()
        self.image = LayerChoice(viewer, is_source_image, nothing="open an image first")
        self._origin = QComboBox()
        self.cars = LayerChoice(
            viewer, _may_hold_cars, prefer=_likely_cars, nothing="add points or boxes"
        )
        self.file = QLineEdit()
        self._browse = QPushButton("Open …")
        self.finder = ModelBox(session, "car-finder")
        self._threshold = QDoubleSpinBox()
        self.model = ModelBox(session, "cars")
        self._options = Form(_first_options(), skip=("model",))
        self.start = QPushButton("Find headings")
        self.bar = JobBar()
        self.color_by = QComboBox()
        self._note = QLabel()
        self.table = CarTableView()
        self.rose = RosePlot(viewer)
        self.export = QPushButton("Export …")
        self.review = QPushButton("Review …")
        self._rows = QFormLayout()
        self._is_untouched = True  # nobody has chosen where cars come from
        self._prepare()
        self._set_tips()
        self._lay_out()
        self._origin.currentIndexChanged.connect(self._show_rows)
        self._origin.activated.connect(self._on_origin_chosen)
        self._browse.clicked.connect(self._on_browse)
        self.cars.layer_changed.connect(self._on_cars)
        self.image.layer_changed.connect(self._on_image)
        self._on_cars(self.cars.layer())
        self._on_image(self.image.layer())

    def _prepare(self) -> None:
        for name, origin in _ORIGINS.items():
            self._origin.addItem(name, origin)
        for name, color_by in _COLORS.items():
            self.color_by.addItem(name, color_by)
        for box in (self._origin, self.color_by):
            box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.file.setPlaceholderText("CSV, GeoJSON, DOTA, YOLO-OBB or VOC")
        self._threshold.setRange(0.0, 1.0)
        self._threshold.setSingleStep(0.05)
        self._threshold.setSpecialValueText("as the model says")  # in place of 0
        self._note.setWordWrap(True)
        self._note.hide()
        self.export.setEnabled(False)
        self.review.setEnabled(False)

    def _set_tips(self) -> None:
        tips = {
            self.image: "The aerial image; of a stack the slice in view",
            self._origin: "Where the cars are known from",
            self.cars: "A Points layer with the centers of cars, or a Shapes layer "
            "with boxes; it is not changed",
            self.file: "A table with centers or boxes in pixels of the image",
            self._browse: "Choose a table of cars",
            self.finder: "Model that finds the cars",
            self._threshold: "Least score of a car: less finds more, also what is none",
            self.model: "Model that tells front from rear",
            self.start: "Tell where every car points; a second run updates the same "
            "layers",
            self.color_by: "What the colors of boxes and arrows say; uncertainty is "
            "the error to be feared, a swapped front included, from 0° to 30°",
            self.table: "Choose rows to see the cars, or boxes to see their rows; "
            "click a column's title to sort",
            self.rose: "Headings round the compass, their circular mean and resultant "
            "length R; click a petal to choose its cars",
            self.export: "Save the cars as CSV, GeoJSON, DOTA, YOLO-OBB or VOC",
            self.review: "Go through these cars one by one, from the keyboard",
        }
        for part, tip in tips.items():
            part.setToolTip(tip)

    def _lay_out(self) -> None:
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._file_row = _row(self.file, self._browse)
        self._rows.addRow("Image", self.image)
        self._rows.addRow("Cars from", self._origin)
        self._rows.addRow("Layer", self.cars)
        self._rows.addRow("File", self._file_row)
        self._rows.addRow("Finder", self.finder)
        self._rows.addRow("Threshold", self._threshold)
        self._rows.addRow("Model", self.model)
        pages = QTabWidget()
        pages.addTab(self.table, "Cars")
        pages.addTab(self.rose, "Rose")
        below = QHBoxLayout()
        below.addWidget(QLabel("Color by"))
        below.addWidget(self.color_by, stretch=1)
        below.addWidget(self.export)
        below.addWidget(self.review)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(self._rows)
        layout.addWidget(self._options)
        layout.addWidget(self.start)
        layout.addWidget(self.bar)
        layout.addWidget(self._note)
        layout.addWidget(pages, stretch=1)
        layout.addLayout(below)

    def value(self) -> OrientOptions:
        """Give the heading options as chosen."""
        model = self.model.model()
        name = OrientOptions().model if model is None else spelled(model)
        return replace(self._options.value(), model=name)

    def set_value(self, options: OrientOptions) -> None:
        """Show other heading options."""
        self._options.set_value(options)
        if options.model != self.value().model:
            self.model.open_file(options.model)

    def finding(self) -> FindOptions:
        """Give the options of the finder as chosen."""
        options, model = self.value(), self.finder.model()
        return FindOptions(
            model=FindOptions().model if model is None else spelled(model),
            device=options.device,
            threshold=round(self._threshold.value(), 4) or None,
            car_length_px=options.car_length_px,
            pixel_size_m=options.pixel_size_m,
            tile=read_settings().tile or FindOptions().tile,
            orient_model=options.model,
        )

    def origin(self) -> Origin:
        """Give where cars come from."""
        chosen: Origin = self._origin.currentData()
        return chosen

    def set_origin(self, origin: Origin) -> None:
        """Choose where cars come from."""
        self._is_untouched = False
        self._origin.setCurrentIndex(self._origin.findData(origin))

    def show_cars(self, table: CarTable) -> None:
        """Show cars as rows and as a rose, and what a person should know of them."""
        self.table.show_table(table)
        self.rose.show_angles(angle_from_heading(headings_of(table)))
        self._note.setText("\n".join(table.notes))
        self._note.setVisible(bool(table.notes))
        self.export.setEnabled(len(table) > 0)
        self.review.setEnabled(len(table) > 0)

    def _show_rows(self) -> None:
        origin = self.origin()
        self._rows.setRowVisible(self.cars, origin == "layer")
        self._rows.setRowVisible(self._file_row, origin == "file")
        self._rows.setRowVisible(self.finder, origin == "find")
        self._rows.setRowVisible(self._threshold, origin == "find")

    def _on_origin_chosen(self) -> None:
        self._is_untouched = False

    def _on_cars(self, layer: Layer | None) -> None:
        """Take the cars of a layer where the user has one, else find them."""
        if self._is_untouched:
            has_cars = layer is not None and _likely_cars(layer) > 0
            self._origin.setCurrentIndex(
                self._origin.findData("layer" if has_cars else "find")
            )
        self._show_rows()

    def _on_image(self, layer: Layer | None) -> None:
        """Take the pixel size from the layer's units, where it has some."""
        if layer is not None:
            size = pixel_size_m(layer)
            self._options.set_value(replace(self._options.value(), pixel_size_m=size))

    def _on_browse(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Open cars", "", _TABLES)
        if path:
            self.file.setText(path)


def _first_options() -> OrientOptions:
    return OrientOptions(device=read_settings().device)  # type: ignore[arg-type]


def _may_hold_cars(layer: Layer) -> bool:
    role = layer.metadata.get(METADATA, {}).get("role")
    return isinstance(layer, Points | Shapes) and role != HELD_OUT


def _likely_cars(layer: Layer) -> int:
    """Prefer what the user added to what this plugin made."""
    return int(METADATA not in layer.metadata)


def _row(*parts: QWidget) -> QWidget:
    row = QWidget()
    layout = QHBoxLayout(row)
    layout.setContentsMargins(0, 0, 0, 0)
    for part in parts:
        layout.addWidget(part)
    return row
