"""What lies beside the roads of a scene: fields, houses, trees, clutter."""

from __future__ import annotations

import numpy as np

from roteq_core.synthetic.ground import Surface, block, circle
from roteq_core.synthetic.mesh import Pose
from roteq_core.synthetic.occupancy import Taken
from roteq_core.synthetic.site import Site
from roteq_core.synthetic.styles import AerialStyle
from roteq_core.synthetic.traffic import random_clutter
from roteq_core.synthetic.trees import House, random_tree

Size = tuple[float, float]


def patchwork(
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


def build_houses(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    size: Size,
    taken: Taken,
    heading: float,
) -> None:
    """Add houses along a heading wherever there is room."""
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


def plant(
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
        ring = circle((tree.x, tree.y), tree.radius * 0.5, clockwise=True)
        if taken.is_free(ring):
            site.trees.append(tree)
    for _ in range(min(int(style.clutter * area / 120), 200)):
        x, y = rng.uniform(0, 1, 2) * np.array(size)
        mesh, radius = random_clutter(rng)
        if taken.is_free(circle((x, y), radius, clockwise=True)):
            site.objects.append((mesh, Pose(float(x), float(y), rng.uniform(0, 360))))
