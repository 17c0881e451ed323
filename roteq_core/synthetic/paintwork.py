"""Paint and iron on roads: arrows, striped curbs, zebra bars, manholes, hatching."""

from __future__ import annotations

import numpy as np

from roteq_core.synthetic.ground import block, circle, dashes, frame

Mark = tuple[np.ndarray, np.ndarray]

_ARROW = np.array(
    [(-1.5, -0.08), (0.3, -0.08), (0.3, -0.32), (1.5, 0.0), (0.3, 0.32), (0.3, 0.08),
     (-1.5, 0.08)]
)  # fmt: skip
_STRIPES = (
    (np.array([0.75, 0.16, 0.13]), np.array([0.92, 0.9, 0.88])),
    (np.array([0.12, 0.12, 0.12]), np.array([0.9, 0.72, 0.15])),
    (np.array([0.12, 0.12, 0.12]), np.array([0.9, 0.9, 0.88])),
)


def arrow(origin: tuple[float, float], heading_deg: float, color: np.ndarray) -> Mark:
    """Give an arrow of 3 m that points along a heading."""
    return frame(_ARROW, origin, heading_deg), color


def striped_curb(line: np.ndarray, offset: float, *, colors: int) -> list[Mark]:
    """Give a curb along a line (n, 2) in two colors by turns; there are three pairs."""
    dark, pale = _STRIPES[colors]
    pieces = dashes(line, 0.25, offset, 0.9, 0.0)
    return [(piece, (dark, pale)[k % 2]) for k, piece in enumerate(pieces)]


def zebra(
    origin: tuple[float, float],
    heading_deg: float,
    edges: tuple[float, float],
    color: np.ndarray,
) -> list[Mark]:
    """Give the bars of a crossing for pedestrians over a road with these edges."""
    return [
        (block(origin, heading_deg, (-1.5, 1.5), (offset, offset + 0.5)), color)
        for offset in np.arange(edges[0] + 0.4, edges[1] - 0.5, 1.0)
    ]


def hatching(
    rng: np.random.Generator,
    origin: tuple[float, float],
    heading_deg: float,
    color: np.ndarray,
) -> list[Mark]:
    """Give slant bars inside a frame, where nobody may drive."""
    length, width = rng.uniform(2, 9), rng.uniform(0.8, 3.0)
    marks: list[Mark] = []
    for at in np.arange(-length / 2, length / 2, 1.1):
        slip, half = width / 2, width / 2
        corners = [(at, -half), (at + 0.25, -half), (at + 0.25 + slip, half)]
        corners.append((at + slip, half))
        marks.append((frame(np.array(corners), origin, heading_deg), color))
    for side in (-1, 1):
        rail = (side * width / 2 - 0.07, side * width / 2 + 0.07)
        ends = (-length / 2, length / 2 + width / 2)
        marks.append((block(origin, heading_deg, ends, rail), color))
    return marks


def manhole(rng: np.random.Generator, x: float, y: float) -> Mark:
    """Give a cover of iron, round or square."""
    tone = np.full(3, rng.uniform(0.1, 0.45))
    if rng.random() < 0.5:
        return circle((x, y), 0.35, clockwise=True), tone
    half = rng.uniform(0.2, 0.45)
    return block((x, y), rng.uniform(0, 90), (-half, half), (-half, half)), tone
