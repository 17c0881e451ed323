"""A review in progress: the queue, what is drawn of it, and what one does to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from qtpy.QtCore import QObject, QTimer, Signal  # type: ignore[attr-defined]

from napari_roteq._errors import explain_exception
from napari_roteq._headings.cars import car_of_shape
from napari_roteq._parts.view_follower import ViewFollower
from napari_roteq._review.edits import Edit
from napari_roteq._review.external import take_box
from napari_roteq._review.frame import Frame
from napari_roteq._review.gestures import Gestures, Stroke, Tool, missed_car
from napari_roteq._review.keys import TURNS
from napari_roteq._review.layers import Place, ReviewLayers
from napari_roteq._review.order import spell_end
from napari_roteq._review.predict import HeadingAsker
from napari_roteq._review.queue import ReviewQueue
from napari_roteq._review.view import Follow, area_in_view, look_at
from roteq_core.tables import EDITED, REJECTED, Car, Disagreement

_REST = 400  # milliseconds without an action, then the dots are painted


class OpenReview(QObject):
    """Does the commands of a review and shows it in the viewer.

    Parameters
    ----------
    viewer : Viewer
    queue : ReviewQueue
    frame : Frame
        Where the cars are.
    model : callable
        Gives the name or file of the model to ask, or None.
    file : str, optional
        The image's name in a table of several.
    parent : QObject
        The widget it serves and ends with.
    """

    changed = Signal(object)  # Edit
    moved = Signal()
    typing = Signal()  # a number is to be typed
    tool_changed = Signal(str)
    told = Signal(str)
    failed = Signal(object)  # JobError

    def __init__(
        self,
        viewer: Any,
        queue: ReviewQueue,
        frame: Frame,
        *,
        model: Callable[[], str | None],
        file: str | None = None,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self.queue = queue
        self.frame = frame
        self.file = file
        self._follow: Follow = "fit"
        self._viewer = viewer
        self._model = model
        self._is_moved = False
        self.layers = ReviewLayers(viewer, queue, frame, file)
        self.gestures = Gestures(
            viewer,
            frame,
            self.layers,
            on_draw=self._on_stroke,
            on_add=self._on_missed,
            on_click=self._on_click,
        )
        self.asker = HeadingAsker(self._on_answer, self.failed.emit)
        self._soon = _timer(self, 0, self.draw)
        self._rest = _timer(self, _REST, self._on_rest)
        self._follower = ViewFollower(viewer, self)
        self._connect()
        viewer.layers.selection.active = self.layers.box

    def _connect(self) -> None:
        self.queue.changed.connect(self._on_changed)
        self.queue.moved.connect(self._on_moved)
        self.layers.box.events.data.connect(self._on_box)
        self._follower.rested.connect(self._soon.start)

    @property
    def car(self) -> Car | None:
        """The car under review."""
        return None if self.queue.current is None else self.queue.car()

    def run(self, command: str) -> None:
        """Do a command of `COMMANDS`; what cannot be done is told."""
        try:
            self._run(command)
        except (ValueError, OSError) as error:
            self.failed.emit(explain_exception(error))

    def _run(self, command: str) -> None:
        queue = self.queue
        if command in ("draw", "add", "edit", "browse"):
            self.set_tool(command)  # type: ignore[arg-type]
        elif command in ("undo", "redo"):
            if getattr(queue, command)() is None:
                self.told.emit(f"There is nothing to {command}.")
        elif command in ("next", "previous"):
            self._go(command, around=command == "next")
        elif queue.current is None:
            self.told.emit("No car is left in this order: choose another one.")
        elif command in TURNS:
            queue.nudge(TURNS[command])
        else:
            getattr(self, f"_{command}")()

    def _accept(self) -> None:
        self.queue.accept()
        self._go("next")

    def _flip(self) -> None:
        self.queue.flip()

    def _reject(self) -> None:
        if self.queue.car().status == REJECTED:
            self.queue.restore()
            return
        self.queue.reject()
        self._go("next")

    def _delete(self) -> None:
        self.queue.delete()

    def _type(self) -> None:
        self.typing.emit()

    def _predict(self) -> None:
        self._ask(self.queue.car())

    def _go(self, way: str, *, around: bool = False) -> None:
        if getattr(self.queue, way)() is not None:
            return
        skipped = self.queue.skipped
        if around and skipped:
            self.queue.go_to(skipped[0])
            self.told.emit("Back at the first car that is left in this order.")
        else:
            left = self.queue.stats().left
            self.told.emit(spell_end(way, len(skipped), left))

    def set_heading(self, degrees: float) -> None:
        """Give the current car a heading that was typed."""
        try:
            self.queue.set_heading(degrees)
        except (ValueError, OSError) as error:
            self.failed.emit(explain_exception(error))

    def set_tool(self, tool: Tool) -> None:
        """Say what the mouse does; the same tool again gives the view back."""
        again = tool == self.gestures.tool
        self._viewer.layers.selection.active = self.layers.box
        self.gestures.set_tool("browse" if again else tool)
        self.tool_changed.emit(self.gestures.tool)

    def _on_stroke(self, stroke: Stroke) -> None:
        """A heading was drawn: of the car below, else of the current one."""
        below = self.layers.car_at(*stroke.middle)
        if below is not None and below != self.queue.current:
            self.queue.go_to(below)
        if self.queue.current is not None:
            self.set_heading(stroke.heading_cw_from_up_deg)

    def _on_click(self, place: Place) -> None:
        below = self.layers.car_at(*place)
        if below is not None and below != self.queue.current:
            self.queue.go_to(below)
        self._soon.start()  # napari's tool has deselected the box

    def _on_missed(self, where: Place | Stroke) -> None:
        self.add(missed_car(where, self.layers.usual))

    def add(self, car: Car) -> None:
        """Add a car that was missed, and ask for its heading at once."""
        try:
            edit = self.queue.add(replace(car, file=self.file or ""))
        except (ValueError, OSError) as error:
            self.failed.emit(explain_exception(error))
            return
        self._ask(self.queue.car(edit.changes[0].car_id))

    def _ask(self, car: Car) -> None:
        model = self._model()
        if model is None or not self.frame.has_pixels:
            missing = "model for cars" if self.frame.has_pixels else "image"
            self.told.emit(f"There is no {missing} to tell its heading: draw one.")
            return
        self.told.emit("Asking the model …")
        self.asker.ask(self.frame, car, self.layers.usual[0], model)

    def _on_answer(self, car_id: str, answer: Car) -> None:
        known = self.queue.find(car_id)
        heading = answer.heading_cw_from_up_deg
        if known is None or heading is None:
            self.told.emit("The model sees nothing there: draw the heading.")
            return
        self.queue.set_prediction(
            heading,
            car_id,
            heading_sd_deg=answer.heading_sd_deg,
            p_flip=answer.p_flip,
            source=answer.source,
            keep_heading=known.heading_cw_from_up_deg is not None
            and known.status == EDITED,
        )
        self.told.emit(f"The model says {heading:.0f}° ± {answer.heading_sd_deg:.0f}°.")

    def _on_box(self, event: Any) -> None:
        """Take over what was done with napari's own tools."""
        if self.layers.is_drawing:
            return
        action = str(getattr(event.action, "value", event.action))
        self.layers.held = self.layers.drawn if action == "changing" else None
        try:
            self._take_over(action)
        except (ValueError, OSError) as error:
            self.failed.emit(explain_exception(error))
            self._soon.start()

    def _take_over(self, action: str) -> None:
        drawn = self.layers.drawn
        if action == "changed" and drawn is not None and len(self.layers.box.data):
            take_box(self.queue, drawn, self.layers.corners(0))
        elif action == "removed" and drawn is not None:
            self.queue.delete(drawn)
        elif action == "added" and len(self.layers.box.data) > 1:
            self.add(car_of_shape(self.layers.box.data[-1]))

    def _on_changed(self, edit: Edit) -> None:
        self.layers.take(edit)
        self._soon.start()
        self._rest.start()
        self.changed.emit(edit)

    def _on_moved(self, _car_id: str | None) -> None:
        self._is_moved = True
        self._soon.start()
        self.moved.emit()

    def draw(self) -> None:
        """Show the review as it is now, and the current car if it is a new one."""
        self._soon.stop()
        car = self.car
        if self._is_moved and car is not None:
            usual = self.layers.usual[0]
            look_at(self._viewer, self.frame, car, self._follow, usual)
        self._is_moved = False
        self.layers.draw(*area_in_view(self._viewer, self.frame))

    def set_follow(self, follow: Follow) -> None:
        """Say what the view does when another car comes; see `look_at`."""
        self._follow = follow

    def go_to_car(self, car_id: str) -> None:
        """Go to a car that was chosen in a list."""
        if car_id != self.queue.current:
            self.queue.go_to(car_id)

    def go_to(self, each: Disagreement) -> None:
        """Go to the car of a disagreement; look at one that is only the other's."""
        if each.first is not None and self.queue.find(each.first.id) is not None:
            self.queue.go_to(each.first.id)
        elif each.second is not None:
            usual = self.layers.usual[0]
            look_at(self._viewer, self.frame, each.second, self._follow, usual)

    def _on_rest(self) -> None:
        if self.layers.is_stale:
            self.layers.paint_dots()

    def close(self, *, is_viewer_open: bool = True) -> None:
        """End: unsaved actions stay in the journal."""
        self.asker.close()
        self.queue.close()
        self.queue.changed.disconnect(self._on_changed, missing_ok=True)
        self.queue.moved.disconnect(self._on_moved, missing_ok=True)
        if is_viewer_open:
            self.layers.box.events.data.disconnect(self._on_box)
            self.gestures.close()
            self.layers.remove()


def _timer(parent: QObject, milliseconds: int, do: Callable[[], None]) -> QTimer:
    timer = QTimer(parent)
    timer.setSingleShot(True)
    timer.setInterval(milliseconds)
    timer.timeout.connect(do)
    return timer
