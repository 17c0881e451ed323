"""The controls of an open review, laid out; what they do is elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from qtpy.QtCore import Qt, Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QProgressBar,
    QPushButton,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from napari_roteq._parts.question import Question
from napari_roteq._review.edits import local_time
from napari_roteq._review.frame import Frame
from napari_roteq._review.heading_box import HeadingBox
from napari_roteq._review.keys import COMMANDS, TURNS
from napari_roteq._review.lists import KeyList, QueueList
from napari_roteq._review.loupe import Loupe
from napari_roteq._review.progress import AgreementView, ProgressView
from napari_roteq._review.queue import ReviewQueue
from napari_roteq._review.stats import ReviewStats
from napari_roteq._review.view import Follow
from roteq_core.tables import Car

_FOLLOW: dict[str, Follow] = {
    "Go to each car, zoom to fit": "fit",
    "Go to each car, keep my zoom": "center",
    "Move only if out of sight": "stay",
}
_ROUNDING = 0.06  # degrees; the box shows one decimal
_TOOLS = ("browse", "draw", "edit", "add")
_SHORT = {
    "Left": "←",
    "Right": "→",
    "Shift+": "⇧",
    "Ctrl+": "^",
    "Escape": "Esc",
    "Delete": "Del",
}


class ReviewPanel(QWidget):
    """Every control of an open review as a named part, and what it shows."""

    commanded = Signal(str)
    heading_typed = Signal(float)
    follow_chosen = Signal(str)

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self.title = QLabel()
        self.save = _button(
            "Save", "Write the table; the journal has then done its work"
        )
        self.finish = _button("Finish", "Close the review")
        self.export = _button(
            "Export …",
            "Write a copy as CSV, GeoJSON, DOTA, YOLO-OBB or VOC, or a training set",
        )
        self.bar = QProgressBar()
        self.loupe = Loupe()
        self.facts = QLabel()
        self.buttons = {name: _button("", "") for name in COMMANDS if name != "type"}
        for button in self.buttons.values():
            button.setMinimumWidth(10)  # a dock may be narrow
        self.heading = HeadingBox()
        self._shown: float | None = None  # the heading of the car, where it has one
        self.message = QLabel()
        self.question = Question()
        self.queue = QueueList()
        self.progress = ProgressView(viewer)
        self.agreement = AgreementView()
        self.keys = KeyList()
        self.follow = QComboBox()
        self.turned = QCheckBox("Front up")
        self.tabs = QTabWidget()
        self._prepare()
        self._lay_out()
        self._connect()

    def _prepare(self) -> None:
        self.facts.setWordWrap(True)
        self.facts.setTextFormat(Qt.TextFormat.RichText)
        self.message.setWordWrap(True)
        self.message.hide()
        self.tabs.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.follow.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.heading.setToolTip("Heading: 0° is up, 90° right; Enter sets it")
        self.turned.setChecked(True)
        self.turned.setToolTip("Turn the loupe so that the heading points up")
        self.turned.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        for name, follow in _FOLLOW.items():
            self.follow.addItem(name, follow)
        self.follow.setToolTip("What the view does when another car is reviewed")
        for name in _TOOLS:
            self.buttons[name].setCheckable(True)
        self.buttons["browse"].setChecked(True)

    def _lay_out(self) -> None:
        head = _row(self.title, self.export, self.save, self.finish)
        head.setStretch(0, 1)
        view = _row(self.turned, self.follow)
        view.setStretch(1, 1)
        part = self.buttons
        turns = [part["left_10"], part["left_1"], self.heading]
        turns += [part["right_1"], part["right_10"]]
        self.tabs.addTab(self.queue, "Queue")
        self.tabs.addTab(self.progress, "Progress")
        self.tabs.addTab(self.agreement, "Compare")
        self.tabs.addTab(self.keys, "Keys")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(head)
        layout.addWidget(self.question)
        layout.addWidget(self.bar)
        layout.addWidget(self.loupe, stretch=2)
        layout.addLayout(view)
        layout.addWidget(self.facts)
        decisions = ("accept", "flip", "reject", "delete")
        ways = ("previous", "next", "undo", "redo")
        layout.addLayout(_row(*(part[name] for name in decisions)))
        layout.addLayout(_row(*turns))
        for names in (ways, (*_TOOLS, "predict")):
            layout.addLayout(_row(*(part[name] for name in names)))
        layout.addWidget(self.message)
        layout.addWidget(self.tabs, stretch=3)

    def _connect(self) -> None:
        for name, button in self.buttons.items():
            button.clicked.connect(lambda _=False, name=name: self.commanded.emit(name))
        self.heading.valueChanged.connect(self._on_value)
        self.heading.lineEdit().returnPressed.connect(self._on_typed)  # type: ignore[union-attr]
        self.turned.toggled.connect(self.loupe.set_turned)
        self.follow.currentIndexChanged.connect(self._on_follow)
        self.keys.failed.connect(self.tell)

    def show_keys(self, keys: Mapping[str, str]) -> None:
        """Write the keys on the buttons."""
        for name, button in self.buttons.items():
            command = COMMANDS[name]
            form = "{} {}" if name in TURNS else "{} [{}]"
            button.setText(form.format(command.label, _short(keys[name])))
            button.setToolTip(f"{command.tip}. Key: {keys[name]}")
        tip = "Heading: 0° is up, 90° right. Enter sets it; key to type"
        self.heading.setToolTip(f"{tip}: {keys['type']}")

    def set_several(self, is_several: bool) -> None:
        """Say whether the table is of more images than the one under review."""
        self.progress.set_several(is_several)

    def show_tool(self, tool: str) -> None:
        """Show what the mouse does."""
        for name in _TOOLS:
            self.buttons[name].setChecked(name == tool)

    def show_place(self, queue: ReviewQueue) -> None:
        """Show where in the queue one is, and what can be undone."""
        self.queue.show_current(queue)
        place, count = self.queue.place_of(queue.current)
        name = "" if queue.path is None else queue.path.name
        star = "" if queue.is_saved else " *"
        here, whole = (
            (" here", ", all images") if self.progress.is_of_several else ("", "")
        )
        self.title.setText(f"<b>{place}</b> of {count}{here}{star}")
        self.title.setToolTip(f"{queue.path}{' (not saved yet)' if star else ''}")
        self.bar.setFormat(f"{name}{whole}: %v of %m done")
        self.buttons["undo"].setEnabled(queue.can_undo)
        self.buttons["redo"].setEnabled(queue.can_redo)

    def show_car(
        self, car: Car | None, frame: Frame, drawable: Callable[[Car], Car]
    ) -> None:
        """Show a car large, what is known of it, and who says so."""
        nothing = "No car is left in this order."
        self.facts.setText(nothing if car is None else spell(car))
        direction = None if car is None else car.drawn_cw_from_up_deg
        self._shown = None if car is None else car.heading_cw_from_up_deg
        was_blocked = self.heading.blockSignals(True)
        self.heading.setValue(direction or 0.0)
        self.heading.blockSignals(was_blocked)
        has_front = car is not None and car.heading_cw_from_up_deg is not None
        self.loupe.show_car(frame, None if car is None else drawable(car), has_front)

    def show_stats(self, stats: ReviewStats) -> None:
        """Show how much is done."""
        self.bar.setMaximum(max(stats.total, 1))
        self.bar.setValue(stats.done)
        self.progress.show_stats(stats)

    def show_tab(self, name: str) -> None:
        """Show one of the lists by its title."""
        titles = [self.tabs.tabText(i) for i in range(self.tabs.count())]
        self.tabs.setCurrentIndex(titles.index(name))

    def tell(self, text: str) -> None:
        """Say something below the buttons."""
        self.message.setText(text)
        self.message.setVisible(bool(text))

    def type_heading(self) -> None:
        """Let the user type a number."""
        self.heading.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.heading.selectAll()

    def _on_typed(self) -> None:
        self.heading.interpretText()
        self.heading.clearFocus()
        if not self.heading.is_refused:
            self._on_value()

    def _on_value(self) -> None:
        value = self.heading.value()
        if self._shown is None or abs(value - self._shown) > _ROUNDING:
            self.heading_typed.emit(value)

    def _on_follow(self) -> None:
        self.follow.clearFocus()
        self.follow_chosen.emit(self.follow.currentData())


def focus_canvas(part: QWidget) -> None:
    """Let no box of ours swallow the keys of a review."""
    window = part.window()
    if isinstance(window, QMainWindow) and window.centralWidget() is not None:
        window.centralWidget().setFocus()  # type: ignore[union-attr]


def spell(car: Car) -> str:
    """Say what is known of a car, in two lines."""
    heading = car.heading_cw_from_up_deg
    facts = [f"<b>{car.id}</b>"]
    facts.append("front unknown" if heading is None else f"<b>{heading:.1f}°</b>")
    if car.heading_sd_deg is not None:
        facts.append(f"± {car.heading_sd_deg:.1f}°")
    if car.p_flip is not None:
        facts.append(f"flip {car.p_flip:.0%}")
    said = [f"<b>{car.status or 'not reviewed'}</b>"]
    if car.reviewed_at:
        when = local_time(car.reviewed_at)
        said.append(f"by {car.reviewer or 'nobody named'}, {when}")
    if car.machine_heading_cw_from_up_deg is not None:
        said.append(f"model said {car.machine_heading_cw_from_up_deg:.1f}°")
    return " · ".join(facts) + "<br>" + " · ".join(said)


def _short(key: str) -> str:
    for long, short in _SHORT.items():
        key = key.replace(long, short)
    return key


def _button(text: str, tip: str) -> QPushButton:
    button = QPushButton(text)
    button.setToolTip(tip)
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the keys are the review's
    return button


def _row(*parts: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(3)
    for part in parts:
        row.addWidget(part)
    return row
