"""What cars are like: the proportions, paints and fittings that are drawn from chance.

The lengths along a car, from front to rear, are shares of its whole length: hood,
windscreen, roof, rear window, and what is left is the trunk (or a pickup's bed). The
ranges follow common cars: the hood is longer than the trunk, the windscreen is longer
and flatter than the rear window, so that the greenhouse sits behind the middle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

Range = tuple[float, float]


@dataclass(frozen=True)
class BodyRange:
    """Ranges of the measures of one kind of car: meters, then shares of the length."""

    length: Range
    width: Range
    height: Range
    hood: Range
    windscreen: Range
    roof: Range
    rear_window: Range
    hood_height: Range
    squareness: Range = (3.6, 5.5)


BODIES: dict[str, BodyRange] = {
    "hatchback": BodyRange(
        (3.6, 4.45), (1.64, 1.83), (1.43, 1.55), (0.235, 0.285), (0.16, 0.21),
        (0.37, 0.43), (0.07, 0.13), (0.88, 1.0),
    ),
    "sedan": BodyRange(
        (4.25, 5.05), (1.72, 1.9), (1.4, 1.49), (0.25, 0.30), (0.16, 0.20),
        (0.22, 0.28), (0.11, 0.16), (0.86, 0.98),
    ),
    "estate": BodyRange(
        (4.4, 4.95), (1.74, 1.88), (1.42, 1.52), (0.24, 0.29), (0.16, 0.19),
        (0.42, 0.47), (0.05, 0.09), (0.88, 0.98),
    ),
    "coupe": BodyRange(
        (4.0, 4.8), (1.76, 1.95), (1.24, 1.38), (0.29, 0.35), (0.15, 0.19),
        (0.16, 0.22), (0.13, 0.20), (0.8, 0.92),
    ),
    "suv": BodyRange(
        (4.1, 5.05), (1.78, 2.0), (1.58, 1.85), (0.24, 0.30), (0.13, 0.18),
        (0.42, 0.49), (0.05, 0.09), (0.98, 1.15), (4.2, 6.5),
    ),
    "minivan": BodyRange(
        (4.2, 5.2), (1.75, 1.98), (1.6, 1.85), (0.17, 0.23), (0.17, 0.22),
        (0.46, 0.53), (0.04, 0.08), (0.98, 1.15), (4.2, 6.5),
    ),
    "city": BodyRange(
        (2.7, 3.6), (1.5, 1.66), (1.46, 1.6), (0.17, 0.24), (0.17, 0.22),
        (0.40, 0.47), (0.06, 0.11), (0.88, 1.0),
    ),
    "van": BodyRange(
        (4.5, 6.0), (1.85, 2.08), (1.85, 2.6), (0.08, 0.19), (0.10, 0.15),
        (0.62, 0.70), (0.01, 0.03), (1.05, 1.3), (5.5, 9.0),
    ),
    "pickup": BodyRange(
        (4.8, 5.6), (1.78, 1.98), (1.7, 1.86), (0.24, 0.28), (0.12, 0.155),
        (0.17, 0.28), (0.02, 0.05), (1.02, 1.18), (4.5, 7.0),
    ),
}  # fmt: skip

CAR_KINDS = tuple(BODIES)
OTHER_KINDS = ("truck", "bus", "motorcycle")

# Share of cars on the road by color, and the range of each: RGB from, RGB to.
PAINTS: dict[str, tuple[float, tuple[int, int, int], tuple[int, int, int]]] = {
    "white": (0.30, (205, 206, 205), (250, 250, 248)),
    "black": (0.18, (14, 14, 16), (42, 42, 46)),
    "gray": (0.17, (62, 64, 68), (120, 122, 126)),
    "silver": (0.13, (140, 143, 146), (192, 194, 197)),
    "blue": (0.08, (18, 36, 82), (52, 98, 170)),
    "red": (0.06, (88, 12, 16), (176, 32, 34)),
    "brown": (0.03, (62, 46, 36), (150, 128, 102)),
    "green": (0.02, (22, 50, 38), (88, 122, 84)),
    "yellow": (0.015, (196, 160, 30), (236, 204, 70)),
    "orange": (0.015, (188, 82, 24), (222, 120, 44)),
}


_PAINT_SHARES = {name: paint[0] for name, paint in PAINTS.items()}


@dataclass(frozen=True)
class CarBody:
    """One car: measures in meters, shares of the length, colors in 0..1, fittings."""

    kind: str
    length: float
    width: float
    height: float
    hood: float
    windscreen: float
    roof: float
    rear_window: float
    hood_height: float
    nose_squareness: float
    tail_squareness: float
    tumblehome: float
    paint: np.ndarray
    roof_paint: np.ndarray
    trim: np.ndarray
    glass: np.ndarray
    screen_glass: np.ndarray
    rear_glass: float
    side_windows: int
    sunroof: float
    rails: bool
    antenna: bool
    mirrors: float
    headlight: np.ndarray
    taillight: np.ndarray
    lights_on: bool
    bed: np.ndarray | None
    bed_cover: bool
    stripe: bool
    crease: float
    cowl: float
    snow: float
    rack: bool

    @property
    def trunk(self) -> float:
        """Share of the length behind the rear window."""
        return max(0.0, 1 - self.hood - self.windscreen - self.roof - self.rear_window)


def random_color(
    rng: np.random.Generator, low: tuple[int, ...], high: tuple[int, ...]
) -> np.ndarray:
    """Draw an RGB color in 0..1 near the line between two 8-bit colors."""
    share, *shifts = rng.random(4).tolist()
    tones = [
        (a + share * (b - a)) / 255 + 0.04 * (shift - 0.5)
        for a, b, shift in zip(low, high, shifts, strict=True)
    ]
    return np.array([min(max(tone, 0.02), 1.0) for tone in tones])


def random_paint(rng: np.random.Generator) -> np.ndarray:
    """Draw a car color with the frequencies of `PAINTS`."""
    name = random_kind(rng, _PAINT_SHARES)
    _, low, high = PAINTS[name]
    return random_color(rng, low, high)


def random_kind(rng: np.random.Generator, weights: Mapping[str, float]) -> str:
    """Draw a key with the given weights."""
    left = rng.random() * sum(weights.values())
    for kind, weight in weights.items():
        left -= weight
        if left < 0:
            return kind
    return kind


def random_body(
    rng: np.random.Generator,
    kind: str,
    *,
    lights_on: bool = False,
    snow: float = 0.0,
) -> CarBody:
    """Draw a car of a kind.

    Parameters
    ----------
    rng : numpy Generator
        Where chance comes from.
    kind : str
        One of CAR_KINDS.
    lights_on : bool
        Head and tail lights shine.
    snow : float
        How much snow lies on hood, roof and trunk, 0..1.
    """
    if kind not in BODIES:
        raise ValueError(f"kind must be one of {', '.join(CAR_KINDS)}, got {kind!r}")
    ranges, paint = BODIES[kind], random_paint(rng)
    if kind == "van" and rng.random() < 0.55:
        paint = random_color(rng, (205, 206, 205), (250, 250, 248))
    draws = rng.random(12)
    body = CarBody(
        kind=kind,
        length=rng.uniform(*ranges.length),
        width=rng.uniform(*ranges.width),
        height=rng.uniform(*ranges.height),
        hood=rng.uniform(*ranges.hood),
        windscreen=rng.uniform(*ranges.windscreen),
        roof=rng.uniform(*ranges.roof),
        rear_window=rng.uniform(*ranges.rear_window),
        hood_height=rng.uniform(*ranges.hood_height),
        nose_squareness=rng.uniform(*ranges.squareness) * 0.85,
        tail_squareness=rng.uniform(*ranges.squareness) * 1.2,
        tumblehome=rng.uniform(0.03, 0.06) if kind == "van" else rng.uniform(0.12, 0.2),
        paint=paint,
        roof_paint=_roof_paint(rng, paint),
        trim=random_color(rng, (16, 16, 18), (58, 58, 60)),
        glass=_glass(rng),
        screen_glass=_screen(rng),
        rear_glass=_rear_glass(kind, float(draws[0])),
        side_windows=1 if kind == "van" and draws[1] < 0.75 else 3,
        sunroof=float(draws[2] * 0.6 + 0.3)
        if draws[3] < 0.14 and kind != "van"
        else 0.0,
        rails=kind in ("estate", "suv", "minivan") and bool(draws[4] < 0.5),
        antenna=bool(draws[5] < 0.4),
        mirrors=float(draws[6] * 0.5 + 0.75) if draws[6] < 0.94 else 0.0,
        headlight=random_color(rng, (64, 66, 70), (205, 208, 212)),
        taillight=random_color(rng, (88, 10, 12), (190, 36, 32)),
        lights_on=lights_on,
        bed=None,
        bed_cover=False,
        stripe=bool(draws[7] < 0.02),
        crease=float(draws[8] * 0.12),
        cowl=float(draws[9] * 0.1 + 0.04),
        snow=snow,
        rack=kind != "coupe" and bool(draws[10] < 0.03),
    )
    return _with_bed(rng, body) if kind == "pickup" else body


def _roof_paint(rng: np.random.Generator, paint: np.ndarray) -> np.ndarray:
    draw = rng.random()
    if draw < 0.06:
        return random_color(rng, (14, 14, 16), (36, 36, 40))
    if draw < 0.075:
        return random_color(rng, (215, 215, 215), (245, 245, 245))
    return paint * rng.uniform(0.94, 1.06)


def _glass(rng: np.random.Generator) -> np.ndarray:
    """Tints from black to the blue-green of plain glass over a dark interior."""
    if rng.random() < 0.4:
        return random_color(rng, (14, 16, 20), (58, 64, 72))
    return random_color(rng, (38, 56, 64), (112, 138, 148))


def _screen(rng: np.random.Generator) -> np.ndarray:
    draw = rng.random()
    if draw < 0.025:  # a sunshade behind the windscreen
        return random_color(rng, (150, 150, 150), (230, 230, 232))
    if draw < 0.15:  # the interior shows through
        return random_color(rng, (78, 74, 68), (150, 142, 130))
    return _glass(rng)


def with_glare(rng: np.random.Generator, body: CarBody) -> CarBody:
    """Let the low sun shine back from the windscreen, bright and warm."""
    return replace(
        body, screen_glass=random_color(rng, (205, 180, 135), (255, 250, 235))
    )


def _rear_glass(kind: str, draw: float) -> float:
    """How much of the rear window is glass, 0 for a closed van."""
    if kind == "van":
        return 0.6 if draw < 0.3 else 0.0
    return 0.45 + 0.4 * draw


def _with_bed(rng: np.random.Generator, body: CarBody) -> CarBody:
    draw = rng.random()
    if draw < 0.5:
        bed = random_color(rng, (14, 14, 16), (52, 52, 54))
    elif draw < 0.8:
        bed = body.paint * rng.uniform(0.5, 0.85)
    else:
        bed = random_color(rng, (90, 78, 62), (160, 148, 130))
    return replace(body, bed=bed, bed_cover=bool(rng.random() < 0.3))
