"""The ground seen from above: materials with their grain, strips, dashes and stains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from roteq_core.synthetic.bodies import random_color
from roteq_core.synthetic.mesh import View
from roteq_core.synthetic.raster import Drawing, value_noise


@dataclass(frozen=True)
class Material:
    """Colors (8-bit, from and to) and the grain at 0.1 m, about 0.5 m, and 5 m."""

    low: tuple[int, int, int]
    high: tuple[int, int, int]
    fine: float = 0.03
    medium: float = 0.03
    coarse: float = 0.03


MATERIALS: dict[str, Material] = {
    "asphalt": Material((92, 92, 95), (138, 134, 131), 0.03, 0.02, 0.03),
    "asphalt_dark": Material((46, 48, 52), (84, 84, 88), 0.05, 0.03, 0.04),
    "asphalt_worn": Material((128, 122, 116), (172, 162, 150), 0.03, 0.03, 0.05),
    "asphalt_wet": Material((38, 42, 48), (88, 92, 100), 0.04, 0.06, 0.14),
    "concrete": Material((158, 153, 145), (212, 206, 196), 0.02, 0.02, 0.04),
    "paving": Material((128, 118, 110), (188, 170, 158), 0.06, 0.03, 0.03),
    "cobble": Material((88, 84, 80), (150, 142, 132), 0.13, 0.05, 0.04),
    "gravel": Material((132, 124, 112), (184, 174, 160), 0.09, 0.04, 0.04),
    "grass": Material((52, 70, 38), (108, 122, 66), 0.09, 0.06, 0.05),
    "dry_grass": Material((138, 124, 82), (188, 172, 122), 0.08, 0.06, 0.05),
    "soil": Material((112, 90, 66), (172, 142, 110), 0.06, 0.05, 0.05),
    "soil_red": Material((138, 84, 58), (186, 126, 92), 0.06, 0.05, 0.05),
    "sand": Material((188, 162, 124), (228, 206, 168), 0.035, 0.03, 0.035),
    "snow": Material((214, 220, 228), (248, 250, 252), 0.02, 0.02, 0.02),
    "slush": Material((138, 142, 148), (196, 200, 206), 0.05, 0.06, 0.06),
    "water": Material((28, 56, 70), (78, 106, 116), 0.03, 0.05, 0.04),
    "tiles_red": Material((120, 62, 44), (182, 106, 80), 0.09, 0.04, 0.04),
    "tiles_gray": Material((70, 70, 74), (122, 120, 120), 0.08, 0.04, 0.04),
    "flat_roof": Material((118, 116, 112), (205, 202, 196), 0.03, 0.05, 0.06),
    "metal_roof": Material((118, 132, 140), (206, 214, 216), 0.03, 0.03, 0.06),
    "rusty_roof": Material((122, 78, 58), (176, 132, 108), 0.08, 0.10, 0.10),
    "snow_roof": Material((218, 222, 228), (246, 248, 250), 0.02, 0.03, 0.03),
}
_NAMES = list(MATERIALS)
_GRAIN = np.array([[m.fine, m.medium, m.coarse] for m in MATERIALS.values()])


class Palette:
    """The color each material has at one place."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._colors: dict[str, np.ndarray] = {}

    def color(self, material: str) -> np.ndarray:
        """RGB in 0..1, the same at each call."""
        if material not in self._colors:
            kind = MATERIALS[material]
            self._colors[material] = random_color(self._rng, kind.low, kind.high)
        return self._colors[material]


@dataclass
class Surface:
    """A piece of ground: corners (n, 2) in meters, material, factor on its color."""

    points: np.ndarray
    material: str
    factor: float = 1.0


def paint_ground(
    rng: np.random.Generator,
    shape: tuple[int, int],
    view: View,
    base: str,
    surfaces: list[Surface],
    palette: Palette,
    *,
    texture: float = 1.0,
    dirt: float = 0.0,
) -> np.ndarray:
    """Paint surfaces with their grain; give RGB in 0..1, float32 (H, W, 3)."""
    color = (palette.color(base) * 255).astype(np.uint8)
    flat = np.broadcast_to(color, (*shape, 3)).copy()
    index = Image.new("L", shape[::-1], _NAMES.index(base))
    drawing, draw = Drawing(), ImageDraw.Draw(index)
    for surface in surfaces:
        pixels = view.pixels(surface.points)
        tone = np.clip(palette.color(surface.material) * surface.factor, 0, 1) * 255
        drawing.polygon(pixels, tuple(tone.astype(int).tolist()))
        flat_list = pixels.clip(-30000, 30000).ravel().tolist()
        draw.polygon(flat_list, fill=_NAMES.index(surface.material))
    if surfaces:
        flat = drawing.paint(flat)
    grain = _GRAIN[np.asarray(index)].astype(np.float32) * np.float32(texture)
    factor = _grain_field(rng, shape, view.scale, grain, dirt)
    return np.asarray(flat.astype(np.float32) / 255 * factor)


def _grain_field(
    rng: np.random.Generator,
    shape: tuple[int, int],
    scale: float,
    grain: np.ndarray,
    dirt: float,
) -> np.ndarray:
    """Give a factor (H, W, 3) on the ground: grain of many sizes, hues, stains."""
    coarse = grain[..., 2] * value_noise(rng, shape, 5.0 * scale)
    factor = 1 + coarse
    factor += grain[..., 0] * value_noise(rng, shape, max(1.0, 0.1 * scale))
    for meters in (0.3, 1.1):
        factor += 0.7 * grain[..., 1] * value_noise(rng, shape, meters * scale)
    if dirt > 0.05:
        stain = value_noise(rng, shape, 1.6 * scale)
        factor -= np.float32(0.14 * dirt) * np.clip(stain - 0.4, 0, 1.5)
    warmth = coarse[..., None] * np.array([0.3, 0.05, -0.3], dtype=np.float32)
    return np.asarray(np.clip(factor[..., None] + warmth, 0.3, 1.8), dtype=np.float32)


def strip(line: np.ndarray, width: float, offset: float = 0.0) -> np.ndarray:
    """Give the outline (2n, 2) of a band along a line (n, 2), all in meters.

    `offset` moves the band to the right of the line's direction.
    """
    normal = normals(line)
    left, right = offset - width / 2, offset + width / 2
    return np.concatenate([line + normal * left, (line + normal * right)[::-1]])


def normals(line: np.ndarray) -> np.ndarray:
    """Give unit vectors (n, 2) to the right of a line (n, 2) on the screen."""
    along = np.gradient(line, axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    return np.stack([-along[:, 1], along[:, 0]], axis=1)


def dashes(
    line: np.ndarray, width: float, offset: float, dash: float, gap: float
) -> list[np.ndarray]:
    """Cut a band along a line (n, 2) into dashes of given length and gap (meters)."""
    steps = np.linalg.norm(np.diff(line, axis=0), axis=1)
    at = np.concatenate([[0.0], np.cumsum(steps)])
    pieces = []
    for start in np.arange(0.0, at[-1], dash + gap):
        stops = np.linspace(start, min(start + dash, at[-1]), 3)
        piece = np.stack([np.interp(stops, at, line[:, k]) for k in (0, 1)], axis=1)
        if stops[-1] - stops[0] > 0.05:
            pieces.append(strip(piece, width, offset))
    return pieces


def frame(
    points: np.ndarray, origin: tuple[float, float], heading_deg: float
) -> np.ndarray:
    """Bring points (n, 2), (forward, right), into the world at a heading."""
    heading = np.deg2rad(heading_deg)
    sin, cos = np.sin(heading), np.cos(heading)
    forward, right = points[:, 0], points[:, 1]
    x = origin[0] + forward * sin + right * cos
    return np.stack([x, origin[1] + right * sin - forward * cos], axis=1)


def block(
    origin: tuple[float, float],
    heading_deg: float,
    forward: tuple[float, float],
    right: tuple[float, float],
) -> np.ndarray:
    """Give the corners (4, 2) of a rectangle given in a turned frame."""
    corners = [
        (forward[0], right[0]),
        (forward[1], right[0]),
        (forward[1], right[1]),
        (forward[0], right[1]),
    ]
    return frame(np.array(corners), origin, heading_deg)


def circle(
    middle: tuple[float, float], radius: float, *, clockwise: bool
) -> np.ndarray:
    """Give a closed ring (n, 2) of points half a meter or so apart."""
    angle = np.linspace(0, 2 * np.pi, max(12, int(radius * 8)))
    if not clockwise:
        angle = -angle
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.asarray(ring * max(radius, 0.1) + np.array(middle))
