"""The layers of a review: a dot for every car, arrows in view, one box (no Qt).

napari's Shapes layer takes time in proportion to its boxes at every change. Only the
car under review therefore has a box, with napari's handles; its neighbors have arrows,
and cars far away are dots.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from napari.layers import Points, Shapes, Vectors

from napari_roteq._headings.cars import typical_size
from napari_roteq._layers import METADATA, arrows_layer, row_column
from napari_roteq._review.edits import Edit
from napari_roteq._review.frame import Frame
from napari_roteq._review.queue import ReviewQueue
from roteq_core.tables import ACCEPTED, EDITED, REJECTED, Car, box_corners

MOST_ARROWS = 300
ROLE = "review"
Place = tuple[float, float]
CURRENT = (1.0, 0.92, 0.2, 1.0)
WAITING = (0.30, 0.79, 0.94, 1.0)
COLORS = {
    ACCEPTED: (0.23, 0.75, 0.40, 1.0),
    EDITED: (0.93, 0.55, 0.20, 1.0),
    REJECTED: (0.80, 0.25, 0.35, 0.7),
}


class ReviewLayers:
    """Show a review in a viewer.

    Parameters
    ----------
    viewer : Viewer
    queue : ReviewQueue
        What is reviewed.
    frame : Frame
        Where the cars are.
    file : str, optional
        The image's name in the table: other cars are not drawn.
    """

    def __init__(
        self, viewer: Any, queue: ReviewQueue, frame: Frame, file: str | None = None
    ) -> None:
        self._viewer = viewer
        self._queue = queue
        self._frame = frame
        self._file = file
        self._preview: np.ndarray | None = None
        self._lines = np.zeros((0, 2, frame.layer.ndim))
        self._line_colors = np.zeros((0, 4))
        self.is_drawing = False  # whether the box changes because we change it
        self.is_stale = False  # whether the dots do not show the last edits yet
        self.drawn: str | None = None  # the car that has the box
        self.held: str | None = None  # the car whose box the mouse is moving
        self.usual = typical_size(queue.cars())
        self._collect()
        self.dots, self.arrows, self.box = self._make()
        self.paint_dots()

    def _make(self) -> tuple[Any, Any, Any]:
        metadata = {METADATA: {"role": ROLE}}
        place = {**self._frame.options(), "metadata": metadata}
        length, ndim = self.usual[0], self._frame.layer.ndim
        dots = Points(
            ndim=ndim,
            name="cars (review)",
            size=length / 6,
            border_width=0,
            opacity=0.7,
            **place,
        )
        arrows = Vectors(
            self._lines,
            name="headings (review)",
            vector_style="arrow",
            edge_width=length / 9,
            opacity=0.85,
            **place,
        )
        box = Shapes(
            ndim=ndim,
            name="box (review)",
            face_color="transparent",
            edge_color=[CURRENT],
            edge_width=length / 24,
            **place,
        )
        with self._drawing():
            for layer in (dots, arrows, box):
                self._viewer.add_layer(layer)
        box.current_edge_width = length / 24
        return dots, arrows, box

    def _collect(self) -> None:
        cars = [car for car in self._queue.cars() if self._is_here(car)]
        self._ids = [car.id for car in cars]
        self._rows = {car_id: row for row, car_id in enumerate(self._ids)}
        self._xy = np.array([(c.cx, c.cy) for c in cars], float).reshape(-1, 2)
        colors = [color_of_status(car.status) for car in cars]
        self._colors = np.array(colors, float).reshape(-1, 4)

    def _is_here(self, car: Car) -> bool:
        return self._file is None or car.file in ("", self._file)

    def take(self, edit: Edit) -> None:
        """Note what an edit has changed; `draw` and `paint_dots` show it."""
        self.is_stale = True
        for change in edit.changes:
            row = self._rows.get(change.car_id)
            if change.after is None or row is None:
                self._collect()
                return
            self._xy[row] = change.after.cx, change.after.cy
            self._colors[row] = color_of_status(change.after.status)

    def paint_dots(self) -> None:
        """Bring the dots of all cars up to date."""
        self.dots.data = self._in_layer(row_column(self._xy))
        if len(self._colors):
            self.dots.face_color = self._colors
        self.is_stale = False

    def draw(self, low: np.ndarray, high: np.ndarray) -> None:
        """Draw the box of the current car, and arrows for the cars within an area.

        Parameters
        ----------
        low, high : arrays of shape (2,)
            x and y of the area's corners.
        """
        current = self._queue.current
        self.drawn = current if current in self._rows else None
        self._draw_box()
        rows = self._nearby(low, high)
        cars = [self.drawable(self._queue.car(self._ids[row])) for row in rows]
        is_headed = [self._has_front(car.id) for car in cars]
        headed = [car for car, is_one in zip(cars, is_headed, strict=True) if is_one]
        lines, _, _ = arrows_layer(headed, name="", index=self._frame.index)
        self._lines = _from_the_middle(lines)
        self._line_colors = self._colors[rows][np.array(is_headed, bool)]
        for row, car in enumerate(headed):
            if car.id == current:  # ahead of it, so that nothing hides the car
                self._lines[row, 0] += self._lines[row, 1]
                self._line_colors[row] = CURRENT
        self._draw_arrows()

    def _nearby(self, low: np.ndarray, high: np.ndarray) -> list[int]:
        """Give the rows of the cars in view, at most those nearest to its middle."""
        margin = self.usual[0]
        inside = np.all((self._xy >= low - margin) & (self._xy <= high + margin), 1)
        rows = np.flatnonzero(inside)
        if len(rows) > MOST_ARROWS:
            away = np.abs(self._xy[rows] - (low + high) / 2).max(1)
            rows = np.sort(rows[np.argpartition(away, MOST_ARROWS)[:MOST_ARROWS]])
        found: list[int] = rows.tolist()
        row = self._rows.get(self.drawn or "")
        return found if row is None or row in found else [*found, row]

    def _draw_box(self) -> None:
        with self._drawing():
            if self.drawn is None:
                self.box.data = []
                return
            car = self.drawable(self._queue.car(self.drawn))
            corners = self._in_layer(row_column(box_corners(car)))
            is_first = len(self.box.data) != 1
            # New data would make napari forget where a drag began.
            if self.drawn == self.held or (not is_first and self._shows(corners)):
                return
            self.box.data = [(corners, "rectangle")]
            if is_first:
                self.box.edge_color = [CURRENT]
                self.box.face_color = "transparent"
                self.box.edge_width = self.usual[0] / 24
            self.box.selected_data = {0}

    def _shows(self, corners: np.ndarray) -> bool:
        same = np.array_equal(self.box.data[0], corners.astype(np.float32))
        return same and set(self.box.selected_data) == {0}

    def _draw_arrows(self) -> None:
        lines, colors = self._lines, self._line_colors
        if self._preview is not None:
            lines = np.concatenate([lines, self._preview[None]])
            colors = np.concatenate([colors, [CURRENT]])
        self.arrows.data = lines
        if len(lines):
            self.arrows.edge_color = colors

    def _has_front(self, car_id: str) -> bool:
        return self._queue.car(car_id).heading_cw_from_up_deg is not None

    def preview(self, ends: tuple[Place, Place] | None) -> None:
        """Draw an arrow between two places (x, y) while it is being drawn; or none."""
        self._preview = None
        if ends is not None:
            start, end = self._in_layer(row_column(np.array(ends, float)))
            self._preview = np.stack([start, end - start])
        self._draw_arrows()

    def drawable(self, car: Car) -> Car:
        """Give a car with the size and the direction its box is drawn with."""
        length, width = car.length or self.usual[0], car.width or self.usual[1]
        heading = car.heading_cw_from_up_deg
        if car.drawn_cw_from_up_deg is None:
            heading = 0.0
        return replace(car, length=length, width=width, heading_cw_from_up_deg=heading)

    def car_at(self, x: float, y: float) -> str | None:
        """Give the id of the car at a place, the nearest if boxes overlap."""
        if not len(self._xy):
            return None
        away = np.hypot(*(self._xy - (x, y)).T)
        for row in np.argsort(away)[:5].tolist():
            car = self.drawable(self._queue.car(self._ids[row]))
            if _is_inside(box_corners(car), x, y):
                return car.id
        return None

    def corners(self, row: int) -> np.ndarray:
        """Give the corners (N, 2), x and y, of a shape as it is in the layer."""
        return row_column(np.asarray(self.box.data[row], float)[:, -2:])

    def _in_layer(self, row_column_places: np.ndarray) -> np.ndarray:
        leading = np.array(self._frame.index, float)
        leading = np.broadcast_to(leading, (len(row_column_places), len(leading)))
        return np.concatenate([leading, row_column_places], axis=-1)

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        before, self.is_drawing = self.is_drawing, True
        try:
            yield
        finally:
            self.is_drawing = before

    def owns(self, layer: Any) -> bool:
        """Whether the review cannot go on without a layer."""
        return any(layer is each for each in (self.dots, self.arrows, self.box))

    def remove(self) -> None:
        """Take the layers out of the viewer."""
        with self._drawing():
            for layer in (self.dots, self.arrows, self.box):
                if layer in self._viewer.layers:
                    self._viewer.layers.remove(layer)


def _from_the_middle(lines: np.ndarray) -> np.ndarray:
    """Shorten arrows (N, 2, D) through cars to those from their centers ahead."""
    start, along = lines[:, 0], lines[:, 1]
    return np.stack([start + along / 2, along / 2], axis=1)


def color_of_status(status: str) -> tuple[float, float, float, float]:
    """Give the color of what became of a car."""
    return COLORS.get(status, WAITING)


def is_review_layer(layer: Any) -> bool:
    """Whether a layer belongs to a review."""
    return bool(layer.metadata.get(METADATA, {}).get("role") == ROLE)


def _is_inside(corners: np.ndarray, x: float, y: float) -> bool:
    """Whether a place lies in a rectangle of four corners (4, 2)."""
    along, across = corners[0] - corners[1], corners[3] - corners[0]
    offset = np.array([x, y]) - corners.mean(0)
    return all(2 * abs(offset @ side) <= side @ side for side in (along, across))
