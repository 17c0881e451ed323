"""Small editors of one value each: `value()`, `set_value()`, `changed`.

`editor_for` picks the editor for a field of a dataclass from its type and metadata.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from qtpy.QtCore import QLocale, Qt, Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)

_LARGEST_INT = 2**31 - 1
_LARGEST_FLOAT = 1e12


class Editor(QWidget):
    """An editor of one value; subclasses hold the widget in `self.part`."""

    changed = Signal()

    def __init__(self, part: QWidget) -> None:
        super().__init__()
        self.part = part
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(part, stretch=1)
        self.setFocusProxy(part)

    def value(self) -> Any:
        """Give the value shown."""
        raise NotImplementedError

    def set_value(self, value: Any) -> None:
        """Show a value."""
        raise NotImplementedError


class _BoolEditor(Editor):
    def __init__(self, label: str) -> None:
        super().__init__(part := QCheckBox(label))
        self._box = part
        part.toggled.connect(self.changed)

    def value(self) -> bool:
        return self._box.isChecked()

    def set_value(self, value: bool) -> None:
        self._box.setChecked(bool(value))


class _IntEditor(Editor):
    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(part := _SpinBox())
        self._box = part
        part.setRange(*_limits(options, _LARGEST_INT))
        part.setSingleStep(options.get("step", 1))
        part.setSuffix(_suffix(options))
        part.valueChanged.connect(self.changed)

    def value(self) -> int:
        return self._box.value()

    def set_value(self, value: int) -> None:
        _check_range(value, self._box.minimum(), self._box.maximum())
        self._box.setValue(int(value))


class _FloatEditor(Editor):
    def __init__(self, options: Mapping[str, Any], default: Any) -> None:
        super().__init__(part := _DoubleSpinBox())
        self._box = part
        self._exact: float | None = None  # what was set, before the box rounds it
        numbers = [default, *(options.get(name) for name in ("step", "low", "high"))]
        part.setDecimals(max([2, *(_digits(n) for n in numbers if n is not None)]))
        part.setRange(*_limits(options, _LARGEST_FLOAT))
        if "step" in options:
            part.setSingleStep(options["step"])
        else:
            part.setStepType(part.StepType.AdaptiveDecimalStepType)
        part.setSuffix(_suffix(options))
        part.valueChanged.connect(self._on_value_changed)

    def value(self) -> float:
        return self._box.value() if self._exact is None else self._exact

    def set_value(self, value: float) -> None:
        _check_range(value, self._box.minimum(), self._box.maximum())
        self._box.setValue(value)
        self._exact = float(value)

    def _on_value_changed(self) -> None:
        self._exact = None
        self.changed.emit()


class _ChoiceEditor(Editor):
    def __init__(self, choices: Sequence[Any]) -> None:
        super().__init__(part := _ComboBox())
        self._box = part
        self._choices = list(choices)
        part.addItems([str(choice) for choice in choices])
        part.currentIndexChanged.connect(self.changed)

    def value(self) -> Any:
        return self._choices[self._box.currentIndex()]

    def set_value(self, value: Any) -> None:
        if value not in self._choices:
            raise ValueError(
                f"the choice must be one of {self._choices}, got {value!r}"
            )
        self._box.setCurrentIndex(self._choices.index(value))


class _TextEditor(Editor):
    def __init__(self) -> None:
        super().__init__(part := QLineEdit())
        self._line = part
        part.textChanged.connect(self.changed)

    def value(self) -> Any:
        return self._line.text()

    def set_value(self, value: Any) -> None:
        self._line.setText(str(value))


class _PathEditor(_TextEditor):
    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__()
        self._is_folder = options.get("folder", False)
        browse = QPushButton("…")
        browse.setToolTip("Choose it in a dialog")
        browse.clicked.connect(self._on_browse)
        layout = self.layout()
        assert layout is not None
        layout.addWidget(browse)

    def value(self) -> Path:
        return Path(self._line.text())

    def _on_browse(self) -> None:
        ask = QFileDialog.getOpenFileName
        if self._is_folder:
            chosen = QFileDialog.getExistingDirectory(self)
        else:
            chosen, _ = ask(self)
        if chosen:
            self.set_value(chosen)


class _OptionalEditor(Editor):
    """Another editor with a box to tick; unticked is None."""

    def __init__(self, inner: Editor, label_of_none: str) -> None:
        super().__init__(part := QCheckBox())
        self._inner = inner
        self._box = part
        self._box.setToolTip(f"Unticked: {label_of_none}")
        layout = self.layout()
        assert isinstance(layout, QHBoxLayout)
        layout.setStretch(0, 0)
        layout.addWidget(inner, stretch=1)
        inner.setEnabled(False)
        self._box.toggled.connect(inner.setEnabled)
        self._box.toggled.connect(self.changed)
        inner.changed.connect(self.changed)

    def value(self) -> Any:
        return self._inner.value() if self._box.isChecked() else None

    def set_value(self, value: Any) -> None:
        if value is not None:
            self._inner.set_value(value)
        self._box.setChecked(value is not None)


def editor_for(
    annotation: Any, options: Mapping[str, Any], *, label: str = "", default: Any = None
) -> Editor | None:
    """Make the editor for a type, or None if there is no way to edit it.

    Parameters
    ----------
    annotation : type
        bool, int, float, str, Path, a Literal, or one of these `| None`.
    options : mapping
        `low`, `high`, `step`, `choices`, `unit`, `none` (what None means), `folder`.
    label : str
        Stands beside the box of a bool.
    default : value, optional
        Its digits are shown.
    """
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        if len(kinds) != 1:
            return None
        inner = editor_for(kinds[0], options, default=default)
        return inner and _OptionalEditor(inner, options.get("none", "automatic"))
    if "choices" in options:
        return _ChoiceEditor(options["choices"])
    if get_origin(annotation) is Literal:
        return _ChoiceEditor(get_args(annotation))
    makers = {
        bool: lambda: _BoolEditor(label),
        int: lambda: _IntEditor(options),
        float: lambda: _FloatEditor(options, default),
        str: _TextEditor,
        Path: lambda: _PathEditor(options),
    }
    return makers[annotation]() if annotation in makers else None


def default_of(field: dataclasses.Field) -> Any:
    """Give the default of a field, None if it has none."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default


class _PatientWheel:
    """Let the wheel scroll the panel unless the box was clicked first."""

    def wheelEvent(self, event: Any) -> None:
        if self.hasFocus():  # type: ignore[attr-defined]
            super().wheelEvent(event)  # type: ignore[misc]
        else:
            event.ignore()


class _SpinBox(_PatientWheel, QSpinBox):
    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)


class _DoubleSpinBox(_PatientWheel, QDoubleSpinBox):
    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setLocale(QLocale.c())  # a point, as in files and on the command line

    def textFromValue(self, value: float) -> str:
        text = f"{value:.{self.decimals()}f}"
        return text.rstrip("0").rstrip(".") or "0"


class _ComboBox(_PatientWheel, QComboBox):
    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)


def _limits(options: Mapping[str, Any], largest: Any) -> tuple[Any, Any]:
    low, high = options.get("low"), options.get("high")
    return -largest if low is None else low, largest if high is None else high


def _suffix(options: Mapping[str, Any]) -> str:
    return f" {options['unit']}" if options.get("unit") else ""


def _digits(number: float) -> int:
    """Count the digits after the point that are needed to write a number."""
    return len(f"{float(number):.10f}".rstrip("0").partition(".")[2])


def _check_range(value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"the value must lie in [{low:g}, {high:g}], got {value}")
