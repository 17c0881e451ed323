"""Vehicles that are no cars, and things that stand about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from roteq_core.synthetic.bodies import (
    CAR_KINDS,
    OTHER_KINDS,
    random_body,
    random_color,
    random_paint,
    with_glare,
)
from roteq_core.synthetic.cars import car_mesh
from roteq_core.synthetic.mesh import GLASS, MATTE, PAINT, Mesh, MeshBuilder, rectangle


@dataclass(frozen=True)
class Vehicle:
    """A mesh with its size in meters and its kind."""

    mesh: Mesh
    length: float
    width: float
    kind: str


def random_vehicle(
    rng: np.random.Generator,
    kind: str,
    *,
    lights_on: bool = False,
    snow: float = 0.0,
    glare: bool = False,
) -> Vehicle:
    """Draw a vehicle of one of CAR_KINDS or OTHER_KINDS."""
    if kind in CAR_KINDS:
        body = random_body(rng, kind, lights_on=lights_on, snow=snow)
        body = with_glare(rng, body) if glare else body
        return Vehicle(car_mesh(body), body.length, body.width, kind)
    makers = {"truck": _truck, "bus": _bus, "motorcycle": _motorcycle}
    if kind not in makers:
        kinds = ", ".join(CAR_KINDS + OTHER_KINDS)
        raise ValueError(f"kind must be one of {kinds}, got {kind!r}")
    return makers[kind](rng)


@cache
def stock_vehicle(kind: str, number: int) -> Vehicle:
    """Give one of a fixed stock of vehicles, for those that need not be new."""
    kinds = CAR_KINDS + OTHER_KINDS
    rng = np.random.default_rng([20171022, kinds.index(kind), number])
    return random_vehicle(rng, kind)


def _truck(rng: np.random.Generator) -> Vehicle:
    length, width = rng.uniform(5.5, 12.0), rng.uniform(2.1, 2.55)
    cab, height = rng.uniform(1.7, 2.4), rng.uniform(2.2, 3.0)
    builder = MeshBuilder()
    paint = random_paint(rng)
    _cab(builder, rng, length / 2, (cab, width * 0.96, height), paint)
    _cargo(builder, rng, length, width, cab + rng.uniform(0.15, 0.6))
    return Vehicle(builder.build(), length, width, "truck")


def _cab(
    builder: MeshBuilder,
    rng: np.random.Generator,
    front: float,
    size: tuple[float, float, float],
    paint: np.ndarray,
) -> None:
    """Add a cab over the engine: a steep windscreen and a level roof."""
    length, width, height = size
    builder.box((front - length / 2, 0), (length, width), (0.4, 1.1), paint, PAINT)
    run = rng.uniform(0.15, 0.5)
    foot = rectangle((front - length / 2 - 0.05, 0), (length - 0.1, width), 1.1)
    top = rectangle(
        (front - run - (length - run) / 2, 0), (length - run, width * 0.94), height
    )
    builder.walls(foot, top, paint, PAINT)
    pane = np.stack([foot[0], foot[1], top[1], top[0]]) * np.array([1, 0.9, 1])
    builder.polygon(pane, random_color(rng, (15, 20, 26), (70, 92, 102)), GLASS)
    builder.polygon(top, paint, PAINT)
    builder.hulls.append(np.concatenate([foot, top]))
    for side in (-1, 1):
        builder.box(
            (front - 0.35, side * (width / 2 + 0.14)), (0.16, 0.26), (1.4, 1.9),
            np.full(3, 0.1),
        )  # fmt: skip


def _cargo(
    builder: MeshBuilder,
    rng: np.random.Generator,
    length: float,
    width: float,
    start: float,
) -> None:
    """Add a closed box, a flat bed with load, or a tipper."""
    space = length - start
    middle = (-length / 2 + space / 2, 0.0)
    draw = rng.random()
    if draw < 0.55:
        color = random_color(rng, (150, 150, 150), (245, 245, 245))
        if rng.random() < 0.3:
            color = random_paint(rng)
        high = rng.uniform(2.4, 3.9)
        builder.box(middle, (space, width), (0.6, high), color)
        for at in np.arange(-space / 2 + 0.6, space / 2, rng.uniform(0.6, 2.0)):
            rib = rectangle((middle[0] + at, 0), (0.05, width * 0.97), high)
            builder.polygon(rib, color * 0.9, MATTE)
        return
    frame = random_color(rng, (60, 55, 50), (150, 130, 110))
    builder.box(middle, (space, width), (0.6, 1.3), frame)
    inner = rectangle(middle, (space - 0.2, width - 0.2), 1.2)
    load = random_color(rng, (70, 52, 38), (190, 170, 140))
    builder.polygon(inner, load * 0.8, MATTE)
    for _ in range(int(rng.integers(0, 9))):
        size = rng.uniform(0.4, 1.6, 2)
        at = rng.uniform(-0.5, 0.5, 2) * (np.array([space, width]) - size - 0.2)
        high = 1.2 + rng.uniform(0.1, 1.2)
        spot = (middle[0] + float(at[0]), float(at[1]))
        tint = random_color(rng, (60, 60, 60), (220, 205, 180))
        builder.box(spot, (float(size[0]), float(size[1])), (1.2, high), tint)


def _bus(rng: np.random.Generator) -> Vehicle:
    length, width = rng.uniform(7.0, 12.5), rng.uniform(2.3, 2.55)
    height, half = rng.uniform(2.8, 3.4), 0.0
    half = length / 2
    builder = MeshBuilder()
    paint = random_paint(rng)
    if rng.random() < 0.5:
        paint = random_color(rng, (200, 200, 198), (248, 248, 246))
    foot = rectangle((0, 0), (length, width), 0.5)
    top = rectangle((-0.1, 0), (length - 0.3, width * 0.95), height)
    builder.walls(foot, top, paint, PAINT)
    builder.polygon(top, paint, PAINT)
    glass = random_color(rng, (15, 20, 26), (70, 92, 102))
    screen = np.stack([foot[0], foot[1], top[1], top[0]])
    low = screen[[0, 1]] * 0.4 + screen[[3, 2]] * 0.6
    builder.polygon(
        np.stack([low[0], low[1], screen[2], screen[3]]) * np.array([1, 0.9, 1]),
        glass, GLASS,
    )  # fmt: skip
    builder.hulls.append(np.concatenate([foot, top]))
    unit = random_color(rng, (120, 120, 120), (235, 235, 235))
    at = rng.uniform(-0.3, 0.3) * length
    builder.box((at, 0), (rng.uniform(1.2, 3.0), 1.6), (height, height + 0.3), unit)
    for hatch in rng.uniform(-0.42, 0.42, 2) * length:
        builder.polygon(
            rectangle((float(hatch), 0), (0.7, 0.7), height + 0.02), unit * 0.8, MATTE
        )
    builder.polygon(
        rectangle((half - 0.5, 0), (0.06, width * 0.9), height), unit, MATTE
    )
    return Vehicle(builder.build(), length, width, "bus")


def _motorcycle(rng: np.random.Generator) -> Vehicle:
    length, width = rng.uniform(1.8, 2.2), rng.uniform(0.6, 0.8)
    builder = MeshBuilder()
    paint = random_paint(rng)
    builder.box((0, 0), (length, 0.22), (0.2, 0.7), np.full(3, 0.1))
    builder.box((0.2, 0), (0.9, 0.34), (0.5, 0.95), paint, PAINT)
    builder.box((length * 0.27, 0), (0.07, width), (0.9, 1.0), np.full(3, 0.12))
    for _ in range(int(rng.choice([0, 1, 1, 1, 2]))):
        x = rng.uniform(-0.35, 0.0)
        coat = random_color(rng, (20, 20, 25), (220, 200, 180))
        builder.box((x, 0), (0.34, 0.5), (0.8, 1.4), coat)
        helmet = random_color(rng, (15, 15, 15), (240, 240, 240))
        builder.box((x + 0.08, 0), (0.26, 0.24), (1.4, 1.65), helmet, PAINT)
    return Vehicle(builder.build(), length, width, "motorcycle")


def random_clutter(rng: np.random.Generator) -> tuple[Mesh, float]:
    """Draw something that stands about; give its mesh and its radius in meters."""
    builder = MeshBuilder()
    draw = rng.random()
    if draw < 0.3:  # shipping container, shed
        size = (rng.uniform(2.0, 7.0), rng.uniform(1.6, 2.5))
        color = random_paint(rng) * 0.9
        height = rng.uniform(1.6, 2.9)
        builder.box((0, 0), size, (0.0, height), color)
        for at in np.arange(-size[0] / 2, size[0] / 2, 0.4):
            rib = rectangle((at, 0), (0.08, size[1]), height)
            builder.polygon(rib, color * 0.88, MATTE)
        return builder.build(), size[0] / 2
    if draw < 0.65:  # crates, bins, boxes
        for _ in range(int(rng.integers(1, 4))):
            size = (rng.uniform(0.5, 1.6), rng.uniform(0.5, 1.3))
            at = (rng.uniform(-1, 1), rng.uniform(-1, 1))
            color = random_color(rng, (60, 55, 50), (200, 190, 170))
            builder.box(at, size, (0.0, rng.uniform(0.4, 1.5)), color)
        return builder.build(), 1.8
    if draw < 0.85:  # lamp post with its arm, sign
        pole = np.full(3, rng.uniform(0.4, 0.8))
        builder.box((0, 0), (0.16, 0.16), (0.0, rng.uniform(3, 7)), pole)
        builder.box((0.7, 0), (1.4, 0.14), (4.0, 4.1), pole)
        return builder.build(), 1.0
    for _ in range(int(rng.integers(1, 5))):  # people, cones
        at = (rng.uniform(-1, 1), rng.uniform(-1, 1))
        color = random_color(rng, (30, 30, 40), (230, 150, 110))
        builder.box(at, (0.35, 0.45), (0.0, rng.uniform(0.6, 1.7)), color)
    return builder.build(), 1.3
