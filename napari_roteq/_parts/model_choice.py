"""A box to choose a model: the shipped ones, the session's, or a file."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from qtpy.QtCore import Qt, Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QPushButton, QWidget

from napari_roteq._errors import JobError, explain_exception
from napari_roteq._parts.connections import connect_while_alive
from napari_roteq._session import ModelChoice, Session
from roteq_core.card import ModelFileError, find_model, read_card, shipped_models

FILE_FILTER = "Models (*.safetensors)"


def choose_model(name_or_path: str) -> ModelChoice:
    """Read the card of a model; `ModelFileError` if there is none."""
    path = find_model(name_or_path)
    card = read_card(path)
    return ModelChoice(card.name, str(path), dataclasses.asdict(card))


def known_models(session: Session, task: str | None = None) -> list[ModelChoice]:
    """Give the shipped models and the session's, for a task or for any.

    Baselines are there to be compared with: they are offered once they were opened.
    """
    choices = []
    for name in shipped_models():
        try:
            choice = choose_model(name)
        except ModelFileError:
            continue  # a broken file offers nothing to choose
        if not choice.card["settings"].get("baseline"):
            choices.append(choice)
    if session.model is not None and session.model not in choices:
        choices.append(session.model)
    return [each for each in choices if task in (None, each.card.get("task"))]


class ModelBox(QWidget):
    """Choose a model; the choice is shared with the other widgets of the viewer.

    Parameters
    ----------
    session : Session
        Gets the chosen model, and may change it.
    task : str, optional
        Offer only models for it.
    """

    model_changed = Signal(object)  # ModelChoice or None
    failed = Signal(object)  # JobError

    def __init__(self, session: Session, task: str | None = None) -> None:
        super().__init__()
        self._session = session
        self._task = task
        self._offered: list[ModelChoice] = []
        self._names = QComboBox()
        self._names.setPlaceholderText("no model yet")
        self._names.setMinimumContentsLength(8)
        self._names.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._browse = QPushButton("Open …")
        self._browse.setToolTip("Choose a model file (.safetensors)")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._names, stretch=1)
        layout.addWidget(self._browse)
        self.setFocusProxy(self._names)
        self._on_session_model(session.model)
        self._names.currentIndexChanged.connect(self._on_index_changed)
        self._browse.clicked.connect(self._on_browse)
        connect_while_alive(self, session.model_changed, self._on_session_model)

    def model(self) -> ModelChoice | None:
        """Give the chosen model."""
        index = self._names.currentIndex()
        return self._offered[index] if index >= 0 else None

    def open_file(self, path: str) -> None:
        """Choose a file; `failed` tells when it is no model for the task."""
        try:
            choice = choose_model(path)
            task = choice.card.get("task")
            if self._task not in (None, task):
                raise ModelFileError(
                    f"{Path(path).name} is a model for {task}: choose one for "
                    f"{self._task}"
                )
        except ValueError as error:
            self.failed.emit(explain_exception(error))
            return
        self._session.model = choice

    def setToolTip(self, text: str | None) -> None:
        """Put the tip where the mouse will be."""
        self._names.setToolTip(text or "")

    def _on_session_model(self, model: ModelChoice | None) -> None:
        before = self.model()
        self._offered = known_models(self._session, self._task)
        if before is not None and before not in self._offered:
            self._offered.append(before)
        wanted = model if model in self._offered else before
        was_blocked = self._names.blockSignals(True)
        self._names.clear()
        self._names.addItems([_title(each, self._offered) for each in self._offered])
        place = self._offered.index(wanted) if wanted in self._offered else 0
        self._names.setCurrentIndex(place if self._offered else -1)
        self._names.blockSignals(was_blocked)
        if self.model() != before:
            self.model_changed.emit(self.model())

    def _on_index_changed(self) -> None:
        self._session.model = self.model()
        self.model_changed.emit(self.model())

    def _on_browse(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Open a model", "", FILE_FILTER)
        if path:
            self.open_file(path)


def _title(choice: ModelChoice, among: list[ModelChoice]) -> str:
    """Name a model, by its file too where names repeat."""
    same = [each for each in among if each.name == choice.name]
    return choice.name if len(same) == 1 else f"{choice.name} ({choice.path})"


def spelled(choice: ModelChoice) -> str:
    """Give what names a model in options and commands: its short name or its file."""
    for name, path in shipped_models().items():
        if str(path) == choice.path:
            return name
    return choice.path


def no_model(task: str) -> JobError:
    """Say that a model has to be chosen first."""
    return JobError(
        f"There is no model for {task} yet: open a model file, or train one."
    )
