"""How a vector field is drawn, as sliders."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import Qt, Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import QComboBox, QFormLayout, QWidget
from superqt import QLabeledDoubleSlider

from napari_roteq._field.results import FieldStyle

_COLORS = {"Direction": "direction", "Strength": "strength"}


class StyleForm(QWidget):
    """Edit a `FieldStyle`."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        style = FieldStyle()
        self._spacing = _slider(6, 48, 1, style.spacing)
        self._length = _slider(0.2, 4, 0.1, style.length)
        self._gate = _slider(0, 1, 0.01, style.gate)
        self._color_by = QComboBox()
        for name, color_by in _COLORS.items():
            self._color_by.addItem(name, color_by)
        self._color_by.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        rows = QFormLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setVerticalSpacing(2)
        for name, part, tip in (
            (
                "Spacing",
                self._spacing,
                "Least distance of arrows in screen pixels; the "
                "strongest of each square is drawn",
            ),
            (
                "Length",
                self._length,
                "Length of a strong arrow, over the space between arrows",
            ),
            (
                "Gate",
                self._gate,
                "Arrows weaker than this share of a strong one are left out",
            ),
            (
                "Color by",
                self._color_by,
                "What the colors say: where vectors point, or how strong they are",
            ),
        ):
            part.setToolTip(tip)
            rows.addRow(name, part)
        for slider in (self._spacing, self._length, self._gate):
            slider.valueChanged.connect(self.changed)
        self._color_by.currentIndexChanged.connect(self.changed)

    def value(self) -> FieldStyle:
        """Give the style as chosen."""
        return FieldStyle(
            round(self._spacing.value(), 2),
            round(self._length.value(), 3),
            round(self._gate.value(), 4),
            self._color_by.currentData(),
        )

    def set_value(self, style: FieldStyle) -> None:
        """Show another style."""
        self._spacing.setValue(style.spacing)
        self._length.setValue(style.length)
        self._gate.setValue(style.gate)
        self._color_by.setCurrentIndex(self._color_by.findData(style.color_by))


def _slider(low: float, high: float, step: float, value: float) -> Any:
    slider: Any = QLabeledDoubleSlider(Qt.Orientation.Horizontal)
    slider.setRange(low, high)
    slider.setSingleStep(step)
    slider.setDecimals(0 if step >= 1 else len(f"{step:g}") - 2)
    slider.setValue(value)
    return slider
