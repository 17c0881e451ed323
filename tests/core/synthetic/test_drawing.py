"""The parts of the drawing: polygons, solids, cars, the camera."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from roteq_core.synthetic import CAR_KINDS, OTHER_KINDS, AerialStyle
from roteq_core.synthetic.bodies import random_body
from roteq_core.synthetic.camera import take_picture
from roteq_core.synthetic.cars import car_mesh
from roteq_core.synthetic.families import BASE, FAMILIES
from roteq_core.synthetic.ground import MATERIALS, dashes, strip
from roteq_core.synthetic.mesh import (
    GLASS,
    Light,
    MeshBuilder,
    Pose,
    View,
    draw_mesh,
    draw_shadow,
)
from roteq_core.synthetic.occupancy import Parked
from roteq_core.synthetic.raster import TILE, Drawing, convex_hull
from roteq_core.synthetic.traffic import random_vehicle

OVERCAST = Light(np.array([0.0, 0.0, 1.0]), 0.0, np.full(3, 0.7), 0.0, 0.0)


def centroid(mask):
    rows, columns = np.nonzero(mask)
    return columns.mean(), rows.mean()


def draw_car(heading, seed=0, kind="sedan", **body_settings):
    """Draw a car at 10 px a meter in the middle of 81 by 81 gray pixels."""
    body = random_body(np.random.default_rng(seed), kind, **body_settings)
    drawing = Drawing()
    view = View(10.0, (40.0, 40.0))
    draw_mesh(drawing, car_mesh(body), Pose(0, 0, heading), view, OVERCAST)
    return drawing.paint(np.full((81, 81, 3), 128, np.uint8)).astype(int), body


def test_a_polygon_covers_its_area_and_lies_where_it_should():
    corners = np.array([(10.25, 8.0), (20.25, 8.0), (20.25, 14.5), (10.25, 14.5)])
    drawing = Drawing()
    drawing.polygon(corners, 200)
    image = drawing.paint(np.zeros((24, 32), np.uint8)) / 200
    # Polygons come out an eighth of a pixel larger on each side.
    assert 65 <= image.sum() <= 10.3 * 6.8
    y, x = np.mgrid[:24, :32]
    assert (x * image).sum() / image.sum() == pytest.approx(15.25, abs=0.13)
    assert (y * image).sum() / image.sum() == pytest.approx(11.25, abs=0.13)


def test_tiles_join_without_a_seam():
    line = np.array([(5.0, 5.0), (TILE + 40.0, 60.0), (TILE + 40.0, 64.0), (5.0, 9.0)])
    drawing = Drawing()
    drawing.polygon(line, 255)
    wide = drawing.paint(np.zeros((80, TILE + 60), np.uint8))
    shifted = Drawing()
    shifted.polygon(line - (TILE - 50, 0), 255)
    part = shifted.paint(np.zeros((80, 110), np.uint8))
    np.testing.assert_array_equal(wide[:, TILE - 50 : TILE + 60], part)


def test_pixels_outside_all_polygons_stay_exact():
    image = np.random.default_rng(0).integers(0, 256, (30, 30, 3)).astype(np.uint8)
    drawing = Drawing()
    drawing.polygon(np.array([(3, 3), (9, 3), (9, 9)], float), (1, 2, 3))
    np.testing.assert_array_equal(drawing.paint(image)[12:], image[12:])


def test_the_hull_of_a_square_with_points_inside_is_the_square():
    points = np.array([(0, 0), (4, 0), (4, 4), (0, 4), (2, 2), (1, 3)], float)
    assert {tuple(p) for p in convex_hull(points)} == {(0, 0), (4, 0), (4, 4), (0, 4)}


@pytest.mark.parametrize(
    ("heading", "forward"),
    [(0, (0, -1)), (90, (1, 0)), (180, (0, 1)), (270, (-1, 0))],
)
def test_forward_is_where_the_heading_says(heading, forward):
    placed = Pose(5, 7, heading).place(np.array([[2.0, 0.0, 1.0]]))[0]
    np.testing.assert_allclose(placed[:2], (5 + 2 * forward[0], 7 + 2 * forward[1]))


def test_right_of_a_car_that_heads_up_is_right():
    placed = Pose(0, 0, 0).place(np.array([[0.0, 3.0, 0.0]]))[0]
    np.testing.assert_allclose(placed[:2], (3, 0), atol=1e-12)


def test_high_things_lean_and_shadows_fall_away_from_the_sun():
    builder = MeshBuilder()
    builder.box((0, 0), (1, 1), (0.0, 2.0), np.ones(3))
    sun = np.array([0.6, 0.0, 0.8])  # from the right
    light = Light(sun, 0.5, np.ones(3), 0.0, 0.0)
    view = View(10.0, (50.0, 50.0), lean=(0.0, 1.0))
    body, shadow = Drawing(), Drawing()
    mesh, pose = builder.build(), Pose(0, 0, 0)
    draw_mesh(body, mesh, pose, view, light)
    draw_shadow(shadow, mesh, pose, view, light)
    seen = body.paint(np.zeros((100, 100, 3), np.uint8))[..., 0] > 0
    dark = shadow.paint(np.zeros((100, 100), np.uint8)) > 0
    assert centroid(seen)[1] > 55
    assert centroid(dark)[0] < 45


@pytest.mark.parametrize("heading", [0, 77, 180, 301])
def test_tail_lights_are_behind_and_the_body_is_centered(heading):
    image, body = draw_car(heading, lights_on=True, seed=3)
    red = (image[..., 0] > 180) & (image[..., 1] < 110)
    x, y = centroid(red)
    angle = np.deg2rad(heading)
    along = (x - 40) * np.sin(angle) - (y - 40) * np.cos(angle)
    assert along < -0.35 * body.length * 10
    middle = centroid((image != 128).any(axis=2))
    np.testing.assert_allclose(middle, (40, 40), atol=1.0)


def glass_areas(mesh, middle):
    """Give the glass, seen from above and off the flanks, before and behind x."""
    starts = np.cumsum(mesh.sizes) - mesh.sizes
    areas = [0.0, 0.0]
    for start, size, material in zip(starts, mesh.sizes, mesh.materials, strict=True):
        x, y, _ = mesh.points[start : start + size].T
        if material == GLASS and abs(y.mean()) < 0.6:
            area = abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2
            areas[int(x.mean() < middle)] += area
    return areas


@pytest.mark.parametrize("kind", CAR_KINDS)
def test_the_windscreen_shows_more_glass_than_the_rear_window(kind):
    rng = np.random.default_rng(1)
    fronts, rears = [], []
    for _ in range(30):
        body = replace(random_body(rng, kind), sunroof=0.0)
        middle = (0.5 - body.hood - body.windscreen - body.roof / 2) * body.length
        front, rear = glass_areas(car_mesh(body), middle)
        fronts.append(front)
        rears.append(rear)
    assert np.mean(fronts) > 1.15 * np.mean(rears)
    assert np.mean(np.array(fronts) > np.array(rears)) > 0.8


def test_hoods_are_longer_than_trunks_on_the_whole():
    rng = np.random.default_rng(0)
    for kind in ("hatchback", "sedan", "estate", "coupe", "suv"):
        bodies = [random_body(rng, kind) for _ in range(40)]
        assert np.mean([b.hood - b.trunk for b in bodies]) > 0.06


@pytest.mark.parametrize("kind", CAR_KINDS + OTHER_KINDS)
def test_every_vehicle_fits_its_stated_size(kind):
    for seed in range(5):
        vehicle = random_vehicle(np.random.default_rng(seed), kind)
        extent = np.abs(vehicle.mesh.points).max(axis=0) * 2
        assert extent[0] == pytest.approx(vehicle.length, rel=0.02)
        assert vehicle.width * 0.95 <= extent[1] <= vehicle.width + 0.65


def test_an_unknown_vehicle_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"kind must be one of .*, got 'tram'"):
        random_vehicle(rng, "tram")
    with pytest.raises(ValueError, match=r"kind must be one of .*, got 'bus'"):
        random_body(rng, "bus")


def test_vehicles_may_stand_side_by_side_but_not_in_each_other():
    parked = Parked()
    assert parked.add(Pose(0, 0, 0), 4.5, 1.8)
    assert not parked.add(Pose(0.5, 3.0, 40), 4.5, 1.8)
    assert parked.add(Pose(2.5, 0, 180), 4.5, 1.8)


def test_a_perfect_camera_only_rounds():
    rng = np.random.default_rng(0)
    style = AerialStyle.random(
        rng, "suburb", blur=0.0, resample=1.0, motion=0.0, sharpen=0.0, vignette=0.0,
        haze=0.0, brightness=1.0, contrast=1.0, gamma=1.0, saturation=1.0, warmth=0.0,
        tint=0.0, noise=0.0, chroma_noise=0.0, jpeg=100.0, gray=False,
    )  # fmt: skip
    picture = rng.random((20, 30, 3)).astype(np.float32)
    taken = take_picture(rng, picture, style)
    assert np.abs(taken / 255 - picture).max() < 0.0021


def test_families_set_only_known_settings_and_materials():
    for name, settings in {"base": BASE, **FAMILIES}.items():
        assert set(settings) <= set(BASE), name
        for key in ("road", "verge", "lot", "roof"):
            assert set(settings.get(key, [])) <= set(MATERIALS), name
        assert set(settings.get("kinds", BASE["kinds"])) == set(CAR_KINDS), name


def test_dashes_lie_beside_the_line_and_have_their_length():
    line = np.array([(0.0, 0.0), (10.0, 0.0)])
    pieces = dashes(line, 0.2, 1.0, dash=2.0, gap=3.0)
    assert len(pieces) == 2
    np.testing.assert_allclose(np.ptp(pieces[0][:, 0]), 2.0)
    # Right of a line that runs right is down.
    np.testing.assert_allclose(strip(line, 0.2, 1.0)[:, 1].mean(), 1.0)
