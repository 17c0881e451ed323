"""Plain pictures of cars: a rounded box with windows on a simple ground.

Scenes that others draw, toy maps and very coarse pictures show little more than that.
These cars have no light and no depth, but more freedom in their shapes and colors than
those of `car_crops`; the front is the end of the larger windscreen, the longer hood or
the head lights.
"""

from __future__ import annotations

import numpy as np

from roteq_core.synthetic.bodies import random_color, random_paint
from roteq_core.synthetic.crops import CarCrops

_FINE = 2  # pixels to each side of which one is made


def car_sketches(
    n: int,
    size: int = 64,
    *,
    seed: int,
    car_length_px: tuple[float, float] = (28.0, 44.0),
    jitter_px: float = 1.0,
) -> CarCrops:
    """Draw plain crops of cars at random headings.

    Parameters
    ----------
    n : int
        How many.
    size : int
        Rows and columns of a crop.
    seed : int
        The same seed gives the same crops; crop k is the same for every n.
    car_length_px : (float, float)
        Range of the length of the car in the middle.
    jitter_px : float
        The car is off the middle by up to this many pixels, along x and y.
    """
    if n < 0:
        raise ValueError(f"n must not be negative, got {n}")
    if size < 8:
        raise ValueError(f"size must be at least 8, got {size}")
    low, high = car_length_px
    if not 0 < low <= high:
        raise ValueError(f"car_length_px must be 0 < low <= high, got {car_length_px}")
    images = np.empty((n, size, size, 3), dtype=np.uint8)
    headings, boxes = np.empty(n), np.empty((n, 4))
    for k in range(n):
        rng = np.random.default_rng([seed, k])
        length = rng.uniform(low, high)
        headings[k] = rng.uniform(0, 360)
        center = (size - 1) / 2 + rng.uniform(-jitter_px, jitter_px, 2)
        width = rng.uniform(0.36, 0.5)
        pen = _Pen(size, center, length, headings[k])
        ground = _ground(rng, pen)
        _neighbors(rng, ground, size, center, length, headings[k])
        _car(rng, ground, pen, width)
        images[k] = _picture(rng, ground, size)
        boxes[k] = *center, length, width * length
    return CarCrops(images, headings, boxes)


class _Pen:
    """Soft masks of shapes in a car's own frame: x ahead, y to its right, length 1."""

    def __init__(
        self, size: int, center: np.ndarray, length: float, heading_deg: float
    ):
        line = (np.arange(size * _FINE) + 0.5) / _FINE - 0.5
        down, right = line[:, None] - center[1], line[None] - center[0]
        angle = np.deg2rad(heading_deg)
        self.x = (np.sin(angle) * right - np.cos(angle) * down) / length
        self.y = (np.cos(angle) * right + np.sin(angle) * down) / length
        self.edge = 1 / (length * _FINE)  # width over which a shape ends

    def box(
        self, front: float, rear: float, half: float, rear_half: float, corner: float
    ) -> np.ndarray:
        """Box from rear to front, as wide as given at either end, corners rounded."""
        share = np.clip((front - self.x) / max(front - rear, 1e-6), 0, 1)
        width = half + (rear_half - half) * share
        out_x = np.abs(self.x - (front + rear) / 2) - (front - rear) / 2 + corner
        out_y = np.abs(self.y) - width + corner
        out = np.hypot(np.maximum(out_x, 0), np.maximum(out_y, 0))
        inside = np.minimum(np.maximum(out_x, out_y), 0)
        return self._soft(out + inside - corner)

    def spot(self, x: float, y: float, radius: float) -> np.ndarray:
        """Two round spots, left and right."""
        far = np.hypot(self.x - x, np.abs(self.y) - y)
        return self._soft(far - radius)

    def band(self, y: float, half: float) -> np.ndarray:
        """An endless line along the car."""
        return self._soft(np.abs(self.y - y) - half)

    def _soft(self, distance: np.ndarray) -> np.ndarray:
        return np.asarray(np.clip(0.5 - distance / self.edge, 0, 1))


def _lay(picture: np.ndarray, mask: np.ndarray, color: np.ndarray | float) -> None:
    picture += mask[..., None] * (color - picture)


def _ground(rng: np.random.Generator, pen: _Pen) -> np.ndarray:
    """A plain or mottled ground, often with lines along or across the car."""
    tone = rng.uniform(0.08, 0.95)
    tint = rng.normal(0, 0.06, 3) * (rng.random() < 0.6)
    picture = np.full((*pen.x.shape, 3), np.clip(tone + tint, 0.02, 1))
    if rng.random() < 0.6:  # mottled
        cells = int(rng.integers(3, 24))
        coarse = rng.normal(0, rng.uniform(0.01, 0.12), (cells, cells))
        rows = np.arange(pen.x.shape[0]) * cells // pen.x.shape[0]
        picture += coarse[rows][:, rows, None]
    if rng.random() < 0.4:  # another ground beside
        _lay(
            picture,
            np.clip((pen.y - rng.choice([-1, 1]) * rng.uniform(0.3, 0.9)) * 99, 0, 1),
            random_color(rng, (20, 20, 20), (235, 235, 235)),
        )
    if rng.random() < 0.5:
        for side in (-1, 1):
            line = pen.band(side * rng.uniform(0.3, 0.7), rng.uniform(0.008, 0.03))
            _lay(picture, line, rng.uniform(0.6, 1))
    return picture


def _neighbors(
    rng: np.random.Generator,
    picture: np.ndarray,
    size: int,
    center: np.ndarray,
    length: float,
    heading: float,
) -> None:
    """Cars that stand beside, either way round."""
    angle = np.deg2rad(heading)
    for side in (-1, 1):
        if rng.random() < 0.25:
            gap = side * length * rng.uniform(0.58, 0.85)
            slip = length * rng.normal(0, 0.12)
            place = center + gap * np.array([np.cos(angle), np.sin(angle)])
            place = place + slip * np.array([np.sin(angle), -np.cos(angle)])
            around = heading + 180 * float(rng.random() < 0.5)
            pen = _Pen(size, place, length * rng.uniform(0.9, 1.1), around)
            _car(rng, picture, pen, rng.uniform(0.36, 0.48))


def _car(
    rng: np.random.Generator, picture: np.ndarray, pen: _Pen, width: float
) -> None:
    half, paint = width / 2, random_paint(rng)
    if rng.random() < 0.3:  # any color at all
        paint = rng.uniform(0.03, 1, 3)
    corner = float(rng.uniform(0.01, 0.5) * half)
    taper = float(rng.uniform(0.85, 1)) if rng.random() < 0.5 else 1.0
    _shadow(rng, picture, pen, half)
    if rng.random() < 0.4:  # mirrors
        at = rng.uniform(0.08, 0.22)
        _lay(picture, pen.spot(at, half, rng.uniform(0.02, 0.05)), 0.7 * paint)
    _lay(picture, pen.box(0.5, -0.5, half * taper, half, corner), paint)
    if rng.random() < 0.2:  # dark edges
        inner = pen.box(0.47, -0.47, half * taper - 0.03, half - 0.03, corner)
        _lay(picture, pen.box(0.5, -0.5, half * taper, half, corner) - inner, 0.1)
    lit = _lights(rng, picture, pen, half)
    _windows(rng, picture, pen, half, paint, alike=lit)


def _shadow(
    rng: np.random.Generator, picture: np.ndarray, pen: _Pen, half: float
) -> None:
    if rng.random() < 0.5:
        shift = rng.normal(0, 2.5, 2).round().astype(int) * _FINE
        mask = np.roll(pen.box(0.5, -0.5, half, half, 0.03), shift, (0, 1))
        picture *= 1 - rng.uniform(0.2, 0.7) * mask[..., None]


def _lights(
    rng: np.random.Generator, picture: np.ndarray, pen: _Pen, half: float
) -> bool:
    """Head lights, tail lights or both; give whether they tell the front."""
    radius, spread = rng.uniform(0.03, 0.07), half * rng.uniform(0.55, 0.85)
    head, tail = rng.random() < 0.45, rng.random() < 0.45
    if head:
        color = random_color(rng, (215, 205, 150), (255, 255, 250))
        _lay(picture, pen.spot(0.5 - radius, spread, radius), color)
    if tail:
        color = random_color(rng, (120, 5, 5), (255, 50, 45))
        _lay(picture, pen.spot(-0.5 + radius, spread, radius), color)
    return bool(head and tail)


def _windows(
    rng: np.random.Generator,
    picture: np.ndarray,
    pen: _Pen,
    half: float,
    paint: np.ndarray,
    *,
    alike: bool,
) -> None:
    """Windscreen, rear and side windows; alike at both ends only if lights tell."""
    hood, screen = rng.uniform(0.14, 0.34), rng.uniform(0.08, 0.22)
    trunk, rear = hood * rng.uniform(0.1, 0.85), screen * rng.uniform(0.3, 0.8)
    if alike and rng.random() < 0.2:
        trunk, rear = hood, screen
    inset = half * rng.uniform(0.72, 0.95)
    narrow = inset * rng.uniform(0.75, 1)
    glass = random_color(rng, (8, 10, 14), (110, 140, 160))
    if paint.mean() < 0.25 and rng.random() < 0.5:  # glass is paler than black paint
        glass = random_color(rng, (90, 110, 125), (190, 210, 225))
    front, back = 0.5 - hood, -0.5 + trunk
    roof = paint * rng.uniform(0.8, 1.15)
    if rng.random() < 0.5:
        _lay(picture, pen.box(front, back, inset, inset, 0.03), roof)
    if rng.random() < 0.5:  # side windows show beside the roof
        cabin = pen.box(front, back, inset, inset, 0.03)
        _lay(picture, cabin, glass * 0.9)
        top = pen.box(front - screen, back + rear, narrow * 0.85, narrow * 0.85, 0.02)
        _lay(picture, top, roof)
    _lay(picture, pen.box(front, front - screen, inset, narrow, 0.01), glass)
    if rng.random() < 0.75:
        shade = glass * rng.uniform(0.8, 1.3)
        _lay(picture, pen.box(back + rear, back, narrow, inset, 0.01), shade)


def _picture(rng: np.random.Generator, fine: np.ndarray, size: int) -> np.ndarray:
    """Bring to size, blur a little, add noise."""
    small = fine.reshape(size, _FINE, size, _FINE, 3).mean((1, 3))
    if rng.random() < 0.5:
        small = (2 * small + np.roll(small, 1, 0) + np.roll(small, -1, 0)) / 4
        small = (2 * small + np.roll(small, 1, 1) + np.roll(small, -1, 1)) / 4
    noise = rng.normal(0, rng.uniform(0, 0.03), small.shape)
    return np.asarray(np.clip((small + noise) * 255, 0, 255).round(), np.uint8)
