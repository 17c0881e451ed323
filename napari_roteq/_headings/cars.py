"""Cars of layers and files in the pixels of an image, and cars as layers (no Qt)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from napari.layers import Points

from napari_roteq._car_shapes import TABLE, cars_in_shapes, table_layer
from napari_roteq._images import Index, current_index, planes_of, transform_of
from napari_roteq._layers import ColorBy, LayerData, arrows_layer, row_column, tag
from napari_roteq._recipes import Recipe
from napari_roteq._segment.source import path_of
from roteq_core.tables import Car, CarTable, car_from_corners, read_cars

BOXES = "car boxes"
ARROWS = "car headings"
_LENGTH = 36.0  # pixels; as in the core, where nothing is known of any car
_WIDTH = 0.42  # of the length
_METERS = {"meter": 1.0, "decimeter": 0.1, "centimeter": 0.01, "millimeter": 1e-3}
_COLORS = ("edge_color", "edge_colormap", "edge_contrast_limits")


def read_plane(image: Any, index: Index) -> np.ndarray:
    """Read a plane of an Image layer, colors last: (H, W), (H, W, 3) or (H, W, 4)."""
    return np.ascontiguousarray(planes_of(image).array[index])


def index_in_view(viewer: Any, image: Any) -> Index:
    """Give the plane of an Image layer that is in view."""
    return current_index(viewer, image, planes_of(image))


def pixel_size_m(image: Any) -> float | None:
    """Give the size of a pixel in meters, if the layer's units tell it."""
    factor = _METERS.get(str(image.units[-1]))
    size = abs(float(image.scale[-1])) * (factor or 0.0)
    return round(size, 6) if 1e-4 <= size <= 10 else None


def cars_of_layer(layer: Any, image: Any, index: Index = ()) -> CarTable:
    """Give the points or shapes of a layer as cars in the pixels of an image.

    Boxes of a table give its cars. Of others only center and size are taken: the long
    side is the length, whichever edge was drawn first.

    Parameters
    ----------
    layer : Points or Shapes
        Anywhere in the world; of a stack, what lies in the plane counts.
    image : Image
        Whose pixels count.
    index : tuple of int
        The plane.
    """
    matrix, offset = _into(layer, image, index)
    if isinstance(layer, Points):
        places = np.asarray(layer.data, float) @ matrix.T + offset
        here = _in_plane(places, index)
        return CarTable(tuple(Car(x, y) for *_, y, x in places[here].tolist()))
    places = [np.asarray(points, float) @ matrix.T + offset for points in layer.data]
    rows = [row for row, points in enumerate(places) if _in_plane(points, index).all()]
    if not len(rows):
        return CarTable()
    shapes = [places[row] for row in rows]
    table = layer.metadata.get(TABLE)
    if table is None or "car" not in layer.features:
        return CarTable(tuple(car_of_shape(points) for points in shapes))
    features = {"car": np.asarray(layer.features["car"])[rows]}
    return cars_in_shapes(shapes, features, table)


def _into(layer: Any, image: Any, index: Index) -> tuple[np.ndarray, np.ndarray]:
    """Give matrix and offset that lead from a layer's data to an image's."""

    def moved(point: np.ndarray) -> np.ndarray:
        world = np.asarray(layer.data_to_world(point))
        missing = image.ndim - len(world)
        if missing > 0:  # a flat layer lies in every plane, so in this one
            plane = np.asarray(image.data_to_world((*index, 0, 0)))
            world = np.concatenate([plane[:missing], world])
        return np.asarray(image.world_to_data(world[-image.ndim :]))

    offset = moved(np.zeros(layer.ndim))
    columns = [moved(unit) - offset for unit in np.eye(layer.ndim)]
    return np.stack(columns, axis=1), offset


def _in_plane(places: np.ndarray, index: Index) -> np.ndarray:
    """Say which of the places (N, D) lie in a plane."""
    return np.all(np.abs(places[:, :-2] - np.array(index, float)) <= 0.5, axis=1)


def car_of_shape(points: np.ndarray) -> Car:
    """Give center and size of any shape (N, D)."""
    corners = row_column(points[:, -2:])
    low, high = corners.min(0), corners.max(0)
    if len(corners) != 4:
        corners = np.array([low, (high[0], low[1]), high, (low[0], high[1])])
    try:
        return car_from_corners(corners, order="unknown")
    except ValueError:  # without an area
        return Car(*((low + high) / 2).tolist())


def cars_of_file(path: str, image: Any) -> CarTable:
    """Read the cars of a file that belong to an image."""
    size = planes_of(image).shape[-2:]
    table = read_cars(path, image_size=(size[0], size[1]))
    if len(table.files) < 2:
        return table
    return table.for_image(Path(path_of(image) or image.name).name)


def with_sizes(table: CarTable, length: float | None = None) -> CarTable:
    """Give cars without a size a usual one, so that their boxes can be drawn.

    Such cars say so in the column `size`.

    Parameters
    ----------
    table : CarTable
    length : float, optional
        Pixels; the median of the other cars if not given.
    """
    usual = length or typical_size(table.cars)[0]
    return table.with_cars(_with_size(car, usual) for car in table.cars)


def typical_size(cars: Iterable[Car]) -> tuple[float, float]:
    """Give the median length and width of cars in pixels, or a usual guess."""
    cars = list(cars)
    lengths = [car.length for car in cars if car.length is not None]
    widths = [car.width for car in cars if car.width is not None]
    length = float(np.median(lengths)) if lengths else _LENGTH
    return length, float(np.median(widths)) if widths else _WIDTH * length


def _with_size(car: Car, usual: float) -> Car:
    if car.length is not None and car.width is not None:
        return car
    length = car.length or usual
    width = car.width or _WIDTH * length
    extra = {**car.extra, "size": "assumed"}
    return replace(car, length=length, width=width, extra=extra)


def car_layers(
    image: Any, index: Index, table: CarTable, recipe: Recipe, color_by: ColorBy
) -> list[LayerData]:
    """Show cars over their image as oriented boxes and arrows.

    Parameters
    ----------
    image : Image
        The source, whose transforms are carried over.
    index : tuple of int
        The plane.
    table : CarTable
        With sizes.
    recipe : Recipe
        What made it.
    color_by : "direction" or "uncertainty"
        What the colors say.
    """
    options = {"index": index, "color_by": color_by, **transform_of(image)}

    def tagged(role: str) -> dict[str, Any]:
        return tag(role, image, recipe.as_dict())

    arrows = arrows_layer(
        table.cars, name=f"{image.name} {ARROWS}", metadata=tagged(ARROWS), **options
    )
    boxes = table_layer(
        table, name=f"{image.name} {BOXES}", metadata=tagged(BOXES), **options
    )
    return [arrows, boxes]


def colors_of(color_by: ColorBy) -> dict[str, Any]:
    """Give the color settings of the layers, to recolor them."""
    _, keywords, _ = arrows_layer([], name="", color_by=color_by)
    return {name: keywords[name] for name in _COLORS}


def is_in_view(image: Any, car: Car) -> bool:
    """Whether the canvas shows the center of a car."""
    factors = np.asarray(image.downsample_factors[image.data_level][-2:], float)
    (top, left), (bottom, right) = image.corner_pixels[:, -2:] * factors
    return bool(top <= car.cy <= bottom and left <= car.cx <= right)


def headings_of(table: CarTable) -> np.ndarray:
    """Give the known headings, clockwise from up in degrees."""
    found = (car.heading_cw_from_up_deg for car in table.cars)
    return np.array([heading for heading in found if heading is not None], float)


def cars_between(table: CarTable, first: float, last: float) -> list[int]:
    """Give the cars that point between two headings in degrees, the last left out."""
    return [
        number
        for number, car in enumerate(table.cars)
        if car.heading_cw_from_up_deg is not None
        and first <= car.heading_cw_from_up_deg < last
    ]
