"""GeoJSON of other tools with known answers, and ours as they read it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from roteq_core.tables import (
    AXIS_ONLY,
    Car,
    CarTable,
    read_cars,
    write_cars as write,
)

# A car at (100, 50), 40 long and 20 wide, that points right.
RIGHT = Car(100, 50, length=40, width=20, heading_cw_from_up_deg=90, label="car")
# Front left, front right, rear right, rear left: clockwise on the screen.
RIGHT_CORNERS = [[120, 40], [120, 60], [80, 60], [80, 40]]


def collection(*features, **members):
    return json.dumps({"type": "FeatureCollection", **members, "features": features})


def feature(coordinates, kind="Polygon", **properties):
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "geometry": geometry, "properties": properties}


RING = [[*RIGHT_CORNERS, RIGHT_CORNERS[0]]]


def test_a_foreign_polygon_gives_the_axis(read):
    (car,) = read(collection(feature(RING, note="x")), "a.geojson").cars
    assert (car.cx, car.cy, car.length, car.width) == (100, 50, 40, 20)
    assert (car.axis_cw_from_up_deg, car.status) == (90, AXIS_ONLY)
    assert car.extra == {"note": "x"}


def test_a_foreign_polygon_with_a_heading_is_directed(read):
    text = collection(feature(RING, heading_cw_from_up_deg=270.4))
    table = read(text, "a.json")
    assert table.cars[0].heading_cw_from_up_deg == 270.4
    assert (table.cars[0].length, table.cars[0].status) == (40, "")
    assert table.notes == ()


def test_a_heading_that_does_not_fit_a_foreign_polygon_is_noted(read):
    table = read(collection(feature(RING, heading_cw_from_up_deg=280)), "a.json")
    assert table.cars[0].heading_cw_from_up_deg == 280
    assert "feature 1: the property was used" in table.notes[0]


def test_outlines_get_the_smallest_rectangle(read):
    ring = [[0, 0], [20, 0], [40, 0], [40, 10], [40, 20], [0, 20], [0, 0]]
    (car,) = read(collection(feature([ring])), "a.geojson").cars
    assert (car.cx, car.cy, car.length, car.width) == pytest.approx((20, 10, 40, 20))
    assert car.axis_cw_from_up_deg == pytest.approx(90)


def test_a_point_is_a_center(read):
    text = collection(feature([3, 4], "Point", heading_cw_from_up_deg=5))
    assert read(text, "a.geojson").cars == (Car(3, 4, heading_cw_from_up_deg=5),)


def test_our_ring_starts_with_the_front_edge_and_closes(tmp_path):
    write(CarTable((RIGHT,)), tmp_path / "a.geojson")
    content = json.loads((tmp_path / "a.geojson").read_text())
    ring = content["features"][0]["geometry"]["coordinates"][0]
    assert ring[0] == ring[-1]
    np.testing.assert_allclose(ring[:4], RIGHT_CORNERS)
    assert "clockwise from up" in content["roteq"]["convention"]
    assert content["features"][0]["properties"]["heading_cw_from_up_deg"] == 90


def test_our_polygon_turned_in_another_program_wins(tmp_path):
    write(CarTable((RIGHT,)), tmp_path / "a.geojson")
    content = json.loads((tmp_path / "a.geojson").read_text())
    turned = np.roll(RIGHT_CORNERS, 2, axis=0).tolist()
    content["features"][0]["geometry"]["coordinates"] = [[*turned, turned[0]]]
    (tmp_path / "a.geojson").write_text(json.dumps(content))
    table = read_cars(tmp_path / "a.geojson")
    assert table.cars[0].heading_cw_from_up_deg == 270
    assert "the shape was used" in table.notes[0]


def test_geojson_keeps_members_ids_and_values(read, tmp_path):
    odd = feature(RING, deep={"a": [1, None]}, number=3, text="3")
    odd |= {"id": "car-7", "color": "red"}
    table = read(collection(odd, name="scene", bbox=[0, 0, 1, 1]), "a.geojson")
    assert table.cars[0].id == "car-7"
    write(table, tmp_path / "b.geojson")
    content = json.loads((tmp_path / "b.geojson").read_text())
    assert (content["name"], content["bbox"]) == ("scene", [0, 0, 1, 1])
    (after,) = content["features"]
    assert (after["id"], after["color"]) == ("car-7", "red")
    kept = {name: after["properties"][name] for name in ("deep", "number", "text")}
    assert kept == odd["properties"]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{", "line 1: not JSON"),
        ("[]", "GeoJSON must be a FeatureCollection"),
        (r"[1, 2]", "GeoJSON must be a FeatureCollection, got a list"),
        ("2.5", "GeoJSON must be a FeatureCollection, got a number"),
        ("{}", "GeoJSON must be a FeatureCollection, got type None"),
        (
            '{"type": "FeatureCollection", "features": {}}',
            "a FeatureCollection must have a list of features, got an object",
        ),
        (
            '{"type": "Feature"}',
            "GeoJSON must be a FeatureCollection, got type 'Feature'",
        ),
        (collection({"type": "Feature", "geometry": None}), "feature 1: a car needs"),
        (collection(feature([], "LineString")), "feature 1: the geometry must be"),
        (collection(feature([[[0, 0], [1, 1]]])), "feature 1: a polygon needs three"),
        (collection(feature([["a", 1]], "Point")), "feature 1: "),
        (collection(crs={"type": "name"}), "coordinates must be pixels"),
        (
            collection(feature(RING, heading_cw_from_up_deg="north")),
            "feature 1: heading_cw_from_up_deg must be a finite number, got 'north'",
        ),
    ],
)
def test_broken_geojson_is_named(read, text, rule):
    with pytest.raises(ValueError, match=rf"a\.geojson: {rule}"):
        read(text, "a.geojson")


def test_ids_that_are_numbers_stay_numbers(read, tmp_path):
    features = [{**feature([5, 6], "Point"), "id": name} for name in (7, "8")]
    table = read(collection(*features), "a.geojson")
    assert [car.id for car in table] == ["7", "8"]
    assert ids(table, tmp_path / "b.geojson") == [7, "8"]
    write(table, tmp_path / "b.csv")
    assert ids(read_cars(tmp_path / "b.csv"), tmp_path / "c.geojson") == [7, "8"]
    renamed = table.with_cars(replace(car, id=f"n{car.id}") for car in table)
    assert ids(renamed, tmp_path / "d.geojson") == ["n7", "n8"]


def ids(table, path):
    write(table, path)
    return [item["id"] for item in json.loads(path.read_text())["features"]]


@pytest.mark.parametrize("count", [3, 5])
def test_an_outline_without_an_area_is_refused_by_its_feature(read, count):
    ring = [[k, k] for k in range(count)] + [[0, 0]]
    with pytest.raises(ValueError, match="feature 1: an outline must have an area"):
        read(collection(feature([ring])), "a.geojson")


def test_a_known_status_is_read_however_it_is_spelt(read):
    properties = {"heading_cw_from_up_deg": 90, "status": "Accepted"}
    table = read(collection(feature(RING, **properties)), "a.geojson")
    assert table.cars[0].status == "accepted"
