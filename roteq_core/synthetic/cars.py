"""The solid shape of a car, from its measures: what tells front from rear is here."""

from __future__ import annotations

import numpy as np

from roteq_core.synthetic.bodies import CarBody
from roteq_core.synthetic.mesh import GLASS, LAMP, MATTE, PAINT, Mesh, MeshBuilder

_RING = np.arange(28) / 28 * 2 * np.pi + 0.02
_COS, _SIN = np.cos(_RING), np.sin(_RING)
_ACROSS = np.array([-1.0, -0.6, 0.0, 0.6, 1.0])
_HILL = 1 - _ACROSS**2
_SNOW = np.array([0.9, 0.92, 0.95])


def car_mesh(body: CarBody) -> Mesh:
    """Build the mesh of a car: x forward, y right, z up, in meters."""
    builder = MeshBuilder()
    deck = _hull(builder, body)
    if body.bed is None:
        _deck(builder, body, deck, front=False)
    else:
        _bed(builder, body)
    _deck(builder, body, deck, front=True)
    _lamps(builder, body)
    _greenhouse(builder, body)
    _mirrors(builder, body)
    return builder.build()


def _stations(body: CarBody) -> tuple[float, float, float, float]:
    """Positions x of windscreen base, roof front, roof rear, rear window base."""
    base = (0.5 - body.hood) * body.length
    roof_front = base - body.windscreen * body.length
    roof_rear = roof_front - body.roof * body.length
    rear_base = max(roof_rear - body.rear_window * body.length, -0.49 * body.length)
    return base, roof_front, roof_rear, rear_base


def _outline(body: CarBody) -> np.ndarray:
    """Give the plan of the car (28, 2): a super-ellipse, rounder in front."""
    square = np.where(_COS > 0, body.nose_squareness, body.tail_squareness)
    x = np.sign(_COS) * np.abs(_COS) ** (2 / square)
    y = np.sign(_SIN) * np.abs(_SIN) ** (2 / square)
    return np.stack([x * body.length / 2, y * body.width / 2], axis=1)


def _hull(builder: MeshBuilder, body: CarBody) -> np.ndarray:
    """Add flanks up to the shoulder; give the shoulder ring (28, 3)."""
    plan = _outline(body)
    low = _ring(plan * 0.985, 0.28)
    waist = _ring(plan, 0.55 * body.hood_height)
    inset = np.array([1 - 0.22 / body.length, 1 - 0.16 / body.width])
    deck = _ring(plan * inset, _deck_height(body, plan[:, 0]))
    builder.polygon(low, body.trim * 0.8, MATTE)
    builder.polygon(waist, body.paint * 0.8, MATTE)
    builder.walls(waist, deck, body.paint, PAINT)
    builder.polygon(deck, body.paint, PAINT)
    builder.hulls.append(np.concatenate([_ring(plan, 0.15)[::2], deck[::2]]))
    return deck


def _ring(plan: np.ndarray, height: np.ndarray | float) -> np.ndarray:
    ring = np.empty((len(plan), 3))
    ring[:, :2] = plan
    ring[:, 2] = height
    return ring


def _deck_height(body: CarBody, x: np.ndarray) -> np.ndarray:
    """Height of hood, belt and trunk along the car: the hood falls to the nose."""
    base, _, _, rear = _stations(body)
    half, high = body.length / 2, body.hood_height
    at = np.array([-half, rear, base, base + 0.6 * (half - base), half])
    tail = high * (0.94 if body.trunk > 0.08 else 0.8)
    height: np.ndarray = np.interp(
        x, at, np.array([tail, high * 1.04, high, high * 0.93, high * 0.7])
    )
    return height


def _deck(
    builder: MeshBuilder, body: CarBody, deck: np.ndarray, *, front: bool
) -> None:
    """Add the crowned hood or trunk lid."""
    base, _, _, rear = _stations(body)
    end = 0.485 * body.length
    x = np.linspace(base, end, 5) if front else np.linspace(rear, -end, 3)
    if abs(x[-1] - x[0]) < 0.15:
        return
    half = _half_width(deck, x) * 0.97
    y = half[:, None] * _ACROSS
    crown = 0.05 * _HILL
    z = _deck_height(body, x)[:, None] + crown
    grid = np.empty((*y.shape, 3))
    grid[..., 0], grid[..., 1], grid[..., 2] = x[:, None], y, z
    paint = body.paint * (1 - body.snow) + _SNOW * body.snow
    builder.grid(grid, paint, PAINT if body.snow < 0.3 else MATTE)
    if front:
        _hood_lines(builder, body, x, half)


def _hood_lines(
    builder: MeshBuilder, body: CarBody, x: np.ndarray, half: np.ndarray
) -> None:
    """Add the dark cowl under the wipers, creases, and the seam of the nose."""
    cowl = body.cowl * (1 + 0.3 * _HILL)
    back = np.column_stack([x[0] + 0.1 * _HILL, half[0] * 0.9 * _ACROSS])
    line = np.concatenate([back, (back + np.column_stack([cowl, 0 * cowl]))[::-1]])
    builder.polygon(_ring(line, body.hood_height * 1.02), body.trim, MATTE)
    shade = body.paint * (1 - body.crease)
    for side in (-0.5, 0.5):
        inner, outer = half[[0, 3]] * side, half[[0, 3]] * side * 1.12
        quad = [(x[0], inner[0]), (x[3], inner[1]), (x[3], outer[1]), (x[0], outer[0])]
        builder.polygon(_ring(np.array(quad), body.hood_height), shade, PAINT)


def _half_width(ring: np.ndarray, x: np.ndarray) -> np.ndarray:
    right = ring[ring[:, 1] > 0]
    order = np.argsort(right[:, 0])
    half: np.ndarray = np.interp(x, right[order, 0], right[order, 1])
    return half


def _bed(builder: MeshBuilder, body: CarBody) -> None:
    """Add the open or covered bed of a pickup behind its cab."""
    assert body.bed is not None
    _, _, _, rear = _stations(body)
    front, back = rear - 0.08, -0.5 * body.length + 0.14
    width, middle = body.width - 0.32, (front + back) / 2
    height = body.hood_height * 1.06
    rim = _rect(middle, 0.0, front - back, width)
    if body.bed_cover:
        builder.polygon(_ring(rim, height), body.bed, MATTE)
        return
    builder.polygon(_ring(rim, height), body.bed * 0.6, MATTE)
    floor = _rect(middle, 0.0, front - back - 0.12, width - 0.14)
    builder.polygon(_ring(floor, height * 0.6), body.bed, MATTE)
    for side in (-1, 1):
        arch = _rect(middle - 0.1, side * (width / 2 - 0.16), 0.8, 0.18)
        builder.polygon(_ring(arch, height * 0.75), body.bed * 0.75, MATTE)


def _rect(x: float, y: float, length: float, width: float) -> np.ndarray:
    dx, dy = length / 2, width / 2
    return np.array(
        [(x + dx, y - dy), (x + dx, y + dy), (x - dx, y + dy), (x - dx, y - dy)]
    )


def _curve(x: float, half: float, z: float, bow: float, sag: float) -> np.ndarray:
    """Give a line across the car (5, 3) that bows forward and sags at its ends."""
    curve = np.empty((5, 3))
    curve[:, 0] = x + bow * _HILL
    curve[:, 1] = half * _ACROSS
    curve[:, 2] = z - sag * (1 - _HILL)
    return curve


def _between(a: np.ndarray, b: np.ndarray, steps: np.ndarray) -> np.ndarray:
    rows: np.ndarray = a + steps[:, None, None] * (b - a)
    return rows


def _greenhouse(builder: MeshBuilder, body: CarBody) -> None:
    """Add windscreen, side windows, rear window and roof."""
    base, front, rear, back = _stations(body)
    belt = body.hood_height * 1.02
    wide = body.width / 2 - 0.10
    slim = wide - body.tumblehome
    foot = _curve(base, wide, belt, 0.1, 0.0)
    brow = _curve(front, slim, body.height, 0.06, 0.05)
    edge = _curve(rear, slim * 0.98, body.height - 0.03, -0.04, 0.05)
    heel = _curve(back, wide * 0.97, belt * 1.02, -0.07, 0.0)
    for side in (0, -1):
        _side(builder, body, np.stack([foot[side], brow[side], edge[side], heel[side]]))
    _screen(builder, body, foot, brow)
    _rear_window(builder, body, edge, heel)
    _roof(builder, body, brow, edge)
    ends = [line[[0, 2, 4]] for line in (foot, brow, edge, heel)]
    builder.hulls.append(np.concatenate(ends))


def _screen(
    builder: MeshBuilder, body: CarBody, foot: np.ndarray, brow: np.ndarray
) -> None:
    """Add the windscreen: pillars of body color, glass nearly from edge to edge."""
    builder.grid(np.stack([foot, brow]), body.roof_paint)
    glass = _between(foot, brow, np.array([-0.01, 0.35, 0.7, 0.94]))
    glass = glass * np.array([1.0, 0.91, 1.0])
    tint = body.screen_glass * np.array([[0.7], [0.95], [1.15]])
    builder.grid(glass, tint, GLASS)


def _rear_window(
    builder: MeshBuilder, body: CarBody, edge: np.ndarray, heel: np.ndarray
) -> None:
    """Add the rear window: smaller, between broad pillars."""
    builder.grid(np.stack([edge, heel]), body.paint)
    if body.rear_glass <= 0:
        return
    margin = (1 - body.rear_glass) / 2
    glass = _between(edge, heel, np.array([margin, 0.5, 1 - margin * 0.8]))
    glass = glass * np.array([1.0, 0.66 + 0.2 * body.rear_glass, 1.0])
    builder.grid(glass, body.glass * np.array([[1.1], [0.85]]), GLASS)


def _side(builder: MeshBuilder, body: CarBody, corners: np.ndarray) -> None:
    """One flank of the greenhouse; corners (4, 3): foot, brow, edge, heel."""
    builder.grid(corners[[0, 3, 1, 2]].reshape(2, 2, 3), body.paint)
    ends = {1: [(0.08, 0.3)], 3: [(0.08, 0.42), (0.46, 0.76), (0.79, 0.92)]}
    for start, stop in ends[body.side_windows]:
        at = np.array([start, stop, stop, start])[:, None]
        up = np.array([0.1, 0.1, 0.88, 0.88])[:, None]
        low = corners[0] + at * (corners[3] - corners[0])
        high = corners[1] + at * (corners[2] - corners[1])
        builder.polygon(low + up * (high - low), body.glass, GLASS)


def _roof(
    builder: MeshBuilder, body: CarBody, brow: np.ndarray, edge: np.ndarray
) -> None:
    grid = _between(brow, edge, np.array([0.0, 0.12, 0.5, 0.88, 1.0]))
    grid[:, :, 2] += np.array([0.0, 0.025, 0.035, 0.02, 0.0])[:, None]
    paint = body.roof_paint * (1 - body.snow) + _SNOW * body.snow
    builder.grid(grid, paint, PAINT if body.snow < 0.3 else MATTE)
    _roof_fittings(builder, body, brow[2, 0], edge[2, 0], brow[-1, 1])


def _roof_fittings(
    builder: MeshBuilder, body: CarBody, front: float, rear: float, half: float
) -> None:
    """Add sun roof, rails, antenna, rack, stripe."""
    length, high = front - rear, body.height + 0.03
    if body.sunroof and body.snow < 0.3:
        long = min(body.sunroof, 0.85) * length * 0.7
        pane = _rect(front - 0.14 - long / 2, 0, long, half * 1.35)
        builder.polygon(_ring(pane, high), body.glass, GLASS)
    if body.rails:
        for side in (-1, 1):
            rail = _rect((front + rear) / 2, side * half * 0.93, length * 0.9, 0.06)
            builder.polygon(_ring(rail, high), body.trim * 1.4, MATTE)
    if body.antenna:
        fin = _rect(rear + 0.16, 0, 0.16, 0.06)
        builder.polygon(_ring(fin, high), body.trim, MATTE)
    if body.rack:
        for at in (0.25, 0.7):
            bar = _rect(front - at * length, 0, 0.07, half * 1.9)
            builder.polygon(_ring(bar, high + 0.1), body.trim, MATTE)
    if body.stripe:
        band = _rect((front + rear) / 2, 0, length, half * 0.5)
        builder.polygon(_ring(band, high), 1 - body.roof_paint, PAINT)


def _mirrors(builder: MeshBuilder, body: CarBody) -> None:
    if not body.mirrors:
        return
    base, front, _, _ = _stations(body)
    x = base - 0.3 * (base - front)
    for side in (-1, 1):
        y = side * (body.width / 2 + 0.04)
        pod = _rect(x, y, 0.16 * body.mirrors, 0.26 * body.mirrors)
        color = body.paint if body.crease > 0.03 else body.trim
        builder.polygon(_ring(pod, body.hood_height * 1.05), color * 0.95, PAINT)


def _lamps(builder: MeshBuilder, body: CarBody) -> None:
    """Add head lights (pale) and tail lights (red) at the corners of the deck."""
    half, wide = body.length / 2, body.width / 2
    for side in (-1.0, 1.0):
        head = np.array([(0.95, 0.48), (0.91, 0.74), (0.83, 0.86), (0.895, 0.6)])
        tail = np.array([(-0.985, 0.5), (-0.985, 0.8), (-0.93, 0.9), (-0.945, 0.62)])
        material = LAMP if body.lights_on else PAINT
        glow = np.array([1.0, 0.97, 0.85]) if body.lights_on else body.headlight
        scale = np.array([half, side * wide])
        builder.polygon(_ring(head * scale, 0.72 * body.hood_height), glow, material)
        red = np.array([1.0, 0.15, 0.1]) if body.lights_on else body.taillight
        builder.polygon(_ring(tail * scale, 0.8 * body.hood_height), red, material)
