"""A question inside a widget: a sentence and a button for each answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from qtpy.QtCore import Qt
from qtpy.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout

Answers = Mapping[str, Callable[[], Any]]


class Question(QFrame):
    """Ask without stopping the viewer; hidden while there is nothing to ask."""

    def __init__(self) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._row = QHBoxLayout()
        self.buttons: dict[str, QPushButton] = {}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 4, 6, 4)
        layout.addWidget(self._text)
        layout.addLayout(self._row)
        self.hide()

    @property
    def text(self) -> str:
        """What is being asked; empty if nothing is."""
        return "" if self.isHidden() else self._text.text()

    def ask(self, text: str, answers: Answers) -> None:
        """Ask something instead of what was asked before.

        Parameters
        ----------
        text : str
            The question.
        answers : mapping
            What the buttons say, and what each does after the question is gone.
        """
        self.dismiss()
        self._text.setText(text)
        for name, answer in answers.items():
            button = QPushButton(name)
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.clicked.connect(lambda _=False, do=answer: self._answer(do))
            self._row.addWidget(button)
            self.buttons[name] = button
        self.show()

    def dismiss(self) -> None:
        """Ask no more."""
        for button in self.buttons.values():
            self._row.removeWidget(button)
            button.hide()
            button.deleteLater()
        self.buttons = {}
        self.hide()

    def _answer(self, do: Callable[[], Any]) -> None:
        self.dismiss()
        do()
