"""GeoJSON in pixels: a rectangle for each car, or a point where no size is known.

The rectangle's ring starts front left and goes on to front right, so its first edge is
the front; everything else is in the feature's properties. In our own files (they say
so in a member `roteq`) the ring wins over a heading that no longer fits it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from roteq_core.tables.car import Car, box_corners, fit_box, gap_deg
from roteq_core.tables.columns import Plan, output_columns, plan_columns
from roteq_core.tables.files import summarize
from roteq_core.tables.rows import car_from_row, fields_from_corners, row_from_car
from roteq_core.tables.table import CONVENTION, CarTable

_OURS = "roteq"
_MEMBER = "feature."
_RESERVED = ("type", "features", _OURS)
_TURNED_DEG = 0.5
_JSON_KINDS: dict[type, str] = {
    list: "a list",
    dict: "an object",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def parse_geojson(text: str) -> CarTable:
    """Read a feature collection of polygons and points, in pixels."""
    try:
        collection = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: not JSON: {error.msg}") from error
    features = _features(collection)
    members = {k: v for k, v in collection.items() if k not in ("type", "features")}
    is_ours = members.pop(_OURS, None) is not None
    rows = [_row(number, feature) for number, feature in enumerate(features, 1)]
    columns = tuple(dict.fromkeys(name for row, _ in rows for name in row))
    plan = plan_columns(columns)
    plan = replace(plan, known={"cx": "cx", "cy": "cy", **plan.known})
    cars, turned = [], []
    for number, (row, geometry) in enumerate(rows, 1):
        try:
            car, fits = _car(row, geometry, plan, is_ours)
        except (TypeError, ValueError) as error:
            raise ValueError(f"feature {number}: {error}") from error
        cars.append(car)
        if not fits:
            turned.append(str(number))
    return CarTable(
        tuple(cars),
        tuple(name for name in columns if not name.startswith(_MEMBER)),
        "geojson",
        header=members,
        notes=(*plan.notes, *_turned_note(turned, is_ours)),
    )


def _features(collection: Any) -> list[Any]:
    if not isinstance(collection, dict):
        raise ValueError(
            f"GeoJSON must be a FeatureCollection, got {_JSON_KINDS[type(collection)]}"
        )
    kind = collection.get("type")
    if kind != "FeatureCollection":
        raise ValueError(f"GeoJSON must be a FeatureCollection, got type {kind!r}")
    features: Any = collection.get("features")
    if not isinstance(features, list):
        raise ValueError(
            "a FeatureCollection must have a list of features, got "
            f"{_JSON_KINDS[type(features)]}"
        )
    if "crs" in collection:
        raise ValueError(
            "coordinates must be pixels, got a map's coordinate system: "
            f"{json.dumps(collection['crs'])}"
        )
    return features


def _row(number: int, feature: Any) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Flatten a feature: its properties, its id, members that are not GeoJSON's."""
    if not isinstance(feature, dict) or not isinstance(feature.get("geometry"), dict):
        raise ValueError(f"feature {number}: a car needs a geometry, got {feature!r}")
    row = dict(feature.get("properties") or {})
    for name, value in feature.items():
        if name == "id":
            row.setdefault("car_id", value)
        is_plain = name == "id" and isinstance(value, str)
        if name not in ("type", "geometry", "properties") and not is_plain:
            row[_MEMBER + name] = value
    return row, feature["geometry"]


def _car(
    row: dict[str, Any], geometry: Mapping[str, Any], plan: Plan, is_ours: bool
) -> tuple[Car, bool]:
    """Make a car where its shape is; False if its heading does not fit the shape."""
    points = _points(geometry)
    told = _told(row, points.mean(axis=0), plan)
    if len(points) == 1:
        return told, True
    corners = points if len(points) == 4 else _rectangle_around(points)
    if is_ours and told.drawn_cw_from_up_deg is not None:
        return _as_drawn(told, corners)
    heading = told.heading_cw_from_up_deg
    found = fields_from_corners(corners, heading)
    found["status"] = told.status or found.get("status", "")
    # Foreign rings start anywhere, so only the sides' directions can be compared.
    sides = fit_box(corners, "unknown").heading_cw_from_up_deg
    fits = heading is None or gap_deg(heading, sides, 90.0) <= _TURNED_DEG
    return replace(told, **found), fits


def _as_drawn(told: Car, corners: np.ndarray) -> tuple[Car, bool]:
    """Place a car of ours; its angle stays exact unless the ring was turned."""
    cx, cy, length, width, drawn = fit_box(corners, "front edge first")
    is_directed = told.heading_cw_from_up_deg is not None
    period = 360.0 if is_directed else 180.0
    fits = gap_deg(told.drawn_cw_from_up_deg or 0.0, drawn, period) <= _TURNED_DEG
    found: dict[str, float] = {"cx": cx, "cy": cy, "length": length, "width": width}
    if not fits:
        found["heading_cw_from_up_deg" if is_directed else "axis_cw_from_up_deg"] = (
            drawn
        )
    return replace(told, **found), fits  # type: ignore[arg-type]


def _told(row: dict[str, Any], center: np.ndarray, plan: Plan) -> Car:
    """Read the properties, the center taken from the shape."""
    cx, cy = center.tolist()
    return car_from_row({**row, plan.known["cx"]: cx, plan.known["cy"]: cy}, plan)


def _points(geometry: Mapping[str, Any]) -> np.ndarray:
    """Give the points of a shape, (1, 2) or (N, 2), without the closing one."""
    kind, coordinates = geometry.get("type"), geometry.get("coordinates")
    if kind == "Point":
        points = np.array([coordinates], dtype=float)
    elif kind == "Polygon" and isinstance(coordinates, list) and coordinates:
        points = np.array(coordinates[0], dtype=float)
    else:
        raise ValueError(f"the geometry must be a Polygon or a Point, got {kind!r}")
    if points.ndim != 2 or points.shape[1] < 2 or not np.isfinite(points).all():
        raise ValueError(f"coordinates must be finite x, y pairs, got {coordinates!r}")
    points = points[:, :2]
    if len(points) > 1 and np.array_equal(points[0], points[-1]):
        points = points[:-1]
    if kind == "Polygon" and len(points) < 3:
        raise ValueError(f"a polygon needs three corners, got {len(points)}")
    return points


def _rectangle_around(points: np.ndarray) -> np.ndarray:
    """Give the smallest rectangle (4, 2) around an outline (N, 2)."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = points[ConvexHull(points).vertices]
    except QhullError:
        raise ValueError(
            f"an outline must have an area, got the corners {points.tolist()}"
        ) from None
    sides = np.roll(hull, -1, axis=0) - hull
    along = sides / np.hypot(*sides.T)[:, None]  # (N, 2)
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    frames = np.stack([along, across], axis=1)  # (N, 2, 2), a frame for each side
    inside = frames @ hull.T  # (N, 2, points)
    low, high = inside.min(axis=2), inside.max(axis=2)
    best = np.argmin(np.prod(high - low, axis=1))
    (left, top), (right, bottom) = low[best], high[best]
    box = np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
    return box @ frames[best]  # type: ignore[no-any-return]


def _turned_note(features: list[str], is_ours: bool) -> tuple[str, ...]:
    if not features:
        return ()
    winner = "shape" if is_ours else "property"
    return (
        f"heading_cw_from_up_deg does not fit the shape of feature "
        f"{summarize(features)}: the {winner} was used",
    )


def render_geojson(table: CarTable) -> str:
    """Write a feature collection, the convention in its member `roteq`."""
    columns = output_columns(table.cars, table.columns, geometry=False)
    plan = plan_columns(columns)
    collection = {
        "type": "FeatureCollection",
        _OURS: {
            "convention": CONVENTION,
            "ring": "front left, front right, rear right, rear left",
        },
        **{k: v for k, v in table.header.items() if k not in _RESERVED},
    }
    features = [_feature(car, columns, plan, table) for car in table.cars]
    # One line a car, so that a difference between two files can be read.
    lines = [json.dumps(feature, ensure_ascii=False) for feature in features]
    start = json.dumps(collection, ensure_ascii=False, indent=1).removesuffix("\n}")
    return start + ',\n "features": [\n' + ",\n".join(lines) + "\n]}\n"


def _feature(
    car: Car, columns: tuple[str, ...], plan: Plan, table: CarTable
) -> dict[str, Any]:
    row = row_from_car(car, plan)
    members = {
        name[len(_MEMBER) :]: value
        for name, value in car.extra.items()
        if name.startswith(_MEMBER)
    }
    properties = {
        name: _json_value(row.get(name), table)
        for name in columns
        if not name.startswith(_MEMBER) and name != plan.known.get("id")
    }
    named = {"id": _id(car, members.pop("id", None), table)} if car.id else {}
    return {
        "type": "Feature",
        **named,
        "geometry": _geometry(car),
        "properties": properties,
        **members,
    }


def _id(car: Car, was: Any, table: CarTable) -> Any:
    """Keep an id that was a number one, unless the car got another id."""
    was = _json_value(was, table)
    return was if str(was) == car.id else car.id


def _geometry(car: Car) -> dict[str, Any]:
    if not car.has_box:
        return {"type": "Point", "coordinates": [car.cx, car.cy]}
    ring = box_corners(car)[[0, 3, 2, 1, 0]].round(6).tolist()
    return {"type": "Polygon", "coordinates": [ring]}


def _json_value(value: Any, table: CarTable) -> Any:
    """Make numbers of a CSV's cells where nothing of their spelling is lost."""
    if isinstance(value, str) and table.format != "geojson":
        for kind in (int, float):
            try:
                if np.isfinite(kind(value)) and str(kind(value)) == value:
                    return kind(value)
            except (ValueError, OverflowError):
                continue
    return value
