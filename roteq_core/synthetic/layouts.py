"""What a scene shows: a street, a crossing, a roundabout, a car park."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from roteq_core.synthetic.fleet import fleet_vehicle, marking_color
from roteq_core.synthetic.ground import Surface, block, frame, strip
from roteq_core.synthetic.mesh import Pose
from roteq_core.synthetic.occupancy import Parked, Taken
from roteq_core.synthetic.roads import (
    Road,
    fill_roads,
    mark_arms,
    mark_roads,
    pave,
    random_line,
)
from roteq_core.synthetic.site import Site
from roteq_core.synthetic.styles import AerialStyle
from roteq_core.synthetic.traffic import random_clutter
from roteq_core.synthetic.trees import House, random_tree

Size = tuple[float, float]


def random_site(rng: np.random.Generator, style: AerialStyle, size: Size) -> Site:
    """Draw a place of a style.

    Parameters
    ----------
    rng : numpy Generator
        Where chance comes from.
    style : AerialStyle
        Gives layout, materials and densities.
    size : (float, float)
        Width and height in meters; the place starts at (0, 0).
    """
    site, taken, parked = Site(style.verge), Taken(*size), Parked()
    _patchwork(rng, site, style, size)
    heading = LAYOUTS[style.layout](rng, site, style, size, taken, parked)
    _build_houses(rng, site, style, size, taken, heading)
    _plant(rng, site, style, size, taken)
    return site


def _patchwork(
    rng: np.random.Generator, site: Site, style: AerialStyle, size: Size
) -> None:
    """Add fields, paths and a pond beside the roads."""
    reach = max(size)
    for _ in range(int(rng.integers(1, 5))):
        x, y = rng.uniform(0, 1, 2) * np.array(size)
        spread = rng.uniform(0.15, 0.6, 2) * reach
        field = block((x, y), rng.uniform(0, 360), (0, spread[0]), (0, spread[1]))
        material = (style.verge, style.verge, style.lot, "soil")[int(rng.integers(4))]
        if style.family == "winter" and material == "soil":
            material = "slush"
        site.surfaces.append(Surface(field, material, rng.uniform(0.85, 1.12)))
    if rng.random() < 0.08:
        angle = np.linspace(0, 2 * np.pi, 30)
        radius = rng.uniform(0.1, 0.25) * reach
        wobble = 1 + 0.2 * np.sin(3 * angle + rng.uniform(0, 6))
        pond = np.stack([np.cos(angle), np.sin(angle)], axis=1) * radius
        center = rng.uniform(0, 1, 2) * np.array(size)
        site.surfaces.append(Surface(pond * wobble[:, None] + center, "water"))


def _middle(rng: np.random.Generator, size: Size) -> tuple[float, float]:
    x, y = (0.5 + rng.uniform(-0.15, 0.15, 2)) * np.array(size)
    return float(x), float(y)


def _random_road(
    rng: np.random.Generator,
    style: AerialStyle,
    size: Size,
    through: tuple[float, float],
    heading: float,
) -> Road:
    reach = float(np.hypot(*size)) * 0.8
    line = random_line(rng, through, heading, reach, rng.normal(0, 0.002))
    lanes = int(rng.choice([1, 1, 2]))
    parking = bool(rng.random() < 0.3)
    median = rng.uniform(0.8, 5.0) if lanes > 1 and rng.random() < 0.5 else 0.0
    if style.family == "motorway":
        lanes, parking = int(rng.integers(2, 5)), False
        median = rng.uniform(1.5, 9.0)
    return Road(line, lanes, lanes, rng.uniform(2.8, 3.7), median, parking)


def _finish_roads(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    roads: list[Road],
    taken: Taken,
    parked: Parked,
) -> None:
    pave(rng, site, style, roads, taken)
    mark_roads(rng, site, style, roads)
    fill_roads(rng, site, style, roads, parked)


def _street(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    size: Size,
    taken: Taken,
    parked: Parked,
) -> float:
    heading = float(rng.uniform(0, 360))
    roads = [_random_road(rng, style, size, _middle(rng, size), heading)]
    apart = rng.uniform(28, 60)
    for side in (-1, 1):
        if rng.random() < 0.5 and style.family != "motorway":
            through = frame(np.array([(0, side * apart)]), _middle(rng, size), heading)
            place = (float(through[0, 0]), float(through[0, 1]))
            turn = heading if rng.random() < 0.6 else heading + 90
            roads.append(_random_road(rng, style, size, place, turn))
    _finish_roads(rng, site, style, roads, taken, parked)
    return heading


def _crossing(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    size: Size,
    taken: Taken,
    parked: Parked,
) -> float:
    heading, middle = float(rng.uniform(0, 360)), _middle(rng, size)
    other = heading + rng.choice([90, rng.uniform(60, 120)])
    roads = [
        _random_road(rng, style, size, middle, heading),
        _random_road(rng, style, size, middle, float(other)),
    ]
    pave(rng, site, style, roads, taken)
    mark_roads(rng, site, style, roads)
    for road, crossed in (roads, roads[::-1]):
        mark_arms(rng, site, style, road, crossed.covers)
    fill_roads(rng, site, style, roads, parked)
    return heading


def _roundabout(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    size: Size,
    taken: Taken,
    parked: Parked,
) -> float:
    middle, heading = _middle(rng, size), float(rng.uniform(0, 360))
    inner, lanes = rng.uniform(4, 14), int(rng.integers(1, 3))
    lane = rng.uniform(3.8, 5.0)
    outer = inner + lanes * lane
    arms = _arms(rng, style, middle, heading, outer, float(np.hypot(*size)))
    pave(rng, site, style, arms, taken)
    site.surfaces.append(Surface(_disk(middle, outer + 0.4), style.road))
    site.surfaces.append(Surface(_disk(middle, inner), "concrete", 0.9))
    site.surfaces.append(Surface(_disk(middle, inner - 0.6), style.verge))
    taken.mark(_disk(middle, outer + 1.0))
    hub = np.array(middle)

    def inside(points: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.norm(points - hub, axis=1) < outer + 0.5)

    clipped = [_outside(arm, inside) for arm in arms]
    mark_roads(rng, site, style, clipped)
    for arm in arms:
        mark_arms(rng, site, style, arm, inside)
    rim = strip(_circle(middle, inner + 0.4, clockwise=True), 0.15)
    site.markings.append((rim, marking_color(rng, style)))
    circle = _circle(middle, inner, clockwise=style.left_traffic)
    fill_roads(rng, site, style, [Road(circle, lanes, 0, lane)], parked)
    fill_roads(rng, site, style, clipped, parked)
    for _ in range(int(rng.integers(0, 12))):
        angle, out = rng.uniform(0, 2 * np.pi), rng.uniform(0, max(inner - 2.5, 0.5))
        place = hub + out * np.array([np.cos(angle), np.sin(angle)])
        tree = random_tree(rng, *place, winter=style.family == "winter")
        if tree.radius < inner - out:
            site.trees.append(tree)
    return heading


def _arms(
    rng: np.random.Generator,
    style: AerialStyle,
    middle: tuple[float, float],
    heading: float,
    radius: float,
    reach: float,
) -> list[Road]:
    count = int(rng.integers(3, 6))
    roads = []
    for k in range(count):
        way = heading + 360 * k / count + rng.normal(0, 8)
        line = random_line(rng, middle, way, reach, rng.normal(0, 0.002))
        lanes = int(rng.choice([1, 1, 2]))
        roads.append(Road(line[len(line) // 2 :], lanes, lanes, rng.uniform(2.9, 3.6)))
    return roads


def _outside(road: Road, inside: Callable[[np.ndarray], np.ndarray]) -> Road:
    keep = road.line[~inside(road.line)]
    return Road(keep, road.forward, road.backward, road.lane)


def _circle(
    middle: tuple[float, float], radius: float, *, clockwise: bool
) -> np.ndarray:
    angle = np.linspace(0, 2 * np.pi, max(24, int(radius * 5)))
    if not clockwise:
        angle = -angle
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.asarray(ring * radius + np.array(middle))


def _disk(middle: tuple[float, float], radius: float) -> np.ndarray:
    return _circle(middle, max(radius, 0.1), clockwise=True)


def _carpark(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    size: Size,
    taken: Taken,
    parked: Parked,
) -> float:
    """Rows of bays with aisles between them, beside a street."""
    heading, middle = float(rng.uniform(0, 360)), _middle(rng, size)
    reach = max(size) * rng.uniform(0.35, 0.75)
    lot = block(middle, heading, (-reach, reach), (-reach, reach))
    site.surfaces.append(Surface(lot, style.lot))
    taken.mark(lot)
    depth, width = rng.uniform(4.7, 5.5), rng.uniform(2.3, 2.9)
    aisle, slant = rng.uniform(4.5, 7.0), rng.choice([0.0, 0.0, 20.0, 35.0])
    color, half = marking_color(rng, style), rng.uniform(0.04, 0.07)
    lines = bool(rng.random() < 0.9)
    for start in np.arange(-reach + 1, reach - 2 * depth - aisle, 2 * depth + aisle):
        for row in (0.0, depth):
            place = (middle, heading, start + row, depth, width, float(slant))
            if lines:
                _mark_row(site, place, reach, color, half)
            _fill_row(rng, site, style, place, reach, parked)
        lane = (middle, heading, start + 2 * depth + aisle / 2)
        _drive_aisle(rng, site, style, lane, reach, parked)
    through = frame(np.array([(reach + rng.uniform(6, 10), 0)]), middle, heading)[0]
    at = (float(through[0]), float(through[1]))
    road = _random_road(rng, style, size, at, heading + 90)
    _finish_roads(rng, site, style, [road], taken, parked)
    return heading


Row = tuple[tuple[float, float], float, float, float, float, float]


def _mark_row(
    site: Site, place: Row, reach: float, color: np.ndarray, half: float
) -> None:
    middle, heading, start, depth, width, slant = place
    skew = np.tan(np.deg2rad(slant)) * depth / 2
    for edge in np.arange(-reach + 2, reach - 2, width):
        corners = np.array(
            [
                (start, edge - skew - half),
                (start, edge - skew + half),
                (start + depth, edge + skew + half),
                (start + depth, edge + skew - half),
            ]
        )
        site.markings.append((frame(corners, middle, heading), color))


def _fill_row(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    place: Row,
    reach: float,
    parked: Parked,
) -> None:
    middle, heading, start, depth, width, slant = place
    nose_in = rng.uniform(0.2, 0.8)
    for edge in np.arange(-reach + 2, reach - 2 - width, width):
        if rng.random() > style.occupancy:
            continue
        vehicle = fleet_vehicle(rng, style, others=bool(rng.random() < 0.05))
        at = (
            start + depth / 2 + rng.normal(0, 0.2),
            edge + width / 2 + rng.normal(0, 0.12),
        )
        x, y = frame(np.array([at]), middle, heading)[0]
        way = heading + slant + rng.normal(0, 1.5) + 180 * (rng.random() < nose_in)
        pose = Pose(float(x), float(y), float(way) % 360)
        fits = vehicle.length < depth + 0.9
        if fits and parked.add(pose, vehicle.length, vehicle.width):
            site.vehicles.append((vehicle, pose))


def _drive_aisle(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    place: tuple[tuple[float, float], float, float],
    reach: float,
    parked: Parked,
) -> None:
    middle, heading, forward = place
    for _ in range(int(rng.integers(0, 3))):
        vehicle = fleet_vehicle(rng, style, others=False)
        at = (forward + rng.normal(0, 0.8), rng.uniform(-reach, reach))
        x, y = frame(np.array([at]), middle, heading)[0]
        way = heading + 90 + 180 * (rng.random() < 0.5) + rng.normal(0, 8)
        pose = Pose(float(x), float(y), float(way) % 360)
        if parked.add(pose, vehicle.length, vehicle.width):
            site.vehicles.append((vehicle, pose))


LAYOUTS = {
    "street": _street,
    "crossing": _crossing,
    "roundabout": _roundabout,
    "carpark": _carpark,
}


def _build_houses(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    size: Size,
    taken: Taken,
    heading: float,
) -> None:
    tries = int(style.houses * size[0] * size[1] / 90)
    for _ in range(min(tries, 400)):
        x, y = rng.uniform(-0.05, 1.05, 2) * np.array(size)
        length = rng.uniform(7, 22)
        width = length * rng.uniform(0.45, 0.9)
        turn = heading + rng.choice([0, 90]) + rng.normal(0, 3)
        tall, gable = rng.uniform(3, 10), bool(rng.random() < 0.55)
        gable = gable and style.roof not in ("flat_roof",)
        house = House(x, y, turn, length, width, tall, style.roof, gable)
        outline = house.outline()
        middle = outline.mean(axis=0)
        spots = [middle + (outline - middle) * s for s in (1.1, 0.75, 0.4)]
        edges = (outline + np.roll(outline, 1, axis=0)) / 2
        if taken.is_free(np.concatenate([*spots, edges, middle[None]])):
            taken.mark(middle + (outline - middle) * 1.12)
            site.houses.append(house)


def _plant(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    size: Size,
    taken: Taken,
) -> None:
    """Add trees and clutter wherever there is room."""
    area = size[0] * size[1]
    for _ in range(min(int(style.trees * area / 40), 600)):
        x, y = rng.uniform(0, 1, 2) * np.array(size)
        tree = random_tree(rng, float(x), float(y), winter=style.family == "winter")
        ring = _circle((tree.x, tree.y), tree.radius * 0.5, clockwise=True)
        if taken.is_free(ring):
            site.trees.append(tree)
    for _ in range(min(int(style.clutter * area / 120), 200)):
        x, y = rng.uniform(0, 1, 2) * np.array(size)
        mesh, radius = random_clutter(rng)
        if taken.is_free(_circle((x, y), radius, clockwise=True)):
            site.objects.append((mesh, Pose(float(x), float(y), rng.uniform(0, 360))))
