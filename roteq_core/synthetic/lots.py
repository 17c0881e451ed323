"""Car parks of a scene: rows of bays and the aisles between them."""

from __future__ import annotations

import numpy as np

from roteq_core.synthetic.fleet import fleet_vehicle, marking_color
from roteq_core.synthetic.ground import Surface, block, frame
from roteq_core.synthetic.mesh import Pose
from roteq_core.synthetic.occupancy import Parked, Taken
from roteq_core.synthetic.site import Site
from roteq_core.synthetic.styles import AerialStyle


def lay_car_park(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    middle: tuple[float, float],
    heading: float,
    reach: float,
    taken: Taken,
    parked: Parked,
) -> None:
    """Add a square car park, `reach` meters from its middle to its edges."""
    lot = block(middle, heading, (-reach, reach), (-reach, reach))
    site.surfaces.append(Surface(lot, style.lot))
    taken.mark(lot)
    depth, width = rng.uniform(4.7, 5.5), rng.uniform(2.3, 2.9)
    aisle, slant = rng.uniform(4.5, 7.0), rng.choice([0.0, 0.0, 20.0, 35.0])
    color, half = marking_color(rng, style), rng.uniform(0.04, 0.07)
    has_lines = bool(rng.random() < 0.9)
    for start in np.arange(-reach + 1, reach - 2 * depth - aisle, 2 * depth + aisle):
        for row in (0.0, depth):
            place = (middle, heading, start + row, depth, width, float(slant))
            if has_lines:
                _mark_row(site, place, reach, color, half)
            _fill_row(rng, site, style, place, reach, parked)
        lane = (middle, heading, start + 2 * depth + aisle / 2)
        _drive_aisle(rng, site, style, lane, reach, parked)


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
