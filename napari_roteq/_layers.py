"""Results as napari layer data tuples, and into the viewer (no Qt).

The only place where (u, v) or (x, y) becomes (row, column).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from napari.layers import Layer
from napari.utils.colormaps import Colormap, ensure_colormap

from napari_roteq._car_doubt import expected_error_deg
from napari_roteq._colors import CYCLIC_NAME, cyclic_colors
from napari_roteq._detail import Thinned
from napari_roteq._images import Index
from roteq_core.angles import (
    angle_from_heading,
    angle_from_vector,
    heading_from_angle,
    vector_from_angle,
)
from roteq_core.tables import Car, box_corners

LayerData = tuple[Any, dict[str, Any], str]
ColorBy = Literal["direction", "strength", "uncertainty"]

METADATA = "roteq"
_PLACE = ("scale", "translate", "rotate", "shear", "affine", "units", "axis_labels")
_FILLED = 0.9  # of the space between neighbors


def row_column(right_down: npt.ArrayLike) -> np.ndarray:
    """Turn (u, v) or (x, y) into napari's (row, column); its own inverse.

    ::

        (0, 0) ──▶ u, x, column         (u, v) = (3, 1)
          │                               │  ╲╱
          ▼                               │  ╱╲
        v, y, row                       (row, column) = (1, 3)

    Parameters
    ----------
    right_down : array of shape (..., 2)
        Right first, then down.

    Returns
    -------
    array of shape (..., 2)
    """
    return np.asarray(right_down)[..., ::-1]


def tag(role: str, source: Any, recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Make the metadata of a result: its recipe, and how a second run finds it.

    Parameters
    ----------
    role : str
        What the layer is ("membranes", "cells"), one of a kind for each source.
    source : Layer
        The layer it was made from.
    recipe : mapping
        What made it; `Recipe.as_dict()`.
    """
    key = f"{role} of {source.unique_id}"
    return {METADATA: {"key": key, "role": role, **recipe}}


def probability_layer(probability: Any, *, name: str, **options: Any) -> LayerData:
    """Show a probability map (..., H, W) in [0, 1]; options go to the Image layer."""
    style = {
        "colormap": "magma",
        "contrast_limits": (0.0, 1.0),
        "blending": "additive",
        "opacity": 0.7,
    }
    return probability, {"name": name, **style, **options}, "image"


def cells_layer(labels: Any, *, name: str, **options: Any) -> LayerData:
    """Show cells (..., H, W), 0 between them; options go to the Labels layer."""
    return labels, {"name": name, "opacity": 0.4, **options}, "labels"


def field_layer(
    thinned: Thinned,
    *,
    name: str,
    index: Index = (),
    color_by: ColorBy = "direction",
    strongest: float | None = None,
    **options: Any,
) -> LayerData:
    """Show a directed field as arrows that begin at their pixel.

    Parameters
    ----------
    thinned : Thinned
        From `thin_field`.
    name : str
        Of the layer.
    index : tuple of int
        The plane, for a stack.
    color_by : "direction" or "strength"
        What the color says.
    strongest : float, optional
        The strength drawn at full length; the strongest vector there is by default.
    **options
        Further keywords of the Vectors layer, such as `transform_of` gives.
    """
    longest = strongest or float(thinned.strength.max(initial=0.0)) or 1.0
    reach = _FILLED * thinned.spacing / longest
    lines = _lines(thinned.positions, row_column(thinned.vectors) * reach, index)
    headings = {"heading_cw_from_up_deg": heading_from_angle(_angle(thinned))}
    style = _field_style(thinned, headings, 360.0, color_by, longest)
    return lines, {"name": name, "vector_style": "arrow", **style, **options}, "vectors"


def axis_layer(
    thinned: Thinned,
    *,
    name: str,
    index: Index = (),
    color_by: ColorBy = "direction",
    strongest: float | None = None,
    **options: Any,
) -> LayerData:
    """Show an axial field as lines of equal length centered on their pixel.

    See `field_layer` for the parameters. Opposite vectors mean the same.
    """
    longest = strongest or float(thinned.strength.max(initial=0.0)) or 1.0
    angle = _angle(thinned)
    along = row_column(vector_from_angle(angle)) * _FILLED * thinned.spacing
    lines = _lines(thinned.positions - along / 2, along, index)
    axes = {"axis_cw_from_up_deg": np.mod(heading_from_angle(angle), 180.0)}
    style = _field_style(thinned, axes, 180.0, color_by, longest)
    return lines, {"name": name, "vector_style": "line", **style, **options}, "vectors"


def boxes_layer(
    cars: Sequence[Car],
    *,
    name: str,
    index: Index = (),
    color_by: ColorBy = "direction",
    **options: Any,
) -> LayerData:
    """Show cars as oriented boxes, front-left corner first; see `box_corners`.

    Cars without a size or a direction are left out; the feature `car` is the place in
    the given sequence, so that tables and shapes stay linked.
    """
    drawn = [place for place, car in enumerate(cars) if car.has_box]
    corners = [_at(row_column(box_corners(cars[place])), index) for place in drawn]
    style = {
        "features": _car_features(cars, drawn),
        "shape_type": "rectangle",
        "face_color": "transparent",
        "edge_width": 1.5,
        "ndim": 2 + len(index),
        **_edge_colors(*_car_color(color_by)),
    }
    return corners, {"name": name, **style, **options}, "shapes"


def arrows_layer(
    cars: Sequence[Car],
    *,
    name: str,
    index: Index = (),
    color_by: ColorBy = "direction",
    length: float = 30.0,
    **options: Any,
) -> LayerData:
    """Show the headings of cars as arrows from rear to front.

    Cars without a heading are left out; those without a size get an arrow of `length`.
    """
    drawn = [i for i, car in enumerate(cars) if car.heading_cw_from_up_deg is not None]
    headings = np.array([cars[i].heading_cw_from_up_deg for i in drawn], float)
    sizes = np.array([cars[i].length or length for i in drawn], float)
    centers = np.array([(cars[i].cx, cars[i].cy) for i in drawn], float).reshape(-1, 2)
    ahead = vector_from_angle(angle_from_heading(headings)) * sizes[:, None]  # (N, 2)
    lines = _lines(row_column(centers - ahead / 2), row_column(ahead), index)
    style = {
        "features": _car_features(cars, drawn),
        "edge_width": float(np.median(sizes)) / 6 if drawn else 1.0,
        "vector_style": "arrow",
        **_edge_colors(*_car_color(color_by)),
    }
    return lines, {"name": name, **style, **options}, "vectors"


def update_or_add(viewer: Any, layer_data: LayerData) -> Layer:
    """Put a result into the viewer: into the layer of an earlier run, or a new one.

    The earlier layer is known by the `key` in its metadata (see `tag`), whatever its
    name is now. It keeps its colors, opacity and visibility.
    """
    content, keywords, kind = layer_data
    old = find_layer(viewer, keywords.get("metadata", {}).get(METADATA, {}).get("key"))
    new = Layer.create(content, dict(keywords), kind)
    if old is None:
        return viewer.add_layer(new)
    if type(old) is not type(new) or old.ndim != new.ndim:
        place = viewer.layers.index(old)
        new.name, new.visible = old.name, old.visible
        viewer.layers.remove(old)
        viewer.layers.insert(place, new)
        return new
    refill(old, new)
    return old


def find_layer(viewer: Any, key: str | None) -> Layer | None:
    """Give the layer with this key in its metadata, if there is one."""
    for layer in viewer.layers:
        if key is not None and layer.metadata.get(METADATA, {}).get("key") == key:
            return layer
    return None


def set_plane(layer: Layer, index: Index, plane: np.ndarray) -> None:
    """Write one finished plane into an Image or Labels layer and show it."""
    layer.data[(*index, Ellipsis)] = plane
    layer.refresh()


def refill(old: Layer, new: Layer) -> None:
    """Give a layer the content and the place of another one of its kind."""
    if hasattr(new, "shape_type"):  # Shapes: the types come along with the corners
        old.data = list(zip(new.data, new.shape_type, strict=True))
    else:
        old.data = new.data
    if hasattr(new, "features"):
        old.features = new.features
        if old.edge_color_mode != "direct":
            old.refresh_colors()
    for name in _PLACE:
        setattr(old, name, getattr(new, name))
    old.metadata = {**old.metadata, **new.metadata}


def _angle(thinned: Thinned) -> np.ndarray:
    return angle_from_vector(*thinned.vectors.T)


def _at(points: np.ndarray, index: Index) -> np.ndarray:
    """Put points (..., 2) of a plane into a stack: (..., len(index) + 2)."""
    leading = np.broadcast_to(np.array(index, float), (*points.shape[:-1], len(index)))
    return np.concatenate([leading, points], axis=-1)


def _lines(start: np.ndarray, along: np.ndarray, index: Index) -> np.ndarray:
    """Make napari's vectors (N, 2, D) from starts and projections (N, 2)."""
    still = (0,) * len(index)
    return np.stack([_at(start, index), _at(along, still)], axis=1)


def _field_style(
    thinned: Thinned,
    angles: dict[str, np.ndarray],
    period: float,
    color_by: ColorBy,
    longest: float,
) -> dict[str, Any]:
    (column,) = angles
    by_strength = _edge_colors("strength", longest)
    return {
        "features": {"strength": thinned.strength, **angles},
        "edge_width": max(0.2, thinned.spacing / 8),
        **(by_strength if color_by == "strength" else _edge_colors(column, period)),
    }


def _edge_colors(column: str, top: float) -> dict[str, Any]:
    """Color by a feature from 0 to `top`, round the circle if it is an angle."""
    if column.endswith("from_up_deg"):
        colormap = Colormap(cyclic_colors(), name=CYCLIC_NAME, nan_color="gray")
    else:
        colors = ensure_colormap("viridis").colors
        colormap = Colormap(colors, name="roteq amounts", nan_color="gray")
    return {
        "edge_color": column,
        "edge_colormap": colormap,
        "edge_contrast_limits": (0.0, top),
    }


def _car_color(color_by: ColorBy) -> tuple[str, float]:
    if color_by == "uncertainty":
        return "expected_error_deg", 30.0
    return "drawn_cw_from_up_deg", 360.0


def _car_features(cars: Sequence[Car], drawn: Sequence[int]) -> dict[str, np.ndarray]:
    numbers = ("heading_cw_from_up_deg", "drawn_cw_from_up_deg", "heading_sd_deg")
    features = {
        name: np.array([_number(getattr(cars[i], name)) for i in drawn], float)
        for name in (*numbers, "p_flip", "score")
    }
    feared = np.array([expected_error_deg(cars[i]) for i in drawn], float)
    features["expected_error_deg"] = np.where(np.isinf(feared), np.nan, feared)
    for name in ("id", "status", "label"):
        features[name] = np.array([getattr(cars[i], name) for i in drawn], object)
    return {"car": np.array(drawn, int), **features}


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
