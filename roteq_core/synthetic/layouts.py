"""What a scene shows: a street, a crossing, a roundabout, a car park."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from roteq_core.synthetic.fleet import marking_color
from roteq_core.synthetic.ground import Surface, circle, frame, strip
from roteq_core.synthetic.lots import lay_car_park
from roteq_core.synthetic.occupancy import Parked, Taken
from roteq_core.synthetic.paintwork import striped_curb
from roteq_core.synthetic.roads import (
    Road,
    dress_lanes,
    fill_roads,
    mark_arms,
    mark_roads,
    pave,
    random_line,
)
from roteq_core.synthetic.site import Site
from roteq_core.synthetic.styles import AerialStyle
from roteq_core.synthetic.town import build_houses, patchwork, plant
from roteq_core.synthetic.trees import random_tree

Size = tuple[float, float]


@dataclass(frozen=True)
class Plot:
    """A place that is being laid out: what chance, style and room it has.

    Parameters
    ----------
    rng : numpy Generator
        Where chance comes from.
    site : Site
        Gets what is drawn.
    style : AerialStyle
        Gives materials and densities.
    size : (float, float)
        Width and height in meters.
    taken : Taken
        Where no house or tree may stand.
    parked : Parked
        Where vehicles stand.
    """

    rng: np.random.Generator
    site: Site
    style: AerialStyle
    size: Size
    taken: Taken
    parked: Parked

    def middle(self) -> tuple[float, float]:
        """Draw a place near the middle."""
        x, y = (0.5 + self.rng.uniform(-0.15, 0.15, 2)) * np.array(self.size)
        return float(x), float(y)


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
    site, taken = Site(style.verge), Taken(*size)
    patchwork(rng, site, style, size)
    heading = LAYOUTS[style.layout](Plot(rng, site, style, size, taken, Parked()))
    build_houses(rng, site, style, size, taken, heading)
    plant(rng, site, style, size, taken)
    return site


def _random_road(plot: Plot, through: tuple[float, float], heading: float) -> Road:
    rng = plot.rng
    reach = float(np.hypot(*plot.size)) * 0.8
    line = random_line(rng, through, heading, reach, rng.normal(0, 0.002))
    lanes = int(rng.choice([1, 1, 2]))
    parking = bool(rng.random() < 0.3)
    median = rng.uniform(0.8, 5.0) if lanes > 1 and rng.random() < 0.5 else 0.0
    if plot.style.family == "motorway":
        lanes, parking = int(rng.integers(2, 5)), False
        median = rng.uniform(1.5, 9.0)
    return Road(line, lanes, lanes, rng.uniform(2.8, 3.7), median, parking)


def _draw_roads(plot: Plot, roads: list[Road]) -> None:
    rng, site, style = plot.rng, plot.site, plot.style
    pave(rng, site, style, roads, plot.taken)
    mark_roads(rng, site, style, roads)
    dress_lanes(rng, site, style, roads)


def _street(plot: Plot) -> float:
    rng = plot.rng
    heading = float(rng.uniform(0, 360))
    roads = [_random_road(plot, plot.middle(), heading)]
    apart = rng.uniform(28, 60)
    for side in (-1, 1):
        if rng.random() < 0.5 and plot.style.family != "motorway":
            through = frame(np.array([(0, side * apart)]), plot.middle(), heading)
            place = (float(through[0, 0]), float(through[0, 1]))
            turn = heading if rng.random() < 0.6 else heading + 90
            roads.append(_random_road(plot, place, turn))
    _draw_roads(plot, roads)
    fill_roads(rng, plot.site, plot.style, roads, plot.parked)
    return heading


def _crossing(plot: Plot) -> float:
    rng, site, style = plot.rng, plot.site, plot.style
    heading, middle = float(rng.uniform(0, 360)), plot.middle()
    other = heading + rng.choice([90, rng.uniform(60, 120)])
    roads = [
        _random_road(plot, middle, heading),
        _random_road(plot, middle, float(other)),
    ]
    _draw_roads(plot, roads)
    for road, crossed in (roads, roads[::-1]):
        mark_arms(rng, site, style, road, crossed.covers)
    fill_roads(rng, site, style, roads, plot.parked)
    return heading


def _roundabout(plot: Plot) -> float:
    rng, site, style = plot.rng, plot.site, plot.style
    middle, heading = plot.middle(), float(rng.uniform(0, 360))
    inner, lanes = rng.uniform(4, 14), int(rng.integers(1, 3))
    lane = rng.uniform(3.8, 5.0)
    outer = inner + lanes * lane
    hub = np.array(middle)

    def inside(points: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.norm(points - hub, axis=1) < outer + 0.5)

    arms = _arms(rng, middle, heading, float(np.hypot(*plot.size)))
    pave(rng, site, style, arms, plot.taken)
    _pave_ring(plot, middle, (inner, outer))
    plot.taken.mark(circle(middle, outer + 1.0, clockwise=True))
    clipped = [_outside(arm, inside) for arm in arms]
    mark_roads(rng, site, style, clipped)
    for arm in arms:
        mark_arms(rng, site, style, arm, inside)
    line = circle(middle, inner, clockwise=style.left_traffic)
    fill_roads(rng, site, style, [Road(line, lanes, 0, lane)], plot.parked)
    fill_roads(rng, site, style, clipped, plot.parked)
    _plant_island(plot, middle, inner)
    return heading


def _pave_ring(
    plot: Plot, middle: tuple[float, float], radii: tuple[float, float]
) -> None:
    """Add the carriageway of a roundabout, its island and the line around it."""
    rng, site, style = plot.rng, plot.site, plot.style
    inner, outer = radii
    for radius, material, factor in (
        (outer + 0.4, style.road, 1.0),
        (inner, "concrete", 0.9),
        (inner - 0.6, style.verge, 1.0),
    ):
        disk = circle(middle, radius, clockwise=True)
        site.surfaces.append(Surface(disk, material, factor))
    rim = circle(middle, inner + 0.4, clockwise=True)
    if rng.random() < 0.35:
        site.markings.extend(striped_curb(rim, 0.0, colors=int(rng.integers(3))))
    else:
        site.markings.append((strip(rim, 0.15), marking_color(rng, style)))


def _plant_island(plot: Plot, middle: tuple[float, float], radius: float) -> None:
    rng, is_winter = plot.rng, plot.style.family == "winter"
    for _ in range(int(rng.integers(0, 14))):
        angle, out = rng.uniform(0, 2 * np.pi), rng.uniform(0, max(radius - 2, 0.5))
        x, y = middle[0] + out * np.cos(angle), middle[1] + out * np.sin(angle)
        tree = random_tree(rng, x, y, winter=is_winter)
        if tree.radius < radius - out:
            plot.site.trees.append(tree)


def _arms(
    rng: np.random.Generator,
    middle: tuple[float, float],
    heading: float,
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


def _carpark(plot: Plot) -> float:
    rng, site, style = plot.rng, plot.site, plot.style
    heading, middle = float(rng.uniform(0, 360)), plot.middle()
    reach = max(plot.size) * rng.uniform(0.35, 0.75)
    lay_car_park(rng, site, style, middle, heading, reach, plot.taken, plot.parked)
    beside = reach + rng.uniform(6, 10)
    through = frame(np.array([(beside, 0.0)]), middle, heading)[0]
    at = (float(through[0]), float(through[1]))
    roads = [_random_road(plot, at, heading + 90)]
    _draw_roads(plot, roads)
    fill_roads(rng, site, style, roads, plot.parked)
    return heading


LAYOUTS = {
    "street": _street,
    "crossing": _crossing,
    "roundabout": _roundabout,
    "carpark": _carpark,
}
