"""Load, describe and save models; the chosen one is used by all widgets."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from napari.utils.notifications import show_info
from qtpy.QtCore import Qt
from qtpy.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
)

from napari_roteq._card_text import card_html, card_rows
from napari_roteq._errors import explain_exception
from napari_roteq._jobs import run
from napari_roteq._parts.dock_widget import JobWidget
from napari_roteq._parts.job_bar import JobBar, leave_to_the_bar
from napari_roteq._parts.model_choice import FILE_FILTER, ModelBox
from napari_roteq._parts.rich_label import rich_label
from napari_roteq._session import ModelChoice, Session


class ModelWidget(JobWidget):
    """Choose a model, read its card, keep a copy. See `JobWidget`."""

    def __init__(self, napari_viewer: Any, *, session: Session | None = None) -> None:
        super().__init__(napari_viewer, session=session)
        self._model = ModelBox(self._session)
        self._model.setToolTip("The model that the widgets of this viewer use")
        self._card = rich_label()
        self._save = QPushButton("Save a copy …")
        self._save.setToolTip("Write the model, with its card, to another file")
        self._check = QPushButton("Check")
        self._check.setToolTip(
            "Load the model, run its self-test and measure its reach"
        )
        self._bar = JobBar()
        self._lay_out()
        self._model.model_changed.connect(self._show)
        self._model.failed.connect(self._bar.show_error)
        self._save.clicked.connect(self._on_save)
        self._check.clicked.connect(self._on_check)
        self._bar.running_changed.connect(lambda on: self._check.setEnabled(not on))
        self._show(self._model.model())

    def _lay_out(self) -> None:
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(self._card)
        never = Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        scroll.setHorizontalScrollBarPolicy(never)  # lines wrap instead
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        buttons = QHBoxLayout()
        buttons.addWidget(self._check)
        buttons.addWidget(self._save)
        layout = QVBoxLayout(self)
        layout.addWidget(self._model)
        layout.addWidget(scroll, stretch=1)
        layout.addLayout(buttons)
        layout.addWidget(self._bar)

    def value(self) -> ModelChoice | None:
        """Give the model shown."""
        return self._model.model()

    def set_value(self, model: ModelChoice | None) -> None:
        """Show another model, here and in all widgets."""
        self._session.model = model

    def check(self) -> None:
        """Do what the Check button does."""
        self._check.click()

    def _show(self, model: ModelChoice | None, details: Any = None) -> None:
        self._save.setEnabled(model is not None)
        self._check.setEnabled(model is not None)
        if model is None:
            self._card.setText("There is no model yet: open a file, or train one.")
            return
        rows = [*card_rows(model.card, details), ("Path", model.path)]
        if details:
            rows.append(("Hash", details["hash"]))
        self._card.setText(card_html(rows, model.card.get("summary", "")))

    def _on_check(self) -> None:
        model = self.value()
        if model is None:
            return
        job = run(
            "roteq_core.serving.membranes:describe_model",
            model.path,
            on_result=lambda details: self._on_checked(model, details),
            on_error=leave_to_the_bar,
            title="Running the self-test",
        )
        self._bar.watch(job)

    def _on_checked(self, model: ModelChoice, details: Any) -> None:
        if model == self.value():
            self._show(model, details)

    def _on_save(self) -> None:
        model = self.value()
        if model is None:
            return
        name = Path(model.path).name
        path, _ = QFileDialog.getSaveFileName(self, "Save a copy", name, FILE_FILTER)
        if path:
            self._copy(model, Path(path))

    def _copy(self, model: ModelChoice, target: Path) -> None:
        target = target if target.suffix else target.with_suffix(".safetensors")
        try:
            shutil.copyfile(model.path, target)
        except OSError as error:
            self._bar.show_error(explain_exception(error))
            return
        show_info(f"The model was written to {target}.")
