"""Cars as rows and as boxes: choose them together, and bring one into view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qtpy.QtCore import QObject

from napari_roteq._car_table import CarTableView
from napari_roteq._connections import connect_while_alive
from napari_roteq._heading_cars import (
    cars_between,
    cars_of_shapes,
    is_in_view,
    shapes_of_cars,
)
from napari_roteq._images import Index
from roteq_core.tables import CarTable


class CarLinks(QObject):
    """Keep the chosen rows of a table and the selected boxes of a layer the same.

    Parameters
    ----------
    viewer : Viewer
        Where the layers are.
    table : CarTableView
        It lives as long as its table.
    """

    def __init__(self, viewer: Any, table: CarTableView) -> None:
        super().__init__(table)
        self._viewer = viewer
        self._table = table
        self._boxes: Any = None
        self._image: Any = None
        self._index: Index = ()
        self._cars = CarTable()
        table.chosen.connect(self._on_rows)

    def link(self, boxes: Any, image: Any, index: Index, cars: CarTable) -> None:
        """Follow another layer of boxes.

        Parameters
        ----------
        boxes : Shapes
            With the feature `car`.
        image : Image
            Over which they lie.
        index : tuple of int
            In which plane.
        cars : CarTable
            As in the table.
        """
        self.unlink()
        self._boxes, self._image, self._index, self._cars = boxes, image, index, cars
        if boxes is not None:
            events = boxes.selected_data.events
            connect_while_alive(self, events.items_changed, self._on_boxes)

    def unlink(self) -> None:
        """Follow no layer."""
        if self._boxes is not None:
            events = self._boxes.selected_data.events
            events.items_changed.disconnect(self._on_boxes, missing_ok=True)
            self._boxes = None

    def choose_between(self, first: float, last: float) -> None:
        """Choose the cars that point between two headings in degrees."""
        cars = cars_between(self._cars, first, last)
        self._table.choose(cars)
        self._on_rows(cars)

    def _on_boxes(self) -> None:
        """Boxes were selected: choose their rows."""
        boxes = self._boxes
        if boxes is not None:
            self._table.choose(sorted(cars_of_shapes(boxes, boxes.selected_data)))

    def _on_rows(self, cars: Sequence[int]) -> None:
        """Rows were chosen: select their boxes and bring them into view."""
        boxes = self._boxes
        if boxes is None or boxes not in self._viewer.layers:
            return
        boxes.selected_data = shapes_of_cars(boxes, cars)
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
