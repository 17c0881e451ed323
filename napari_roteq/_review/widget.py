"""Review the headings of cars from the keyboard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from napari.layers import Layer
from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QStackedWidget, QVBoxLayout

from napari_roteq._errors import JobError, explain_exception
from napari_roteq._parts.connections import connect_while_alive
from napari_roteq._parts.dock_widget import DockWidget
from napari_roteq._parts.model_choice import spelled
from napari_roteq._review.begin import (
    begin,
    boxes_to_hide,
    frame_for,
    is_of,
    recover,
    write_back,
)
from napari_roteq._review.frame import Frame
from napari_roteq._review.keys import KeyBinder, read_keys
from napari_roteq._review.open import OpenReview
from napari_roteq._review.panel import ReviewPanel, focus_canvas
from napari_roteq._review.queue import ReviewQueue
from napari_roteq._review.recent import remember_table
from napari_roteq._review.recovery import Unfinished
from napari_roteq._review.saving import ReviewSaver
from napari_roteq._review.sources import file_in_table
from napari_roteq._review.start import StartPage
from napari_roteq._segment.source import path_of
from napari_roteq._session import Session


class ReviewWidget(DockWidget):
    """Go through cars one by one, and set right what is wrong. See `DockWidget`."""

    def __init__(self, napari_viewer: Any, *, session: Session | None = None) -> None:
        super().__init__(napari_viewer, session=session)
        self._review: OpenReview | None = None
        self._error: JobError | None = None
        self._boxes: Layer | None = None  # what the cars came from
        self._hidden: list[Layer] = []
        self._page = StartPage(napari_viewer, self._session)
        self._panel = ReviewPanel(napari_viewer)
        self._keys = KeyBinder(napari_viewer, self.run)
        self._saver = ReviewSaver(
            self._panel, lambda: self._review, self._show_car, self._fail
        )
        self._stack = QStackedWidget()
        self._stack.addWidget(self._page)
        self._stack.addWidget(self._panel)
        layout = QVBoxLayout(self)
        layout.addWidget(self._stack)
        self._panel.show_keys(read_keys())
        self._connect()

    def _connect(self) -> None:
        page, panel = self._page, self._panel
        page.start.clicked.connect(self.start)
        page.resume_asked.connect(self._on_resume)
        panel.commanded.connect(self.run)
        panel.queue.order_chosen.connect(self._on_order)
        panel.agreement.failed.connect(self._fail)
        panel.heading.refused.connect(self._fail)
        panel.keys.changed.connect(self._on_keys)
        panel.tabs.currentChanged.connect(self._on_tab)
        panel.finish.clicked.connect(self.finish)
        removed = self._viewer.layers.events.removed
        connect_while_alive(self, removed, self._on_layer_removed)

    @property
    def review(self) -> OpenReview | None:
        """The review that is open."""
        return self._review

    @property
    def queue(self) -> ReviewQueue | None:
        """The cars under review."""
        return None if self._review is None else self._review.queue

    @property
    def is_running(self) -> bool:
        """Whether the model has still to answer."""
        return self._review is not None and self._review.asker.is_running

    @property
    def error(self) -> JobError | None:
        """What went wrong last, if anything did."""
        return self._error

    def choose(self, boxes: Layer, image: Layer | None = None) -> None:
        """Choose what to review; `start` begins."""
        self._page.choose(boxes, image)

    def open_table(self, path: str) -> None:
        """Choose the table's file; see `start`."""
        self._page.open_table(path)

    def show_tab(self, name: str) -> None:
        """Show one of the lists: Queue, Progress, Compare or Keys."""
        self._panel.show_tab(name)

    def start(self) -> None:
        """Begin a review of what was chosen."""
        page = self._page
        boxes, path = page.boxes.layer(), page.path()
        if path is None:
            self._fail(JobError("There is nothing to review: choose boxes or a table."))
            return
        frame, reviewer = page.frame(), page.reviewer.text().strip()
        own = boxes if is_of(boxes, path) else None
        self._try(lambda: self._open(begin(path, boxes, frame, reviewer), frame, own))

    def _on_resume(self, unfinished: Unfinished) -> None:
        reviewer = self._page.reviewer.text().strip()

        def go_on() -> None:
            frame = frame_for(self._viewer, self._page.frame(), unfinished.table)
            queue = recover(unfinished, frame, reviewer)
            self._open(queue, frame, None)
            if queue.conflicts:
                self._panel.tell("\n".join(queue.conflicts))

        self._try(go_on)

    def _open(
        self, queue: ReviewQueue, frame: Frame | None, boxes: Layer | None
    ) -> None:
        """Show a queue: layers, keys, mouse, lists."""
        assert queue.path is not None
        self.close_review()
        frame = frame or frame_for(self._viewer, None, queue.path)
        file = file_in_table(queue.table, frame)
        self._page.show_error("")
        self._error = None
        remember_table(queue.path, path_of(frame.layer))
        self._boxes = boxes
        self._hidden = boxes_to_hide(self._viewer, boxes)
        for layer in self._hidden:
            layer.visible = False
        self._review = OpenReview(
            self._viewer, queue, frame, model=self._model, file=file, parent=self
        )
        self._listen(self._review)
        self._panel.set_several(file is not None)
        self._panel.tell("")
        self._stack.setCurrentWidget(self._panel)
        self._bind_keys()
        focus_canvas(self)
        self._on_order()

    def _listen(self, review: OpenReview) -> None:
        review.changed.connect(self._on_changed)
        review.moved.connect(self._show_car)
        review.typing.connect(self._panel.type_heading)
        review.tool_changed.connect(self._panel.show_tool)
        review.told.connect(self._panel.tell)
        review.failed.connect(self._fail)
        self.destroyed.connect(review.queue.close)
        panel = self._panel
        panel.heading_typed.connect(review.set_heading)
        panel.follow_chosen.connect(review.set_follow)
        panel.queue.car_chosen.connect(review.go_to_car)
        panel.agreement.chosen.connect(review.go_to)
        panel.agreement.table_of = lambda: review.queue.table
        review.set_follow(panel.follow.currentData())

    def _model(self) -> str | None:
        model = self._page.model.model()
        return None if model is None else spelled(model)

    def run(self, command: str) -> None:
        """Do a command of the review, as its key and its button do."""
        if self._review is not None:
            self._error = None
            self._panel.tell("")
            self._panel.heading.clearFocus()
            self._review.run(command)

    def _on_order(self) -> None:
        if self._review is not None:
            queue = self._review.queue
            self._panel.queue.apply_to(queue, self._review.file)
            self._panel.queue.show_queue(queue)
            self._show_all()

    def _on_keys(self, keys: dict[str, str]) -> None:
        self._panel.show_keys(keys)
        if self._keys.is_bound:
            self._bind_keys()

    def _on_changed(self, edit: Any) -> None:
        if self.queue is not None:
            self._panel.queue.show_edit(edit, self.queue)
            self._show_all()

    def _on_tab(self) -> None:
        is_rose_seen = self._panel.tabs.currentWidget() is self._panel.progress
        if self.queue is not None and is_rose_seen:
            self._panel.progress.show_cars(self.queue.cars())

    def _show_all(self) -> None:
        assert self.queue is not None
        self._panel.show_stats(self.queue.stats())
        self._on_tab()
        self._show_car()

    def _show_car(self) -> None:
        review = self._review
        assert review is not None
        self._panel.show_place(review.queue)
        self._panel.show_car(review.car, review.frame, review.layers.drawable)

    def save(self) -> bool:
        """Write the table; ask first if somebody else has changed it."""
        return self._saver.save()

    def export(self, path: str, chosen: str = "") -> None:
        """Write a copy of the reviewed cars; see `export_review`."""
        self._saver.export(path, chosen)

    def finish(self) -> None:
        """Close the review; ask first what becomes of unsaved actions."""
        self._saver.finish(self.close_review)

    def close_review(self) -> None:
        """Close the review as it is: what was not saved is offered again."""
        if self._review is None:
            return
        self._write_back()
        review, self._review = self._review, None
        self._keys.unbind()
        self._panel.question.dismiss()
        review.close()
        review.deleteLater()
        for layer in self._hidden:
            layer.visible = True
        self._hidden = []
        self._page.show_error("")
        self._stack.setCurrentWidget(self._page)
        self._page.look_for_unfinished()

    def _write_back(self) -> None:
        """Show what was done in the layer that the cars came from."""
        review = self._review
        is_there = self._boxes is not None and self._boxes in self._viewer.layers
        if review is not None and is_there:
            write_back(self._boxes, review.queue, review.frame)

    def _on_layer_removed(self, event: Any) -> None:
        review = self._review
        if review is None or review.layers.is_drawing:
            return
        if review.layers.owns(event.value) or event.value is review.frame.layer:
            QTimer.singleShot(0, self.close_review)

    def _bind_keys(self) -> None:
        if self._review is not None:
            self._keys.bind(self._review.layers.box, read_keys())

    def showEvent(self, event: Any) -> None:
        """Take the keys, and look for reviews that were not finished."""
        super().showEvent(event)
        if self._review is not None:
            self._bind_keys()
        else:
            self._page.look_for_unfinished()

    def hideEvent(self, event: Any) -> None:
        """Give the keys back while the widget is not seen."""
        super().hideEvent(event)
        self._keys.unbind()
        QTimer.singleShot(0, self._on_hidden)

    def _on_hidden(self) -> None:
        """End the review if the dock was closed, and not only hidden."""
        if self.parentWidget() is None and not self.isVisible():
            self.close_review()

    def _try(self, do: Callable[[], Any]) -> None:
        try:
            do()
        except (ValueError, OSError, JobError) as error:
            self._fail(explain_exception(error))

    def _fail(self, error: Any) -> None:
        self._error = error if isinstance(error, JobError) else explain_exception(error)
        self._page.show_error(self._error.sentence)
        self._panel.tell(f"⚠ {self._error.sentence}")
