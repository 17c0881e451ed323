"""A box to type a heading into, which refuses what is none."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import QLocale, Qt, Signal  # type: ignore[attr-defined]
from qtpy.QtGui import QValidator
from qtpy.QtWidgets import QDoubleSpinBox

from napari_roteq._review.typed import DECIMALS, read_heading


class HeadingBox(QDoubleSpinBox):
    """A heading to type or to step; the wheel scrolls past it.

    Qt drops characters that it does not expect as they are typed, which makes another
    number of the rest. Here all are taken, and the whole is read or refused.
    """

    refused = Signal(object)  # ValueError

    def __init__(self) -> None:
        super().__init__()
        self.is_refused = False  # whether what was typed last was no heading
        self.setLocale(QLocale.c())
        self.setRange(0.0, 360.0)
        self.setWrapping(True)
        self.setDecimals(DECIMALS)
        self.setSuffix("°")
        self.setMinimumWidth(90)
        self.setKeyboardTracking(False)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.lineEdit().textEdited.connect(self._on_edited)  # type: ignore[union-attr]

    def validate(
        self, text: str | None, position: int
    ) -> tuple[QValidator.State, str, int]:
        """Let everything be typed."""
        return QValidator.State.Acceptable, text or "", position

    def valueFromText(self, text: str | None) -> float:
        """Read what was typed; the value stays if that is no heading."""
        try:
            return read_heading(text or "")
        except ValueError as error:
            self.is_refused = True
            self.refused.emit(error)
            return self.value()

    def _on_edited(self) -> None:
        self.is_refused = False

    def wheelEvent(self, event: Any) -> None:
        """Change nothing by accident."""
        event.ignore()
