"""Train a model on one's own labels, and watch it learn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
from napari.utils.notifications import show_info
from qtpy.QtWidgets import QFileDialog, QMessageBox, QTabWidget, QVBoxLayout

from napari_roteq._errors import JobError, explain_exception
from napari_roteq._parts.dock_widget import JobWidget, warm_up
from napari_roteq._parts.model_choice import FILE_FILTER, choose_model
from napari_roteq._session import Session
from napari_roteq._train.card_tab import CardTab
from napari_roteq._train.controls import TrainControls
from napari_roteq._train.curves_tab import CurvesTab
from napari_roteq._train.data import TrainingData
from napari_roteq._train.data_tab import DataTab
from napari_roteq._train.report import (
    as_html,
    cost_lines,
    data_lines,
    ended_early,
)
from napari_roteq._train.run import TrainRun, new_folder, show_held_out
from napari_roteq._train.settings_tab import SettingsTab
from napari_roteq._train.trainer import Trainer
from roteq_core.training.request import TrainRequest
from roteq_core.training.run_folder import read_log


class TrainWidget(JobWidget):
    """Train a model for membranes or headings. See `JobWidget`."""

    def __init__(self, napari_viewer: Any, *, session: Session | None = None) -> None:
        super().__init__(napari_viewer, session=session)
        self.data = DataTab(napari_viewer)
        self.settings = SettingsTab(self._session)
        self.curves = CurvesTab(napari_viewer)
        self.card = CardTab()
        self.controls = TrainControls()
        self._bar = self.controls.bar
        self._trainer = Trainer(napari_viewer, self._bar)
        self._tabs = QTabWidget()
        self._lay_out()
        self._connect()
        warm_up()

    def _lay_out(self) -> None:
        self._tabs.addTab(self.data, "Data")
        self._tabs.addTab(self.settings, "Settings")
        self._tabs.addTab(self.curves, "Curves")
        self._tabs.addTab(self.card, "Card")
        layout = QVBoxLayout(self)
        layout.addWidget(self._tabs, stretch=1)
        layout.addWidget(self.controls)

    def _connect(self) -> None:
        controls, trainer = self.controls, self._trainer
        self.data.task_changed.connect(self.settings.set_task)
        self.data.check.clicked.connect(lambda: self._read(self._on_checked))
        controls.start.clicked.connect(lambda: self._read(self._on_ready))
        controls.resume.clicked.connect(self._on_resume)
        controls.open_run.clicked.connect(self._on_open)
        controls.discard.clicked.connect(self._on_discard)
        controls.update_labels.clicked.connect(self._on_update)
        self.card.save.clicked.connect(self._on_save)
        self._bar.running_changed.connect(self._show_state)
        trainer.began.connect(self._on_began)
        trainer.epoch_done.connect(self.curves.add)
        trainer.noted.connect(self.curves.note)
        trainer.model_ready.connect(self._on_model)
        trainer.saved.connect(self._on_saved)
        trainer.discarded.connect(self._on_discarded)

    @property
    def is_training(self) -> bool:
        """Whether a model is being trained."""
        return self._trainer.is_training

    @property
    def run_folder(self) -> Path | None:
        """The folder of the present run."""
        return None if self._trainer.run is None else self._trainer.run.folder

    def value(self) -> TrainRequest:
        """Give what a training is asked, as chosen."""
        return self.settings.request(self.card.value())

    def set_value(self, request: TrainRequest) -> None:
        """Show what a training is asked."""
        self.data.set_task(request.task)
        self.settings.set_request(request)
        self.card.set_value(request.card)

    def start(self) -> None:
        """Do what the Start button does."""
        self.controls.start.click()

    def check(self) -> None:
        """Do what the Check button does."""
        self.data.check.click()

    def resume(self, folder: Path) -> None:
        """Go on with the run in a folder."""
        self._trainer.resume(Path(folder))

    def save(self, path: str) -> None:
        """Write the model of the present run to a file, with the card as written."""
        self._trainer.save(path, self.card.value())

    def _read(self, then: Any) -> None:
        """Read the data in a thread, then check them or train."""
        try:
            self.value()  # the settings go together
            reader, images = self.data.reader(), self._images()
        except (JobError, ValueError, OSError) as error:
            self._bar.show_error(explain_exception(error))
            return
        self._trainer.read(reader, lambda data: then(data, images))

    def _images(self) -> list[Any]:
        return self.data.image_layers() if self.data.has_layers() else []

    def _on_checked(self, data: TrainingData, images: list[Any]) -> None:
        """The data are good: show them, and try what the training costs."""
        lines = self._tell(data, images)

        def show(cost: dict[str, Any]) -> None:
            on_cpu = cost["device"] == "cpu"
            free = psutil.virtual_memory().available if on_cpu else None
            self.data.show_report(as_html([*lines, *cost_lines(cost, free)]))

        self._trainer.try_cost(self.value(), data.checked_pixels, show)

    def _tell(self, data: TrainingData, images: list[Any]) -> list[str]:
        lines = data_lines(data.task, data.items, data.left_out)
        show_held_out(self._viewer, data, images)
        self.data.show_report(as_html(lines))
        return lines

    def _on_ready(self, data: TrainingData, images: list[Any]) -> None:
        """The data are good: train."""
        self._tell(data, images)
        request = self._with_pixel_size(self.value())
        folder = new_folder(self.settings.runs_folder(), data.name)
        self._trainer.start(TrainRun(folder, request, data, images))

    def _with_pixel_size(self, request: TrainRequest) -> TrainRequest:
        """Take the pixel size from the layer's units, where nobody wrote one."""
        if request.card.pixel_size_nm is not None or request.task == "cars":
            return request
        card = replace(request.card, pixel_size_nm=self.data.pixel_size_nm())
        self.card.set_value(card)
        return replace(request, card=card)

    def _on_began(self, planned: TrainRun) -> None:
        """A run begins or goes on: show what it was asked and what it has behind it."""
        if planned.request != self.value():
            self.set_value(planned.request)
        planned.show_held_out(self._viewer)  # again only where it differs
        planned.show_prediction(self._viewer, planned.preview)
        self.curves.begin(planned.score_name, read_log(planned.folder))
        self._tabs.setCurrentWidget(self.curves)

    def _on_model(self, path: str) -> None:
        """Let all widgets use the model of a run."""
        self._session.model = choose_model(path)
        self.card.save.setEnabled(True)
        self.card.status.setText(f"In use in all widgets: {path}")
        patience = self.settings.train.value().patience
        early = f"Ended early: no gain for {patience} epochs. "
        is_early = ended_early(self.curves.rows, patience)
        self.curves.note(
            (early if is_early else "")
            + "The best model of this run is in use in all widgets."
        )

    def _on_saved(self, path: str) -> None:
        self._session.model = choose_model(path)
        self.card.status.setText(f"Saved, and in use in all widgets: {path}")
        show_info(f"The model was written to {path}.")

    def _on_update(self) -> None:
        planned = self._trainer.run
        if planned is None:
            return
        try:
            self._trainer.update(self.data.reader(planned.data))
        except (JobError, ValueError) as error:
            self.curves.note(f"⚠ {explain_exception(error).sentence}")

    def _on_discard(self) -> None:
        answer = QMessageBox.question(
            self,
            "Discard this training?",
            f"Its folder {self.run_folder} and the weights in it will be removed.",
        )
        if answer == QMessageBox.StandardButton.Yes:
            self._trainer.discard()

    def _on_discarded(self) -> None:
        self.curves.begin("score")
        self._show_state()

    def _on_resume(self) -> None:
        if self.run_folder is not None:
            self.resume(self.run_folder)

    def _on_open(self) -> None:
        start = str(self.settings.runs_folder())
        folder = QFileDialog.getExistingDirectory(self, "Open a run", start)
        if folder:
            self.resume(Path(folder))

    def _on_save(self) -> None:
        name = f"{self.card.value().name}.safetensors"
        path, _ = QFileDialog.getSaveFileName(self, "Save model", name, FILE_FILTER)
        if path:
            self.save(path)

    def _show_state(self) -> None:
        planned = self._trainer.run
        self.controls.set_state(
            is_busy=self._bar.is_running,
            is_training=self.is_training,
            can_resume=planned is not None and planned.can_resume,
            can_update=self.data.has_layers(),
        )
