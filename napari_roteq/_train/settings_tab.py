"""The Settings page of the Train widget: preset, start, and all that lies behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from qtpy.QtWidgets import (
    QComboBox,
    QFormLayout,
    QLabel,
    QScrollArea,
    QSpinBox,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from napari_roteq._parts.connections import connect_while_alive
from napari_roteq._parts.editors import editor_for
from napari_roteq._parts.form import Form
from napari_roteq._parts.model_choice import known_models, spelled
from napari_roteq._session import Session
from napari_roteq._settings import read_settings
from roteq_core.card_text import CardText
from roteq_core.config import TrainConfig
from roteq_core.net_config import CarNetConfig, MembraneNetConfig
from roteq_core.training.presets import CAR_PRESETS, MEMBRANE_PRESETS, Preset
from roteq_core.training.request import TrainRequest

_NAMES = {
    "quick": "Quick look (about 2 min)",
    "laptop": "Laptop (10 to 15 min)",
    "best": "Best (an hour or more)",
}
RUNS = Path.home() / "roteq-runs"


class SettingsTab(QWidget):
    """Choose how to learn; `request` gives it as plain values."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._task = "membranes"
        self.preset = QComboBox()
        self._summary = QLabel()
        self._summary.setWordWrap(True)
        self.start_from = QComboBox()
        runs = editor_for(Path, {"folder": True})
        assert runs is not None
        self.runs = runs
        self.train: Form[TrainConfig] = Form(TrainConfig, folded="Advanced")
        self.membrane_net: Form[MembraneNetConfig] = Form(
            MembraneNetConfig, skip=("in_maps", "classes"), folded="Network"
        )
        self.car_net: Form[CarNetConfig] = Form(
            CarNetConfig, skip=("in_maps",), folded="Network"
        )
        self.synthetic = QSpinBox()
        self._nets = QStackedWidget()
        self._rows = QFormLayout()
        self._prepare()
        self._lay_out()
        self.preset.currentIndexChanged.connect(self._on_preset)
        self.start_from.currentIndexChanged.connect(self._on_start_from)
        connect_while_alive(self, session.model_changed, self._offer_models)
        self.set_task("membranes")

    def _prepare(self) -> None:
        for name, title in _NAMES.items():
            self.preset.addItem(title, name)
        self.runs.set_value(RUNS)
        self.synthetic.setRange(0, 100_000)
        self.synthetic.setSingleStep(100)
        policy = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        self.start_from.setSizeAdjustPolicy(policy)
        self.start_from.setMinimumContentsLength(10)
        tips = {
            self.preset: "A network and a training that go together; the times are for "
            "two cores without a graphics card",
            self.start_from: "From scratch, or fine-tune a model: it then keeps its "
            "network and needs fewer labels",
            self.runs.part: "Each run gets a folder of its own in here, with weights, "
            "log and curves",
            self.synthetic: "Drawn cars to learn from besides; good while few are "
            "reviewed",
        }
        for part, tip in tips.items():
            part.setToolTip(tip)

    def _lay_out(self) -> None:
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.addRow("Preset", self.preset)
        self._rows.addRow(self._summary)
        self._rows.addRow("Start from", self.start_from)
        self._rows.addRow("Runs in", self.runs)
        self._rows.addRow("Synthetic cars", self.synthetic)
        self._nets.addWidget(self.membrane_net)
        self._nets.addWidget(self.car_net)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.addLayout(self._rows)
        column.addWidget(self.train)
        column.addWidget(self._nets)
        column.addStretch()
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setWidget(inside)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scroll)

    def set_task(self, task: str) -> None:
        """Offer what goes with a task."""
        self._task = task
        self._nets.setCurrentIndex(0 if task == "membranes" else 1)
        self._rows.setRowVisible(self.synthetic, task == "cars")
        self._offer_models()
        self._on_preset()

    def request(self, card: CardText) -> TrainRequest:
        """Give what a training is asked; ValueError if it does not go together."""
        task: Any = self._task
        form: Form[Any] = self.membrane_net if task == "membranes" else self.car_net
        return TrainRequest(
            task,
            form.value(),
            self.train.value(),
            self.start_from.currentData(),
            self.synthetic.value() if task == "cars" else 0,
            card,
        )

    def set_request(self, request: TrainRequest) -> None:
        """Show what a training is asked."""
        self.set_task(request.task)
        self.train.set_value(request.train)
        net: Any = request.network
        form: Form[Any] = (
            self.membrane_net if request.task == "membranes" else self.car_net
        )
        form.set_value(net)
        self.synthetic.setValue(request.synthetic)
        place = self.start_from.findData(request.start_from)
        if place < 0:
            self.start_from.addItem(str(request.start_from), request.start_from)
            place = self.start_from.count() - 1
        self.start_from.setCurrentIndex(place)

    def runs_folder(self) -> Path:
        """Give the folder in which runs get theirs."""
        return Path(self.runs.value())

    def _preset(self) -> Preset[Any]:
        presets: dict[str, Any] = (
            MEMBRANE_PRESETS if self._task == "membranes" else CAR_PRESETS
        )
        chosen: Preset[Any] = presets[self.preset.currentData()]
        return chosen

    def _on_preset(self) -> None:
        preset = self._preset()
        self._summary.setText(preset.summary)
        device: Any = read_settings().device
        self.train.set_value(replace(preset.train, device=device))
        form: Form[Any] = (
            self.membrane_net if self._task == "membranes" else self.car_net
        )
        form.set_value(preset.network)
        self.synthetic.setValue(preset.synthetic)

    def _offer_models(self) -> None:
        before = self.start_from.currentData()
        self.start_from.clear()
        self.start_from.addItem("scratch", None)
        for model in known_models(self._session, self._task):
            if len(model.card.get("networks", ())) == 1:
                self.start_from.addItem(model.name, spelled(model))
        self.start_from.setCurrentIndex(max(0, self.start_from.findData(before)))

    def _on_start_from(self) -> None:
        """A model brings its own network."""
        self._nets.setEnabled(self.start_from.currentData() is None)
