"""Cars as rows and as boxes: chosen together, brought into view, kept the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qtpy.QtCore import QObject, QTimer, Signal  # type: ignore[attr-defined]

from napari_roteq._headings.car_table import CarTableView
from napari_roteq._headings.cars import cars_between, is_in_view
from napari_roteq._images import Index
from napari_roteq._parts.connections import connect_while_alive
from roteq_core.tables import CarTable


class CarLinks(QObject):
    """Keep the chosen rows of a table and the selected boxes of a layer the same.

    Row n is box n; cars that have no box come after those that have one.

    Parameters
    ----------
    viewer : Viewer
        Where the layers are.
    table : CarTableView
        It lives as long as its table.
    """

    changed = Signal()  # boxes were moved, added, removed, or come from another table

    def __init__(self, viewer: Any, table: CarTableView) -> None:
        super().__init__(table)
        self._viewer = viewer
        self._table = table
        self._boxes: Any = None
        self._image: Any = None
        self._index: Index = ()
        self._cars = CarTable()
        self._changing = QTimer(self)  # one change is told in several events
        self._changing.setSingleShot(True)
        self._changing.setInterval(0)
        self._changing.timeout.connect(self.changed)
        table.chosen.connect(self._on_rows)

    def link(self, boxes: Any, image: Any, index: Index, cars: CarTable) -> None:
        """Follow a layer of boxes.

        Parameters
        ----------
        boxes : Shapes
            In the order of the table.
        image : Image
            Over which they lie.
        index : tuple of int
            In which plane.
        cars : CarTable
            As in the table.
        """
        is_new = boxes is not self._boxes
        if is_new:
            self.unlink()
        self._boxes, self._image, self._index, self._cars = boxes, image, index, cars
        if is_new and boxes is not None:
            selected = boxes.selected_data.events.items_changed
            connect_while_alive(self, selected, self._on_boxes)
            for event in (boxes.events.data, boxes.events.metadata):
                connect_while_alive(self, event, self._on_changing)
        self._on_boxes()

    def unlink(self) -> None:
        """Follow no layer."""
        if self._boxes is not None:
            selected = self._boxes.selected_data.events.items_changed
            selected.disconnect(self._on_boxes, missing_ok=True)
            for event in (self._boxes.events.data, self._boxes.events.metadata):
                event.disconnect(self._on_changing)
            self._changing.stop()
            self._boxes = None

    def _on_changing(self) -> None:
        self._changing.start()

    def choose_between(self, first: float, last: float) -> None:
        """Choose the cars that point between two headings in degrees."""
        cars = cars_between(self._cars, first, last)
        self._table.choose(cars)
        self._on_rows(cars)

    def _on_boxes(self) -> None:
        """Boxes were selected: choose their rows."""
        boxes = self._boxes
        if boxes is not None:
            self._table.choose(sorted(boxes.selected_data))

    def _on_rows(self, cars: Sequence[int]) -> None:
        """Rows were chosen: select their boxes and bring them into view."""
        boxes = self._boxes
        if boxes is None or boxes not in self._viewer.layers:
            return
        boxes.selected_data = {car for car in cars if car < len(boxes.data)}
        self._viewer.layers.selection.active = boxes
        if len(cars) == 1:
            self._look_at(cars[0])

    def _look_at(self, number: int) -> None:
        """Go to the plane of a car, and center it if it is out of view."""
        car = self._cars.cars[number]
        place = self._boxes.data_to_world((*self._index, car.cy, car.cx))
        for axis in range(len(self._index)):
            self._viewer.dims.set_point(axis - len(place), place[axis])
        if not is_in_view(self._image, car):
            self._viewer.scene.camera.center = tuple(place[-2:])
