"""A config dataclass as a form, and back.

Defaults, limits, labels and tips live once, in the metadata of the fields: `label`,
`tip`, `unit`, `low`, `high`, `step`, `choices`, `advanced`, `none` (what None means),
`hidden`. A field that cannot be edited keeps the value it was given.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Generic, TypeVar, get_type_hints

from qtpy.QtCore import Qt, Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import (
    QCheckBox,
    QFormLayout,
    QLabel,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from napari_roteq._parts.editors import Editor, default_of, editor_for

Config = TypeVar("Config")


class Form(QWidget, Generic[Config]):
    """Edit a config.

    Parameters
    ----------
    config : dataclass or instance of one
        A class gives its defaults, an instance its own values.
    skip : tuple of str
        Fields that the widget asks for in another way.
    folded : str
        What stands over the fields that most people leave alone.
    parent : QWidget, optional
        As in Qt.
    """

    changed = Signal()

    def __init__(
        self,
        config: type[Config] | Config,
        *,
        skip: tuple[str, ...] = (),
        folded: str = "Advanced",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        value: Any = config() if isinstance(config, type) else config
        self._value: Any = value
        self._folded = folded
        self._editors: dict[str, Editor] = {}
        self._plain = _form_layout()
        self._advanced = _form_layout()
        hints = get_type_hints(type(value))
        for field in dataclasses.fields(value):
            if (
                field.init
                and field.name not in skip
                and not field.metadata.get("hidden")
            ):
                self._add_row(field, hints[field.name])
        self._lay_out()
        self.set_value(value)

    def value(self) -> Config:
        """Give the config as edited; ValueError if its parts do not go together."""
        config: Config = dataclasses.replace(self._value, **self._edited())
        return config

    def set_value(self, config: Config) -> None:
        """Show another config; `changed` is sent once, if anything did."""
        before = self._edited()
        was_blocked = self.blockSignals(True)
        try:
            for name, editor in self._editors.items():
                editor.set_value(getattr(config, name))
        finally:
            self.blockSignals(was_blocked)
        self._value = config
        if self._edited() != before:
            self.changed.emit()

    def _edited(self) -> dict[str, Any]:
        return {name: editor.value() for name, editor in self._editors.items()}

    def problem(self) -> str | None:
        """Say what is wrong with the values, or None."""
        try:
            self.value()
        except ValueError as error:
            return str(error)
        return None

    def editor(self, name: str) -> Editor:
        """Give the editor of a field, to place or disable it."""
        return self._editors[name]

    def _add_row(self, field: dataclasses.Field, annotation: Any) -> None:
        options = field.metadata
        name = options.get("label", field.name.replace("_", " ").capitalize())
        default = default_of(field)
        editor = editor_for(annotation, options, label=name, default=default)
        if editor is None:
            return
        self._editors[field.name] = editor
        editor.setObjectName(field.name)
        editor.changed.connect(self.changed)
        layout = self._advanced if options.get("advanced") else self._plain
        tip = options.get("tip", "")
        editor.part.setToolTip(" ".join(filter(None, (tip, editor.part.toolTip()))))
        editor.part.setAccessibleName(name)
        if isinstance(editor.part, QCheckBox) and editor.part.text():
            layout.addRow(editor)  # the box carries its own label
            return
        label = QLabel(name)
        label.setToolTip(tip)
        label.setBuddy(editor.part)
        layout.addRow(label, editor)

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(self._plain)
        if self._advanced.rowCount():
            layout.addWidget(_Folded(self._folded, self._advanced))


class _Folded(QWidget):
    """Rows behind a heading; folded rows are hidden, so that Tab passes them by."""

    def __init__(self, title: str, rows: QFormLayout) -> None:
        super().__init__()
        self.heading = QToolButton()
        self.heading.setText(title)
        self.heading.setToolTip("Show or hide the settings most people leave alone")
        self.heading.setCheckable(True)
        self.heading.setAutoRaise(True)
        self.heading.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._inside = QWidget()
        self._inside.setLayout(rows)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.heading)
        layout.addWidget(self._inside)
        self.heading.toggled.connect(self._on_toggled)
        self._on_toggled(False)

    def _on_toggled(self, is_open: bool) -> None:
        arrow = Qt.ArrowType.DownArrow if is_open else Qt.ArrowType.RightArrow
        self.heading.setArrowType(arrow)
        self._inside.setVisible(is_open)


def _form_layout() -> QFormLayout:
    layout = QFormLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    return layout
