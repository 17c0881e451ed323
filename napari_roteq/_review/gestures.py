"""What the mouse does in a review: draw a heading, add a car, go to one (no Qt)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from napari_roteq._review.frame import Frame
from napari_roteq._review.layers import Place, ReviewLayers
from roteq_core.angles import heading_from_angle
from roteq_core.tables import EDITED, Car

Tool = Literal["browse", "draw", "add", "edit"]
_STILL_PX = 4.0  # of the canvas; a mouse that moved less was clicked


@dataclass(frozen=True)
class Stroke:
    """A drag over the image.

    Parameters
    ----------
    start, end : (float, float)
        x and y, from the tail to the head of a car.
    """

    start: Place
    end: Place

    @property
    def middle(self) -> Place:
        """Halfway."""
        (x, y), (u, v) = self.start, self.end
        return (x + u) / 2, (y + v) / 2

    @property
    def length(self) -> float:
        """In pixels of the image."""
        return math.dist(self.start, self.end)

    @property
    def heading_cw_from_up_deg(self) -> float:
        """Where it points."""
        (x, y), (u, v) = self.start, self.end
        return float(heading_from_angle(math.atan2(v - y, u - x)))


def missed_car(where: Place | Stroke, usual: tuple[float, float]) -> Car:
    """Make a car of a click, or of a drag from its tail to its head.

    Parameters
    ----------
    where : (float, float) or Stroke
        Its center; or where it lies and points, which is then a person's word.
    usual : (float, float)
        Length and width of other cars.
    """
    length, width = usual
    if not isinstance(where, Stroke):
        return Car(*where, length, width)
    size = where.length, where.length * width / length
    return Car(*where.middle, *size, where.heading_cw_from_up_deg, status=EDITED)


class Gestures:
    """Listens to the mouse over the canvas while a review is open.

    Parameters
    ----------
    viewer : Viewer
    frame : Frame
        Where the cars are.
    layers : ReviewLayers
        Shows the arrow that is being drawn.
    on_draw : callable
        Called with a `Stroke`: a heading was drawn.
    on_add : callable
        Called with a place (x, y) or a `Stroke`: a car is to be added.
    on_click : callable
        Called with a place (x, y).
    """

    def __init__(
        self,
        viewer: Any,
        frame: Frame,
        layers: ReviewLayers,
        *,
        on_draw: Callable[[Stroke], None],
        on_add: Callable[[Place | Stroke], None],
        on_click: Callable[[Place], None],
    ) -> None:
        self._viewer = viewer
        self._frame = frame
        self._layers = layers
        self._on_draw = on_draw
        self._on_add = on_add
        self._on_click = on_click
        self.tool: Tool = "browse"
        self._callback = self._on_drag  # one object, so that it can be taken out
        viewer.mouse_drag_callbacks.append(self._callback)

    def close(self) -> None:
        """Listen no more; the mouse moves the view again."""
        if self._callback in self._viewer.mouse_drag_callbacks:
            self._viewer.mouse_drag_callbacks.remove(self._callback)
        self.set_tool("browse")

    def set_tool(self, tool: Tool) -> None:
        """Say what dragging does: `edit` leaves it to napari's handles."""
        self.tool = tool
        box, self._layers.held = self._layers.box, None
        box.mode = "select" if tool == "edit" else "pan_zoom"
        if tool != "edit":
            box.mouse_pan = tool == "browse"
        elif len(box.data):
            box.selected_data = {0}

    def _tool_for(self, event: Any) -> Tool:
        if self.tool == "browse" and "Shift" in event.modifiers:
            return "draw"
        if self.tool == "browse" and "Control" in event.modifiers:
            return "add"
        return self.tool

    def _on_drag(self, _viewer: Any, event: Any) -> Iterator[None]:
        if event.button != 1:
            return
        tool = self._tool_for(event)
        start, pressed = self._frame.from_world(event.position), tuple(event.pos)
        is_drawn = tool in ("draw", "add")
        yield
        while event.type == "mouse_move":
            if is_drawn and math.dist(event.pos, pressed) > _STILL_PX:
                self._layers.preview((start, self._frame.from_world(event.position)))
            yield
        if is_drawn:
            self._layers.preview(None)
        is_still = math.dist(event.pos, pressed) <= _STILL_PX
        end = self._frame.from_world(event.position)
        self._finish(tool, start, None if is_still else Stroke(start, end))

    def _finish(self, tool: Tool, start: Place, stroke: Stroke | None) -> None:
        if tool == "add":
            self._on_add(start if stroke is None else stroke)
        elif stroke is None:
            self._on_click(start)
        elif tool == "draw":
            self._on_draw(stroke)
