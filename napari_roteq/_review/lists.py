"""Lists of a review: the queue with its order and filter, and the keys."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import Qt, Signal  # type: ignore[attr-defined]
from qtpy.QtGui import QKeySequence
from qtpy.QtWidgets import (
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QKeySequenceEdit,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from napari_roteq._headings.car_table import CarTableView
from napari_roteq._review.edits import Edit
from napari_roteq._review.keys import COMMANDS, read_keys, reset_keys, store_key
from napari_roteq._review.order import Order
from napari_roteq._review.queue import ReviewQueue
from roteq_core.tables import (
    ACCEPTED,
    AXIS_ONLY,
    EDITED,
    MACHINE,
    REJECTED,
    CarTable,
)

_ORDERS: dict[str, Order] = {
    "Most uncertain first": "uncertain",
    "Model against label": "disagreement",
    "Reading order": "reading",
    "Random sample": "random",
}
_FILTERS: dict[str, tuple[str, ...] | None] = {
    "All cars": None,
    "To do": ("", MACHINE, AXIS_ONLY, "outside image", "no contrast"),
    "Machine": (MACHINE,),
    "Front unknown": (AXIS_ONLY, "", "outside image", "no contrast"),
    "Edited": (EDITED,),
    "Accepted": (ACCEPTED,),
    "Rejected": (REJECTED,),
}
# How Qt writes some keys, and how napari does.
_QT_NAMES = {
    "Return": "Enter",
    "Del": "Delete",
    "Esc": "Escape",
    "PgUp": "PageUp",
    "PgDown": "PageDown",
    "Ins": "Insert",
}


class QueueList(QWidget):
    """The cars in the order they are reviewed; choosing one goes to it."""

    order_chosen = Signal()
    car_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.order = _choice(_ORDERS, "In which order cars are shown")
        self.shown = _choice(_FILTERS, "Which cars are shown")
        self.sample = QSpinBox()
        self.sample.setRange(1, 1_000_000)
        self.sample.setValue(100)
        self.sample.setToolTip("How many cars to draw at random")
        self.sample.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.table = CarTableView(is_sortable=False)
        self.table.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._ids: list[str] = []
        self._rows: dict[str, int] = {}
        row = QHBoxLayout()
        for part in (self.order, self.shown, self.sample):
            row.addWidget(part)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.addLayout(row)
        layout.addWidget(self.table)
        self.order.currentIndexChanged.connect(self._on_order)
        self.shown.currentIndexChanged.connect(self._on_order)
        self.sample.editingFinished.connect(self._on_order)
        self.table.chosen.connect(self._on_chosen)
        self.sample.hide()

    def apply_to(self, queue: ReviewQueue, file: str | None = None) -> None:
        """Put a queue in the chosen order."""
        order: Order = self.order.currentData()
        sample = self.sample.value() if order == "random" else None
        queue.set_order(
            order, statuses=self.shown.currentData(), file=file, sample=sample
        )

    def show_queue(self, queue: ReviewQueue) -> None:
        """List the cars of a queue in its order."""
        self._ids = queue.ids
        self._rows = {car_id: row for row, car_id in enumerate(self._ids)}
        self.table.show_table(CarTable(tuple(map(queue.car, self._ids))))
        self.show_current(queue)

    def show_edit(self, edit: Edit, queue: ReviewQueue) -> None:
        """Bring the rows that an edit has changed up to date."""
        for change in edit.changes:
            row = self._rows.get(change.car_id)
            if change.after is None or row is None:
                self.show_queue(queue)
                return
            self.table.show_car(row, change.after)

    def show_current(self, queue: ReviewQueue) -> None:
        """Mark the current car."""
        row = self._rows.get(queue.current or "")
        self.table.choose([] if row is None else [row])

    def place_of(self, car_id: str | None) -> tuple[int, int]:
        """Give the place of a car in the order, from 1, and how many there are."""
        return self._rows.get(car_id or "", -1) + 1, len(self._ids)

    def _on_order(self) -> None:
        self.sample.setVisible(self.order.currentData() == "random")
        for part in (self.order, self.shown, self.sample):
            part.clearFocus()  # the keys are the review's
        self.order_chosen.emit()

    def _on_chosen(self, rows: list[int]) -> None:
        if len(rows) == 1 and rows[0] < len(self._ids):
            self.car_chosen.emit(self._ids[rows[0]])


class KeyList(QScrollArea):
    """Every command with its key, to look up and to change."""

    changed = Signal(dict)
    failed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        inside = QWidget()
        rows = QFormLayout(inside)
        self.edits: dict[str, QKeySequenceEdit] = {}
        for name, command in COMMANDS.items():
            edit = QKeySequenceEdit()
            edit.setToolTip(f"{command.tip}. Click, then press another key")
            edit.editingFinished.connect(lambda name=name: self._on_edited(name))
            rows.addRow(command.label, edit)
            self.edits[name] = edit
        self._reset = QPushButton("Reset keys")
        self._reset.clicked.connect(self._on_reset)
        rows.addRow(self._reset)
        self.setWidget(inside)
        self.setWidgetResizable(True)
        self.show_keys(read_keys())

    def show_keys(self, keys: dict[str, str]) -> None:
        """Show keys."""
        for name, edit in self.edits.items():
            was_blocked = edit.blockSignals(True)
            edit.setKeySequence(QKeySequence(keys[name]))
            edit.blockSignals(was_blocked)

    def _on_edited(self, name: str) -> None:
        edit = self.edits[name]
        text = edit.keySequence().toString(QKeySequence.SequenceFormat.PortableText)
        try:
            keys = store_key(name, napari_name(text))
        except ValueError as error:
            self.failed.emit(str(error))
            self.show_keys(read_keys())
            return
        edit.clearFocus()
        self.changed.emit(keys)

    def _on_reset(self) -> None:
        keys = reset_keys()
        self.show_keys(keys)
        self.changed.emit(keys)


def napari_name(text: str) -> str:
    """Write a key of Qt as napari does; of several only the first counts."""
    first = text.split(", ")[0]
    *modifiers, key = first.split("+") if first != "+" else [first]
    return "+".join([*modifiers, _QT_NAMES.get(key, key)])


def _choice(names: dict[str, Any], tip: str) -> QComboBox:
    box = QComboBox()
    for name, value in names.items():
        box.addItem(name, value)
    box.setToolTip(tip)
    box.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
    policy = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
    box.setSizeAdjustPolicy(policy)
    box.setMinimumContentsLength(9)
    return box
