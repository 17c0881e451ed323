"""What lies around one car in a crop: a lane, a row of bays, a yard."""

from __future__ import annotations

import numpy as np

from roteq_core.synthetic.fleet import fleet_vehicle, marking_color
from roteq_core.synthetic.ground import Surface, block, dashes, frame
from roteq_core.synthetic.mesh import Pose
from roteq_core.synthetic.occupancy import Parked
from roteq_core.synthetic.paintwork import (
    arrow,
    hatching,
    manhole,
    striped_curb,
    zebra,
)
from roteq_core.synthetic.site import Site
from roteq_core.synthetic.styles import AerialStyle
from roteq_core.synthetic.traffic import Vehicle, random_clutter
from roteq_core.synthetic.trees import House, random_tree


def surroundings(
    rng: np.random.Generator,
    style: AerialStyle,
    car: Vehicle,
    heading: float,
    extent: float,
) -> Site:
    """Draw the ground, neighbors and clutter around a car at (0, 0)."""
    makers = {"carpark": _bay}
    maker = makers.get(style.layout, _lane)
    if maker is _lane and rng.random() < 0.2:
        maker = _yard
    site = maker(rng, style, car, heading, extent)
    _part(site, car, heading)
    _dress(rng, site, style, heading, extent)
    _scatter(rng, site, style, car, extent)
    return site


def _part(site: Site, car: Vehicle, heading: float) -> None:
    """Drop neighbors that would stand in the car or in each other."""
    parked = Parked()
    parked.add(Pose(0.0, 0.0, heading), car.length, car.width)
    site.vehicles[:] = [
        (vehicle, pose)
        for vehicle, pose in site.vehicles
        if parked.add(pose, vehicle.length, vehicle.width)
    ]


def _lane(
    rng: np.random.Generator,
    style: AerialStyle,
    car: Vehicle,
    heading: float,
    extent: float,
) -> Site:
    """Draw a road along the car (or about so), lines, a verge, cars in other lanes."""
    site = Site(style.road)
    along = heading + rng.normal(0, 4) + (rng.random() < 0.08) * rng.uniform(0, 180)
    lane, reach = rng.uniform(2.6, 3.8), extent
    shift = rng.normal(0, 0.25)
    left, right = int(rng.integers(0, 4)), int(rng.integers(0, 4))
    edges = (shift - (left + 0.5) * lane, shift + (right + 0.5) * lane)
    _add_verges(rng, site, style, along, edges, reach)
    _add_lines(rng, site, style, along, (edges, lane), reach)
    for k in range(-left, right + 1):
        _fill_lane(rng, site, style, (along, shift + k * lane, k), car, extent)
    return site


def _add_verges(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    along: float,
    edges: tuple[float, float],
    reach: float,
) -> None:
    for side, edge in ((-1, edges[0]), (1, edges[1])):
        edge += side * rng.uniform(0.1, 0.6)
        far = edge + side * 2 * reach
        points = block((0, 0), along, (-reach, reach), (edge, far))
        site.surfaces.append(Surface(points, style.verge, rng.uniform(0.9, 1.1)))
        if rng.random() < 0.6:
            curb = (edge, edge + side * rng.uniform(0.12, 2.0))
            points = block((0, 0), along, (-reach, reach), curb)
            site.surfaces.append(Surface(points, "concrete", rng.uniform(0.75, 1.05)))


def _add_lines(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    along: float,
    lanes: tuple[tuple[float, float], float],
    reach: float,
) -> None:
    if rng.random() < 0.15:
        return
    (low, high), lane = lanes
    width = rng.uniform(0.1, 0.22)
    dash, gap = rng.uniform(1.0, 4.0), rng.uniform(1.5, 6.0)
    line = frame(np.array([(-reach, 0.0), (reach, 0.0)]), (0, 0), along)
    line = line + rng.uniform(0, 3) * (line[1] - line[0]) / (2 * reach)
    for at in np.arange(low, high + 0.1, lane):
        solid = at in (low, high) or rng.random() < 0.15
        pieces = (
            [block((0, 0), along, (-reach, reach), (at - width / 2, at + width / 2))]
            if solid
            else dashes(line, width, at, dash, gap)
        )
        color = marking_color(rng, style)
        site.markings.extend((piece, color) for piece in pieces)


def _fill_lane(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    lane: tuple[float, float, int],
    car: Vehicle,
    extent: float,
) -> None:
    """Put cars into one lane; lane 0 keeps the middle free for the car itself."""
    along, offset, index = lane
    ahead = car.length / 2 + rng.exponential(5.0) + 0.6
    behind = -car.length / 2 - rng.exponential(5.0) - 0.6
    spots = [ahead, behind] if index == 0 else [rng.uniform(-0.7, 0.7) * extent]
    for k, at in enumerate(spots):
        if abs(at) > extent * 0.75 or rng.random() > style.occupancy:
            continue
        lit = bool(rng.random() < style.lights)
        other = fleet_vehicle(rng, style, lit=lit, stock=True)
        middle = at + (other.length / 2 if k == 0 else -other.length / 2) * (index == 0)
        turned = index != 0 and rng.random() < 0.5
        place = frame(np.array([(middle, offset)]), (0, 0), along)[0]
        way = along + rng.normal(0, 2) + 180 * turned
        site.vehicles.append((other, Pose(float(place[0]), float(place[1]), way)))


def _bay(
    rng: np.random.Generator,
    style: AerialStyle,
    car: Vehicle,
    heading: float,
    extent: float,
) -> Site:
    """Draw a row of bays, nose in or nose out, with neighbors to both sides."""
    site = Site(style.lot)
    along = heading + rng.normal(0, 1.5) + 180 * (rng.random() < 0.5)
    depth, width, double = rng.uniform(4.6, 5.6), rng.uniform(2.25, 2.9), 0.4
    lengthwise = bool(rng.random() < 0.12)
    if lengthwise:  # one after the other along a curb
        depth, width, double = rng.uniform(2.0, 2.4), car.length + 1.2, 0.0
        along += 90
    rows = [0.0, depth + 0.1] if rng.random() < double else [0.0]
    slip = rng.normal(0, 0.25)
    if rng.random() < 0.85:
        _mark_bays(rng, site, style, (along, slip), (depth, width), len(rows))
    count = int(extent / width / 2) + 2
    for k in range(-count, count + 1):
        for row in rows:
            if (k, row) != (0, 0.0) and rng.random() < style.occupancy:
                spot = (along, row + slip, k * width)
                _park(rng, site, style, spot, lengthwise=lengthwise)
    if len(rows) == 1 and rng.random() < 0.6:
        start = depth / 2 + slip + rng.uniform(0.2, 1.0)
        edge = block((0, 0), along, (start, start + 2 * extent), (-extent, extent))
        site.surfaces.append(Surface(edge, style.verge))
    return site


def _mark_bays(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    place: tuple[float, float],
    size: tuple[float, float],
    rows: int,
) -> None:
    """Add the lines between bays and, at times, the line at their end."""
    (along, slip), (depth, width) = place, size
    color, half = marking_color(rng, style), rng.uniform(0.04, 0.07)
    ends = (slip - depth / 2, slip + depth * (rows - 0.5))
    for edge in np.arange(-7.5, 8) * width:
        mark = block((0, 0), along, ends, (edge - half, edge + half))
        site.markings.append((mark, color))
    if rng.random() < 0.5:
        at, reach = slip + depth / 2, 8 * width
        mark = block((0, 0), along, (at - half, at + half), (-reach, reach))
        site.markings.append((mark, color))


def _park(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    spot: tuple[float, float, float],
    *,
    lengthwise: bool,
) -> None:
    along, forward, right = spot
    other = fleet_vehicle(rng, style, others=False, stock=True)
    at = (forward + rng.normal(0, 0.25), right + rng.normal(0, 0.1))
    place = frame(np.array([at]), (0, 0), along)[0]
    way = along + rng.normal(0, 1.5) + 180 * (rng.random() < 0.5) + 90 * lengthwise
    site.vehicles.append((other, Pose(float(place[0]), float(place[1]), way)))


def _yard(
    rng: np.random.Generator,
    style: AerialStyle,
    car: Vehicle,
    heading: float,
    extent: float,
) -> Site:
    """Draw open ground with odd pieces of other surfaces, no order."""
    site = Site((style.lot, style.verge, style.road)[int(rng.integers(3))])
    for _ in range(int(rng.integers(0, 4))):
        turn = rng.uniform(0, 360)
        corner = rng.uniform(-0.7, 0.7, 2) * extent
        size = rng.uniform(0.2, 1.0, 2) * extent
        patch = block((corner[0], corner[1]), turn, (0, size[0]), (0, size[1]))
        material = (style.verge, style.lot, "concrete")[int(rng.integers(3))]
        site.surfaces.append(Surface(patch, material, rng.uniform(0.85, 1.1)))
    for side in (-1, 1):
        if rng.random() < style.occupancy * 0.5:
            other = fleet_vehicle(rng, style, stock=True)
            at = (rng.normal(0, 2), side * (car.width / 2 + 2.2 + rng.exponential(1.5)))
            place = frame(np.array([at]), (0, 0), heading)[0]
            way = heading + rng.normal(0, 15) + 180 * (rng.random() < 0.5)
            site.vehicles.append((other, Pose(float(place[0]), float(place[1]), way)))
    return site


def _dress(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    heading: float,
    extent: float,
) -> None:
    """Add an arrow, a manhole, a zebra crossing, hatching or a curb now and then."""
    draws = rng.random(5)
    place = _aside(rng, 0.0, 0.7 * extent)
    color = marking_color(rng, style)
    if draws[0] < 0.05:
        site.markings.append(arrow(place, heading + 180 * (draws[1] < 0.4), color))
    elif draws[0] < 0.12:
        site.markings.append(manhole(rng, *place))
    elif draws[0] < 0.17:
        turn = heading + 90 * (draws[1] < 0.5) + rng.normal(0, 10)
        site.markings.extend(zebra(place, turn, (-extent, extent), color))
    elif draws[0] < 0.22:
        site.markings.extend(hatching(rng, place, rng.uniform(0, 360), color))
    elif draws[0] < 0.27:
        ends = np.array([(-extent, 0.0), (extent, 0.0)])
        line = frame(ends, (0, 0), heading + rng.normal(0, 4))
        side = 1.0 if draws[1] < 0.5 else -1.0
        offset = side * rng.uniform(1.2, 0.5 * extent)
        site.markings.extend(striped_curb(line, offset, colors=int(rng.integers(3))))


def _scatter(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    car: Vehicle,
    extent: float,
) -> None:
    """Clutter, trees and houses at random around the car; shadows may fall on it."""
    for chance in (style.clutter, style.clutter * 0.5):
        if rng.random() < chance:
            mesh, radius = random_clutter(rng)
            place = _aside(rng, car.length / 2 + radius, extent)
            site.objects.append((mesh, Pose(*place, rng.uniform(0, 360))))
    if rng.random() < style.trees * 0.5:
        x, y = _aside(rng, 2.0, extent)
        tree = random_tree(rng, x, y, winter=style.family == "winter")
        if np.hypot(x, y) > tree.radius + 0.8:
            site.trees.append(tree)
    if rng.random() < style.houses * 0.2:
        size, turn = rng.uniform(6, 16), rng.uniform(0, 360)
        x, y = _aside(rng, size * 0.75 + car.length / 2, size + extent)
        high, gable = rng.uniform(3, 9), bool(rng.random() < 0.5)
        site.houses.append(House(x, y, turn, size, size * 0.7, high, style.roof, gable))


def _aside(
    rng: np.random.Generator, nearest: float, farthest: float
) -> tuple[float, float]:
    angle = rng.uniform(0, 2 * np.pi)
    distance = rng.uniform(nearest, max(nearest, farthest))
    return float(distance * np.cos(angle)), float(distance * np.sin(angle))
