"""The Card page of the Train widget: say what the model is, and save it."""

from __future__ import annotations

from qtpy.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from napari_roteq._parts.form import Form
from roteq_core.card_text import CardText


class CardTab(QWidget):
    """A form for the model's card, and a button to save the model with it."""

    def __init__(self) -> None:
        super().__init__()
        self.form: Form[CardText] = Form(CardText)
        self.save = QPushButton("Save model …")
        self.save.setToolTip("Write the model with this card to a file, to share it")
        self.save.setEnabled(False)
        self.status = QLabel("Train first; the model is then used by all widgets.")
        self.status.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.addWidget(self.form)
        layout.addWidget(self.save)
        layout.addWidget(self.status)
        layout.addStretch()

    def value(self) -> CardText:
        """Give what was written."""
        return self.form.value()

    def set_value(self, text: CardText) -> None:
        """Show other text."""
        self.form.set_value(text)
