"""High things that hide others and cast long shadows: trees and houses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roteq_core.synthetic.bodies import random_color
from roteq_core.synthetic.ground import Palette, block
from roteq_core.synthetic.mesh import Light, View
from roteq_core.synthetic.raster import Color, Drawing, convex_hull

_ROUND = np.arange(9) / 9 * 2 * np.pi
_DISK = np.stack([np.cos(_ROUND), np.sin(_ROUND)], axis=1)


@dataclass(frozen=True)
class Tree:
    """A tree: place, radius and height in meters, color in 0..1, bare in winter."""

    x: float
    y: float
    radius: float
    height: float
    color: np.ndarray
    seed: int
    bare: bool = False

    def lobes(self) -> np.ndarray:
        """Give the clumps (n, 4) of the crown: x, y, z and radius, low ones first."""
        rng = np.random.default_rng(self.seed)
        count = 12 + int(10 * self.radius)
        angle = rng.uniform(0, 2 * np.pi, count)
        out = np.sqrt(rng.random(count)) * 0.8
        z = self.height * (
            0.55 + 0.45 * np.sqrt(1 - out**2) * rng.uniform(0.8, 1, count)
        )
        size = self.radius * rng.uniform(0.14, 0.34, count)
        lobes = np.stack(
            [
                self.x + self.radius * out * np.cos(angle),
                self.y + self.radius * out * np.sin(angle),
                z,
                size,
            ],
            axis=1,
        )
        return np.asarray(lobes[np.argsort(z)])

    def shadow(self, reach: np.ndarray) -> list[np.ndarray]:
        """Outlines on the ground in meters."""
        lobes = self.lobes()
        if self.bare:
            lobes[:, 3] *= 0.4
        foot = lobes[:, :2] + lobes[:, 2:3] * reach
        return [c + _DISK * r for c, r in zip(foot, lobes[:, 3] * 1.15, strict=True)]


def draw_tree(
    drawing: Drawing, rng: np.random.Generator, tree: Tree, view: View, light: Light
) -> None:
    """Add the crown: clumps, each with a lit side."""
    lean = view.lean_at(tree.x, tree.y)
    lobes = tree.lobes()
    centers = lobes[:, :2] + lobes[:, 2:3] * lean
    points, colors = [], []
    for center, z, radius in zip(centers, lobes[:, 2], lobes[:, 3], strict=True):
        level = 0.55 + 0.55 * (z / tree.height - 0.5)
        for share, gain in ((1.0, 0.75), (0.7, 1.0), (0.35, 1.25)):
            if tree.bare and share < 1:
                continue
            size = radius * share * (0.35 if tree.bare else 1.0)
            shift = light.sun[:2] * radius * (1 - share) * 0.7
            wobble = rng.uniform(0.75, 1.2, (len(_DISK), 1))
            points.append(center + shift + _DISK * wobble * size)
            tone = tree.color * level * (1 + (gain - 1) * (0.4 + light.strength))
            tone = np.clip(tone * rng.uniform(0.85, 1.15) * 1.5, 0, 1) * 255
            colors.append(tuple(tone.astype(int).tolist()))
    flat: list[Color] = list(colors)
    drawing.add(view.pixels(np.concatenate(points)), [len(_DISK)] * len(points), flat)


def random_tree(
    rng: np.random.Generator, x: float, y: float, *, winter: bool = False
) -> Tree:
    """Draw a tree or a bush."""
    radius = float(rng.uniform(0.6, 4.0))
    color = random_color(rng, (34, 56, 26), (104, 122, 58))
    bare = winter and rng.random() < 0.75
    if bare:
        color = random_color(rng, (62, 54, 46), (110, 98, 86))
    elif rng.random() < 0.12:
        color = random_color(rng, (120, 84, 40), (150, 60, 100))
    height = radius * float(rng.uniform(1.2, 2.2))
    return Tree(x, y, radius, height, color, int(rng.integers(2**31)), bare)


@dataclass(frozen=True)
class House:
    """A house: place, heading, size and height in meters, roof material, gable."""

    x: float
    y: float
    heading_deg: float
    length: float
    width: float
    height: float
    roof: str
    gable: bool

    def outline(self) -> np.ndarray:
        """Give the walls' corners (4, 2) on the ground."""
        half, wide = self.length / 2, self.width / 2
        return block((self.x, self.y), self.heading_deg, (-half, half), (-wide, wide))

    def shadow(self, reach: np.ndarray) -> list[np.ndarray]:
        """Outlines on the ground in meters."""
        foot = self.outline()
        return [convex_hull(np.concatenate([foot, foot + reach * self.height]))]


def draw_house(
    drawing: Drawing,
    rng: np.random.Generator,
    house: House,
    view: View,
    light: Light,
    palette: Palette,
) -> None:
    """Add walls and roof of a house."""
    lean = view.lean_at(house.x, house.y)
    foot = house.outline()
    eaves = foot + lean * house.height
    wall = random_color(rng, (120, 112, 100), (230, 224, 214))
    for k in range(4):
        side = np.stack([foot[k], foot[k - 1], eaves[k - 1], eaves[k]])
        drawing.polygon(view.pixels(side), _byte(wall * (0.6 + 0.1 * k)))
    color = palette.color(house.roof) * rng.uniform(0.85, 1.15)
    if house.gable:
        _draw_gable(drawing, house, eaves, lean, view, light, color)
    else:
        drawing.polygon(view.pixels(eaves), _byte(color * 0.9))
        middle = eaves.mean(axis=0)
        drawing.polygon(view.pixels(middle + (eaves - middle) * 0.94), _byte(color))
        _draw_units(drawing, rng, house, lean, view, color)


def _draw_gable(
    drawing: Drawing,
    house: House,
    eaves: np.ndarray,
    lean: np.ndarray,
    view: View,
    light: Light,
    color: np.ndarray,
) -> None:
    rise = 0.35 * house.width
    ridge = np.stack([eaves[[0, 3]].mean(axis=0), eaves[[1, 2]].mean(axis=0)])
    ridge = ridge + lean * rise
    for corners in (eaves[:2], eaves[[3, 2]]):
        outward = corners.mean(axis=0) - ridge.mean(axis=0)
        outward = outward / max(float(np.linalg.norm(outward)), 1e-6)
        facing = float(outward @ light.sun[:2]) * light.strength
        tone = _byte(color * (0.9 + 0.8 * facing))
        slope = np.stack([corners[0], corners[1], ridge[1], ridge[0]])
        drawing.polygon(view.pixels(slope), tone)
        for t in np.arange(0.1, 1.0, 0.9 / max(house.width, 2.0)):
            low = slope[[0, 1]] * (1 - t) + slope[[3, 2]] * t
            course = np.concatenate([low, low[::-1] + 0.06 * outward])
            drawing.polygon(view.pixels(course), _byte(color * (0.8 + 0.8 * facing)))


def _draw_units(
    drawing: Drawing,
    rng: np.random.Generator,
    house: House,
    lean: np.ndarray,
    view: View,
    color: np.ndarray,
) -> None:
    """Vents and skylights of a flat roof."""
    for _ in range(int(rng.integers(0, 8))):
        size = rng.uniform(0.4, 1.6, 2)
        at = rng.uniform(-0.4, 0.4, 2) * np.array([house.length, house.width])
        corners = block(
            (house.x, house.y), house.heading_deg,
            (at[0], at[0] + size[0]), (at[1], at[1] + size[1]),
        )  # fmt: skip
        shade = corners + lean * house.height
        drawing.polygon(view.pixels(shade + 0.2), _byte(color * 0.6))
        tone = random_color(rng, (60, 64, 70), (230, 230, 230))
        drawing.polygon(view.pixels(shade + lean * 0.6), _byte(tone))


def _byte(color: np.ndarray) -> tuple[int, ...]:
    return tuple((np.clip(color, 0, 1) * 255).astype(int).tolist())
