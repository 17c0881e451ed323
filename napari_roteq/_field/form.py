"""The controls of the Vector field widget, laid out; what they do is elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from qtpy.QtCore import Qt, Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from napari_roteq._field.pages import FieldPages
from napari_roteq._field.style import StyleForm
from napari_roteq._headings.cars import pixel_size_m
from napari_roteq._parts.form import Form
from napari_roteq._parts.job_bar import JobBar
from napari_roteq._parts.model_choice import ModelBox, spelled
from napari_roteq._parts.source_rows import SourceRows
from napari_roteq._segment.source import Part, pixel_size_nm
from napari_roteq._session import ModelChoice, Session
from napari_roteq._settings import read_settings
from roteq_core.card import shipped_models
from roteq_core.config import FieldOptions
from roteq_core.fields.layers import FieldLayer, field_layers, find_layer

_ELSEWHERE = ("model", "layer", "member")
_TYPICAL_CAR_M = 4.5
_STACK_PARTS: dict[str, Part] = {
    "Slice in view": "current slice",
    "Visible area": "visible area",
}
_IMAGE_PARTS: dict[str, Part] = {
    "Image": "current slice",
    "Visible area": "visible area",
}


class FieldForm(QWidget):
    """Every control of the widget as a named part, and their values as options."""

    field_changed = Signal()  # another layer, member or filter was chosen

    def __init__(self, viewer: Any, session: Session) -> None:
        super().__init__()
        self._rows = QFormLayout()
        self._source = SourceRows(
            viewer, self._rows, stack_parts=_STACK_PARTS, image_parts=_IMAGE_PARTS
        )
        self.image = self._source.image
        self.model = ModelBox(session)
        self._member = QComboBox()
        self._layer = QComboBox()
        self._filter = QSpinBox()
        self._options = Form(_first_options(), skip=_ELSEWHERE)
        self.start = QPushButton("Show field")
        self.follow = QCheckBox("Follow slices")
        self.bar = JobBar()
        self.look = StyleForm()
        self.pages = FieldPages(viewer)
        self._offered: tuple[FieldLayer, ...] = ()
        self._is_filling = False
        self._prepare()
        self._set_tips()
        self._lay_out()
        self._connect()
        self._source.offer()
        if session.model is None:
            self._suggest_model(self.image.layer())
        self._on_model(self.model.model())

    def _suggest_model(self, image: Any) -> None:
        """Begin with the model that the image is most likely for."""
        is_color = image is not None and bool(getattr(image, "rgb", False))
        name = "car-finder" if is_color else "membranes"
        if name in shipped_models():
            self.model.open_file(name)

    def _prepare(self) -> None:
        self.follow.setChecked(True)
        for box in (self._member, self._layer):
            box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._layer.setMinimumContentsLength(12)
        self._layer.setPlaceholderText("this model has no fields")
        self._filter.setWrapping(True)

    def _set_tips(self) -> None:
        tips = {
            self.image: "The image or stack",
            self._source.part_box: "How much of the image goes through the network",
            self.model: "Model whose inside is shown: for membranes, cars, …",
            self._member: "Which network of an ensemble",
            self._layer: "Which layer of the network",
            self._filter: "Which filter of the layer; its field is a map of vectors "
            "that say where it answers, how strongly, and turned which way",
            self.start: "Compute the vector field and draw it; a second run updates "
            "the same layer",
            self.follow: "Every slice of the stack that comes into view gets its field",
        }
        for part, tip in tips.items():
            part.setToolTip(tip)

    def _lay_out(self) -> None:
        self._rows.addRow("Model", self.model)
        self._rows.addRow("Network", self._member)
        row = QHBoxLayout()
        row.addWidget(self._layer, stretch=1)
        row.addWidget(self._filter)
        self._rows.addRow("Layer, filter", row)
        begin = QHBoxLayout()
        begin.addWidget(self.start, stretch=1)
        begin.addWidget(self.follow)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(self._rows)
        layout.addWidget(self._options)
        layout.addLayout(begin)
        layout.addWidget(self.bar)
        layout.addWidget(self.look)
        layout.addWidget(self.pages, stretch=1)

    def _connect(self) -> None:
        self._source.image_changed.connect(self._on_image)
        self._source.level_changed.connect(self._on_level)
        self.model.model_changed.connect(self._on_model)
        self._member.currentIndexChanged.connect(self._on_member)
        self._layer.currentIndexChanged.connect(self._on_layer)
        self._filter.valueChanged.connect(self._tell)
        self.look.changed.connect(
            lambda: self.pages.legend.show_for(self.look.value().color_by)
        )

    def value(self) -> FieldOptions:
        """Give the options as chosen."""
        model, layer = self.model.model(), self.layer()
        return replace(
            self._options.value(),
            model=FieldOptions().model if model is None else spelled(model),
            layer="" if layer is None else layer.name,
            member=max(0, self._member.currentIndex()),
        )

    def set_value(self, options: FieldOptions) -> None:
        """Show other options."""
        if options.model != self.value().model:
            self.model.open_file(options.model)
        self._options.set_value(options)
        self._member.setCurrentIndex(options.member)
        if options.layer:
            names = [layer.name for layer in self._offered]
            self._layer.setCurrentIndex(names.index(options.layer))

    def layer(self) -> FieldLayer | None:
        """Give the chosen layer of the network."""
        place = self._layer.currentIndex()
        return self._offered[place] if 0 <= place < len(self._offered) else None

    def filter(self) -> int:
        """Give the chosen filter."""
        return self._filter.value()

    def set_filter(self, number: int) -> None:
        """Choose a filter."""
        self._filter.setValue(number)

    def part(self) -> Part:
        """Give how much of the image to compute."""
        return self._source.part()

    def set_part(self, part: Part) -> None:
        """Choose how much of the image to compute."""
        self._source.set_part(part)

    def level(self) -> int:
        """Give the level of a multiscale image, 0 for others."""
        return self._source.level()

    def set_running(self, is_running: bool) -> None:
        """Let nobody start a second run beside the first."""
        self.start.setEnabled(not is_running)
        self.pages.turn.setEnabled(not is_running)

    @contextmanager
    def _filling(self) -> Iterator[None]:
        """Change several boxes and tell nobody."""
        before, self._is_filling = self._is_filling, True
        try:
            yield
        finally:
            self._is_filling = before

    def _tell(self) -> None:
        if not self._is_filling:
            self.field_changed.emit()

    def _on_image(self) -> None:
        self.follow.setVisible(self._source.is_stack)

    def _on_level(self) -> None:
        """Take the pixel size from the layer's units, where it has some."""
        image = self.image.layer()
        if image is None:
            return
        meters = pixel_size_m(image)
        sizes: dict[str, Any] = {
            "pixel_size_nm": pixel_size_nm(image, self.level()),
            "car_length_px": _TYPICAL_CAR_M / meters if meters else None,
        }
        self._options.set_value(replace(self._options.value(), **sizes))

    def _on_model(self, model: ModelChoice | None) -> None:
        """Offer the networks of the model."""
        networks = [] if model is None else model.card["networks"]
        with self._filling():
            self._member.clear()
            names = [f"{n + 1} of {len(networks)}" for n in range(len(networks))]
            self._member.addItems(names)
            self._rows.setRowVisible(self._member, len(networks) > 1)
            self._on_member()

    def _on_member(self) -> None:
        """Offer the layers of the network; the same one stays chosen if it is there."""
        model, place = self.model.model(), max(0, self._member.currentIndex())
        networks = [] if model is None else model.card["networks"]
        before = self.layer()
        with self._filling():
            self._offered = field_layers(networks[place]) if networks else ()
            self._layer.clear()
            self._layer.addItems([layer.about for layer in self._offered])
            self._layer.setCurrentIndex(_place_of(before, self._offered))
        self._on_layer()

    def _on_layer(self) -> None:
        layer = self.layer()
        with self._filling():
            self._filter.setRange(0, 0 if layer is None else layer.filters - 1)
        self._filter.setEnabled(layer is not None)
        self._tell()


def _place_of(before: FieldLayer | None, offered: tuple[FieldLayer, ...]) -> int:
    """Find the layer of the same name, else the default one; -1 without layers."""
    if not offered:
        return -1
    names = [layer.name for layer in offered]
    if before is not None and before.name in names:
        return names.index(before.name)
    return names.index(find_layer(offered, "").name)


def _first_options() -> FieldOptions:
    settings = read_settings()
    tile = settings.tile or FieldOptions().tile
    return FieldOptions(device=settings.device, tile=tile)  # type: ignore[arg-type]
