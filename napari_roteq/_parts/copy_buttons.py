"""Two buttons that copy what was done as a command or as Python."""

from __future__ import annotations

from collections.abc import Callable

from napari.utils.notifications import show_info
from qtpy.QtCore import Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import QApplication, QHBoxLayout, QPushButton, QWidget

from napari_roteq._errors import JobError, explain_exception
from napari_roteq._recipes import Recipe


class CopyButtons(QWidget):
    """Copy the recipe of the last run.

    Parameters
    ----------
    recipe : callable
        Gives the recipe, or None before the first run.
    """

    failed = Signal(object)  # JobError

    def __init__(self, recipe: Callable[[], Recipe | None]) -> None:
        super().__init__()
        self._recipe = recipe
        self.command = QPushButton("Copy as command")
        self.command.setToolTip("Copy the command line that makes the same files")
        self.python = QPushButton("Copy as Python")
        self.python.setToolTip("Copy the Python lines that make the same arrays")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.command)
        layout.addWidget(self.python)
        self.command.clicked.connect(lambda: self._copy(Recipe.as_cli))
        self.python.clicked.connect(lambda: self._copy(Recipe.as_python))

    def _copy(self, spell: Callable[[Recipe], str]) -> None:
        try:
            recipe = self._recipe()
            if recipe is None:
                raise JobError("There is nothing to copy yet: run something first.")
            text = spell(recipe)
        except (JobError, ValueError) as error:
            self.failed.emit(explain_exception(error))
            return
        clipboard = QApplication.clipboard()
        assert clipboard is not None
        clipboard.setText(text)
        show_info("Copied to the clipboard.")
