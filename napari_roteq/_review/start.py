"""The first page of the review: what to review, and reviews left unfinished."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from napari.layers import Layer, Shapes
from napari.utils.notifications import show_info
from qtpy.QtCore import Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import (
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from napari_roteq._car_shapes import TABLE
from napari_roteq._headings.cars import index_in_view
from napari_roteq._parts.layer_choice import LayerChoice, is_source_image
from napari_roteq._parts.model_choice import ModelBox
from napari_roteq._parts.question import Question
from napari_roteq._review.begin import discard
from napari_roteq._review.edits import local_time
from napari_roteq._review.frame import Frame
from napari_roteq._review.layers import is_review_layer
from napari_roteq._review.recent import recent_tables
from napari_roteq._review.recovery import Unfinished
from napari_roteq._review.sources import (
    default_reviewer,
    suggest_file,
    table_file,
    unfinished_reviews,
)
from napari_roteq._session import Session
from napari_roteq._settings import write_setting

_TABLES = "Tables of cars (*.csv *.tsv *.geojson *.json *.txt *.xml);;All files (*)"


class StartPage(QWidget):
    """Choose boxes, an image and a table; offer what was not finished."""

    resume_asked = Signal(object)  # Unfinished

    def __init__(self, viewer: Any, session: Session) -> None:
        super().__init__()
        self._viewer = viewer
        self.offer = Question()
        self.boxes = LayerChoice(
            viewer, _is_reviewable, prefer=_likely, nothing="none: open a table"
        )
        self.image = LayerChoice(viewer, is_source_image, nothing="open an image first")
        self.table = QLineEdit()
        self._browse = QPushButton("Open …")
        self.reviewer = QLineEdit(default_reviewer())
        self.model = ModelBox(session, "cars")
        self.plan = QLabel()
        self.plan.setWordWrap(True)
        self.start = QPushButton("Start review")
        self.error = QLabel()
        self.error.setWordWrap(True)
        self._is_own = False  # whether the user chose the table
        self._declined: set[Path] = set()
        self._set_tips()
        self._lay_out()
        self._connect()
        self._on_layers()

    def _set_tips(self) -> None:
        tips = {
            self.boxes: "A Shapes layer: from Car headings, from a file, or drawn by "
            "hand",
            self.image: "The image the cars are in; of a stack the slice in view",
            self.table: "Where the review is kept: the boxes' own file, or a new one",
            self._browse: "Review a table that is not open as a layer",
            self.reviewer: "Goes into every car you decide about",
            self.model: "Asked for the heading of cars that you add",
            self.start: "Begin; every action is then kept at once beside the table",
        }
        for part, tip in tips.items():
            part.setToolTip(tip)

    def _lay_out(self) -> None:
        rows = QFormLayout()
        rows.setContentsMargins(0, 0, 0, 0)
        file = QHBoxLayout()
        file.addWidget(self.table)
        file.addWidget(self._browse)
        rows.addRow("Boxes", self.boxes)
        rows.addRow("Image", self.image)
        rows.addRow("Table", file)
        rows.addRow("Reviewer", self.reviewer)
        rows.addRow("Model", self.model)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.offer)
        layout.addLayout(rows)
        layout.addWidget(self.plan)
        layout.addWidget(self.start)
        layout.addWidget(self.error)
        layout.addStretch(1)

    def _connect(self) -> None:
        self.boxes.layer_changed.connect(self._on_layers)
        self.boxes.activated.connect(self._on_boxes_chosen)
        self.image.layer_changed.connect(self._on_layers)
        self.table.textEdited.connect(self._on_edited)
        self.table.textChanged.connect(self._show_plan)
        self._browse.clicked.connect(self._on_browse)
        self.reviewer.editingFinished.connect(self._on_reviewer)

    def path(self) -> Path | None:
        """Give the table's file."""
        text = self.table.text().strip()
        return Path(text).expanduser() if text else None

    def frame(self) -> Frame | None:
        """Give the plane that the cars are in; None without any layer."""
        image, boxes = self.image.layer(), self.boxes.layer()
        if image is not None:
            return Frame(image, index_in_view(self._viewer, image))
        return None if boxes is None else Frame(boxes, (0,) * (boxes.ndim - 2))

    def choose(self, boxes: Layer, image: Layer | None) -> None:
        """Choose what to review."""
        self._is_own = False
        self.boxes.set_layer(boxes)
        if image is not None:
            self.image.set_layer(image)
        self._on_layers()

    def open_table(self, path: str) -> None:
        """Review a table that is not open as a layer."""
        self._is_own = True
        self.table.setText(path)

    def show_error(self, text: str) -> None:
        """Say what is wrong."""
        self.error.setText(text and f"⚠ {text}")

    def look_for_unfinished(self) -> None:
        """Offer a review that was not saved, if there is one."""
        found = unfinished_reviews(self._viewer, recent_tables())
        waiting = [each for each in found if each.table.resolve() not in self._declined]
        self.offer.dismiss()
        if waiting:
            self._offer(waiting[0])

    def _offer(self, unfinished: Unfinished) -> None:
        answers = {
            "Go on": lambda: self.resume_asked.emit(unfinished),
            "Discard": lambda: self._on_discard(unfinished),
            "Later": lambda: self._on_later(unfinished),
        }
        self.offer.ask(spell_unfinished(unfinished), answers)

    def _on_discard(self, unfinished: Unfinished) -> None:
        try:
            show_info(discard(unfinished))
        except OSError as error:
            self.show_error(str(error))
        self.look_for_unfinished()

    def _on_later(self, unfinished: Unfinished) -> None:
        self._declined.add(unfinished.table.resolve())
        self.look_for_unfinished()

    def _on_layers(self, _layer: Any = None) -> None:
        boxes = self.boxes.layer()
        if not self._is_own and boxes is not None:
            own = table_file(boxes)
            suggested = own or suggest_file(self.image.layer(), boxes)
            self.table.setText(str(suggested))
        self._show_plan()
        self.look_for_unfinished()

    def _on_boxes_chosen(self) -> None:
        self._is_own = False
        self._on_layers()

    def _on_edited(self) -> None:
        self._is_own = True

    def _on_browse(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Review a table", "", _TABLES)
        if path:
            self.open_table(path)

    def _on_reviewer(self) -> None:
        name = self.reviewer.text().strip()
        if name != default_reviewer():
            write_setting("reviewer", name)

    def _show_plan(self) -> None:
        self.plan.setText(self._plan())

    def _plan(self) -> str:
        """Say what Start does."""
        path, boxes = self.path(), self.boxes.layer()
        if path is None and boxes is None:
            return "Choose boxes or open a table."
        if path is not None and path.is_file():
            return f"Reviews the cars of {path.name} and saves them there."
        if boxes is None or path is None:
            return "There is no such table: choose boxes, or open one."
        return f"Writes {len(boxes.data)} boxes to the new file {path.name}, to review."


def spell_unfinished(unfinished: Unfinished) -> str:
    """Say what was not finished."""
    by = f" by {unfinished.reviewer}" if unfinished.reviewer else ""
    count = unfinished.actions
    text = (
        f"A review of {unfinished.table.name}{by} was not saved: {count} "
        f"action{'' if count == 1 else 's'} until {local_time(unfinished.last)}."
    )
    if unfinished.is_table_changed:
        text += " The table has been changed since; cars are found by id and place."
    return text


def _is_reviewable(layer: Layer) -> bool:
    return isinstance(layer, Shapes) and not is_review_layer(layer)


def _likely(layer: Layer) -> int:
    """Prefer cars, and of those what a model or a file gave."""
    return 2 * (TABLE in layer.metadata) + bool(len(layer.data))
