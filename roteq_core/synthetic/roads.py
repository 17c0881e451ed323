"""Roads of a scene: surfaces, lines, traffic, parked cars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from roteq_core.synthetic.fleet import fleet_vehicle, marking_color
from roteq_core.synthetic.ground import Surface, block, dashes, normals, strip
from roteq_core.synthetic.mesh import Pose
from roteq_core.synthetic.occupancy import Parked, Taken
from roteq_core.synthetic.paintwork import arrow, manhole, striped_curb, zebra
from roteq_core.synthetic.site import Site
from roteq_core.synthetic.styles import AerialStyle


@dataclass(frozen=True)
class Road:
    """A road along a line (n, 2) of points a meter or so apart.

    Attributes
    ----------
    line : array of shape (n, 2)
        The middle, in meters, in the direction of the forward lanes.
    forward, backward : int
        Number of lanes each way.
    lane : float
        Width of a lane in meters.
    median : float
        Width of the strip between the directions.
    parking : bool
        Cars stand along the curbs.
    """

    line: np.ndarray
    forward: int = 1
    backward: int = 1
    lane: float = 3.2
    median: float = 0.0
    parking: bool = False

    def edges(self, *, left_traffic: bool) -> tuple[float, float]:
        """Offsets of the left and right edge from the line; right is positive."""
        park = 2.3 if self.parking else 0.0
        one = self.forward * self.lane + self.median / 2 + park
        other = self.backward * self.lane + self.median / 2 + park
        return (-one, other) if left_traffic else (-other, one)

    def half(self) -> float:
        """Half of the width, at the wider side."""
        low, high = self.edges(left_traffic=False)
        return max(-low, high)

    def covers(self, points: np.ndarray, margin: float = 0.0) -> np.ndarray:
        """Say of points (n, 2) whether they are on the road."""
        gaps = np.linalg.norm(points[:, None] - self.line[None], axis=2)
        return np.asarray(gaps.min(axis=1) < self.half() + margin)


def random_line(
    rng: np.random.Generator,
    through: tuple[float, float],
    heading_deg: float,
    reach: float,
    curvature: float,
) -> np.ndarray:
    """Give a line (n, 2) through a point that bends evenly, `reach` to both sides."""
    at = np.arange(-reach, reach + 1.5, 1.5)
    phase, wave = rng.uniform(0, 2 * np.pi), rng.uniform(0.0, 0.12)
    turn = curvature * at + wave * np.sin(at / 25 + phase) - wave * np.sin(phase)
    heading = np.deg2rad(heading_deg) + turn
    steps = 1.5 * np.stack([np.sin(heading), -np.cos(heading)], axis=1)
    path = np.cumsum(steps, axis=0)
    return np.asarray(path - path[len(at) // 2] + np.array(through))


def pave(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    roads: list[Road],
    taken: Taken,
) -> None:
    """Add sidewalks, then carriageways, then medians, so that crossings join."""
    walk = rng.uniform(0.0, 3.0) if rng.random() < 0.7 else 0.15
    side = ("concrete", "paving", style.verge)[int(rng.integers(3))]
    for road in roads:
        low, high = road.edges(left_traffic=style.left_traffic)
        outline = strip(road.line, high - low + 2 * walk, (low + high) / 2)
        site.surfaces.append(Surface(outline, side, rng.uniform(0.8, 1.05)))
        taken.mark(strip(road.line, high - low + 2 * walk + 1.0, (low + high) / 2))
    for road in roads:
        low, high = road.edges(left_traffic=style.left_traffic)
        outline = strip(road.line, high - low, (low + high) / 2)
        site.surfaces.append(Surface(outline, style.road))
        if rng.random() < 0.5:
            _add_tracks(rng, site, style, road)
    for road in roads:
        if road.median > 0.6:
            outline = strip(road.line, road.median - 0.3)
            site.surfaces.append(Surface(outline, style.verge))


def _add_tracks(
    rng: np.random.Generator, site: Site, style: AerialStyle, road: Road
) -> None:
    """Add the faint bands that tires polish or darken."""
    tone = rng.uniform(0.9, 1.05)
    for offset, _ in _lanes(road, left_traffic=style.left_traffic):
        for wheel in (-0.8, 0.8):
            band = strip(road.line, 0.6, offset + wheel)
            site.surfaces.append(Surface(band, style.road, tone))


def _lanes(road: Road, *, left_traffic: bool) -> list[tuple[float, bool]]:
    """Offset of each lane, and whether it runs against the line."""
    side = -1.0 if left_traffic else 1.0
    start = road.median / 2 + road.lane / 2
    ahead = [(side * (start + k * road.lane), False) for k in range(road.forward)]
    back = [(-side * (start + k * road.lane), True) for k in range(road.backward)]
    return ahead + back


def mark_roads(
    rng: np.random.Generator, site: Site, style: AerialStyle, roads: list[Road]
) -> None:
    """Add lane lines, edge lines and the middle line, left out on crossings."""
    if style.marking == "none":
        return
    dash, gap = rng.uniform(1.0, 4.0), rng.uniform(1.5, 6.0)
    width = rng.uniform(0.1, 0.2)
    edge_lines = rng.random() < 0.6
    stripes = int(rng.integers(3)) if rng.random() < 0.2 else None
    for road in roads:
        others = [other for other in roads if other is not road]
        if stripes is not None:
            _add_curbs(site, style, road, others, stripes)
        low, high = road.edges(left_traffic=style.left_traffic)
        edges = [low + 0.25, high - 0.25] if edge_lines else []
        middle = [-road.median / 2 - 0.1, road.median / 2 + 0.1]
        if road.median < 0.3:
            middle = [0.0]
        for offset in edges + middle:
            solid = offset not in middle or rng.random() < 0.6
            lengths = (3.0, 0.0) if solid else (dash, gap)
            _mark(rng, site, style, (road, offset, width, lengths), others)
        for offset, _ in _lanes(road, left_traffic=style.left_traffic):
            outer = offset + np.sign(offset) * road.lane / 2
            if low + 0.5 < outer < high - 0.5:
                _mark(rng, site, style, (road, outer, width, (dash, gap)), others)


def _add_curbs(
    site: Site, style: AerialStyle, road: Road, others: list[Road], colors: int
) -> None:
    for edge in road.edges(left_traffic=style.left_traffic):
        for piece, color in striped_curb(road.line, edge, colors=colors):
            middle = piece.mean(axis=0, keepdims=True)
            if not any(other.covers(middle)[0] for other in others):
                site.markings.append((piece, color))


def dress_lanes(
    rng: np.random.Generator, site: Site, style: AerialStyle, roads: list[Road]
) -> None:
    """Add arrows that point where the traffic goes, and manholes."""
    arrows = rng.random() < 0.35 and style.marking != "none"
    for road in roads:
        for offset, against in _lanes(road, left_traffic=style.left_traffic):
            for at in np.arange(rng.uniform(0, 30), len(road.line) * 1.5, 30.0):
                pose = _pose(rng, road.line, at, offset, against=against)
                if pose is None:
                    continue
                if arrows:
                    color, place = marking_color(rng, style), (pose.x, pose.y)
                    mark = arrow(place, pose.heading_cw_from_up_deg, color)
                    site.markings.append(mark)
                elif rng.random() < 0.3:
                    side = rng.normal(0, 1, 2)
                    hole = manhole(rng, pose.x + side[0], pose.y + side[1])
                    site.markings.append(hole)


def _mark(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    mark: tuple[Road, float, float, tuple[float, float]],
    others: list[Road],
) -> None:
    road, offset, width, (dash, gap) = mark
    color = marking_color(rng, style)
    for piece in dashes(road.line, width, offset, dash, gap):
        middle = piece.mean(axis=0, keepdims=True)
        if not any(other.covers(middle)[0] for other in others):
            site.markings.append((piece, color))


def mark_arms(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    road: Road,
    blocked: Callable[[np.ndarray], np.ndarray],
) -> None:
    """Add zebra crossings or stop lines where a road enters a crossing."""
    inside = blocked(road.line)
    for k in np.flatnonzero(inside[1:] != inside[:-1]):
        at = k + (-3 if inside[k + 1] else 4)
        if not 1 <= at < len(road.line) - 1:
            continue
        step = road.line[at + 1] - road.line[at - 1]
        heading = float(np.rad2deg(np.arctan2(step[0], -step[1])))
        origin = (float(road.line[at, 0]), float(road.line[at, 1]))
        low, high = road.edges(left_traffic=style.left_traffic)
        color = marking_color(rng, style)
        if rng.random() < 0.5:
            site.markings.extend(zebra(origin, heading, (low, high), color))
        elif rng.random() < 0.7:
            bar = block(origin, heading, (-0.2, 0.2), (low + 0.3, high - 0.3))
            site.markings.append((bar, color))


def fill_roads(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    roads: list[Road],
    parked: Parked,
) -> None:
    """Put moving and parked vehicles on roads."""
    for road in roads:
        for offset, against in _lanes(road, left_traffic=style.left_traffic):
            _fill_lane(rng, site, style, (road, offset, against), parked)
        if road.parking:
            low, high = road.edges(left_traffic=style.left_traffic)
            for offset in (low + 1.15, high - 1.15):
                _fill_curb(rng, site, style, (road, offset), parked)


def _fill_lane(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    lane: tuple[Road, float, bool],
    parked: Parked,
) -> None:
    road, offset, against = lane
    mean_gap = 4.0 + 40.0 * (1 - style.occupancy) ** 1.5
    at = rng.exponential(mean_gap)
    while at < len(road.line) * 1.5:
        lit = bool(rng.random() < style.lights)
        vehicle = fleet_vehicle(rng, style, lit=lit)
        lateral = offset + rng.normal(0, 0.2)
        pose = _pose(rng, road.line, at + vehicle.length / 2, lateral, against=against)
        if pose and parked.add(pose, vehicle.length, vehicle.width):
            site.vehicles.append((vehicle, pose))
            if lit:
                site.beams.append((vehicle, pose))
        at += vehicle.length + 1.0 + rng.exponential(mean_gap)


def _fill_curb(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    curb: tuple[Road, float],
    parked: Parked,
) -> None:
    road, offset = curb
    against = (offset > 0) == style.left_traffic
    at = 0.0
    while at < len(road.line) * 1.5:
        vehicle = fleet_vehicle(rng, style, others=bool(rng.random() < 0.1))
        wrong = bool(rng.random() < 0.12)
        way = against != wrong
        pose = _pose(rng, road.line, at + vehicle.length / 2, offset, against=way)
        taken = rng.random() < style.occupancy
        if pose and taken and parked.add(pose, vehicle.length, vehicle.width):
            site.vehicles.append((vehicle, pose))
        at += vehicle.length + rng.uniform(0.6, 1.8)


def _pose(
    rng: np.random.Generator,
    line: np.ndarray,
    at: float,
    offset: float,
    *,
    against: bool,
) -> Pose | None:
    """Place a vehicle `at` meters along a line; None beyond its end."""
    steps = np.linalg.norm(np.diff(line, axis=0), axis=1)
    where = np.concatenate([[0.0], np.cumsum(steps)])
    k = int(np.searchsorted(where, at))
    if not 1 <= k < len(line):
        return None
    share = (at - where[k - 1]) / max(where[k] - where[k - 1], 1e-9)
    ends = line[k - 1 : k + 1] + normals(line)[k - 1 : k + 1] * offset
    x, y = ends[0] + share * (ends[1] - ends[0])
    step = line[k] - line[k - 1]
    heading = np.rad2deg(np.arctan2(step[0], -step[1])) + 180.0 * against
    return Pose(float(x), float(y), float(heading + rng.normal(0, 1.2)) % 360)
