"""Readers and writers of the manifest: model files and tables of cars."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import napari

from napari_roteq._car_shapes import TABLE, cars_in_shapes, table_layer
from napari_roteq._layers import LayerData
from napari_roteq._parts.model_choice import choose_model
from napari_roteq._session import Session
from roteq_core.card import ModelFileError, read_card
from roteq_core.tables import read_cars, write_cars

Reader = Callable[[Any], list[Any]]
PLUGIN = "napari-roteq"


def get_model_reader(path: str | list[str]) -> Reader | None:
    """Give the reader of a model file, None for other safetensors files."""
    try:
        read_card(_single(path))
    except (ModelFileError, ValueError):
        return None
    return open_model


def open_model(path: str | list[str]) -> list[tuple[None]]:
    """Choose a model for all widgets and open the Model widget; gives no layers."""
    viewer = napari.current_viewer()
    if viewer is not None:
        Session.of(viewer).model = choose_model(_single(path))
        viewer.window.add_plugin_dock_widget(PLUGIN, "Model")
    return [(None,)]


def get_cars_reader(path: str | list[str]) -> Reader | None:
    """Give the reader of a table of cars, None for other tables and texts."""
    try:
        layers = read_car_layers(path)
    except (ValueError, OSError):
        return None
    return lambda _: layers


def read_car_layers(path: str | list[str]) -> list[LayerData]:
    """Read a table of cars as oriented boxes, front-left corner first."""
    file = Path(_single(path))
    table = read_cars(file, image_size=_image_size())
    if not any(car.has_box for car in table.cars):
        raise ValueError(f"{file.name} must hold a car with a size and a direction")
    return [table_layer(table, name=file.stem)]


def write_car_layer(path: str, data: Any, meta: dict[str, Any]) -> list[str]:
    """Write the oriented boxes of a Shapes layer; the ending tells the format."""
    known = (meta.get("metadata") or {}).get(TABLE)
    table = cars_in_shapes(data, dict(meta.get("features", {})), known)
    is_text = Path(path).suffix.lower() == ".txt"
    has_own = table.format in ("dota", "yolo-obb")
    write_cars(table, path, format="dota" if is_text and not has_own else None)
    return [path]


def _single(path: str | list[str]) -> str:
    if isinstance(path, str):
        return path
    if len(path) != 1:
        raise ValueError(f"files must be opened one at a time, got {len(path)}")
    return path[0]


def _image_size() -> tuple[int, int] | None:
    """Give height and width of the first image in the viewer, for YOLO's fractions."""
    viewer = napari.current_viewer()
    for layer in viewer.layers if viewer is not None else ():
        if isinstance(layer, napari.layers.Image):
            size = layer.level_shapes[0] if layer.multiscale else layer.data.shape
            return tuple(int(n) for n in size[layer.ndim - 2 : layer.ndim])  # type: ignore[return-value]
    return None
