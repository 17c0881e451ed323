"""Solid shapes seen from above: faces with color and gloss, lit, projected, shadowed.

A mesh is in meters in its own frame: x forward, y to the right, z up. The world is in
meters too, x right and y down as on the screen, with z towards the camera.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from roteq_core.synthetic.raster import Color, Drawing, convex_hull

MATTE, PAINT, GLASS, LAMP = range(4)
# How matter shines, one entry each: highlight, its sharpness, mirrored sky, and how
# much more of the sky a slope mirrors.
_SHINE = np.array([0.0, 0.4, 1.0, 0.0])
_SHARPNESS = np.array([1.0, 24.0, 60.0, 1.0])
_SKY = np.array([0.0, 0.06, 0.38, 0.0])
_SLOPE = np.array([0.0, 0.6, 0.0, 0.0])
CENTER_HEIGHT = 0.7  # meters: the height at which a vehicle's center is reported


@dataclass
class Mesh:
    """Faces in the order they are painted, from the ground up.

    Attributes
    ----------
    points : array of shape (P, 3)
        Corners of all faces, one face after the other.
    sizes : array of F int
    colors : array of shape (F, 3)
        RGB in 0..1.
    materials : array of F int
        MATTE, PAINT, GLASS or LAMP.
    hulls : list of arrays (n, 3)
        The points whose projected convex hulls together make the shadow.
    """

    points: np.ndarray
    sizes: np.ndarray
    colors: np.ndarray
    materials: np.ndarray
    hulls: list[np.ndarray] = field(default_factory=list)


class MeshBuilder:
    """Collects faces and gives a `Mesh`."""

    def __init__(self) -> None:
        self._points: list[np.ndarray] = []
        self._faces: list[tuple[int, int, np.ndarray, int]] = []
        self.hulls: list[np.ndarray] = []

    def polygon(
        self, points: np.ndarray, color: np.ndarray, material: int = PAINT
    ) -> None:
        """Add one face with corners (n, 3)."""
        self._points.append(points)
        self._faces.append((1, len(points), color, material))

    def grid(self, grid: np.ndarray, color: np.ndarray, material: int = PAINT) -> None:
        """Add the quads of a grid of points (m, n, 3).

        `color` is one RGB or one for each row of quads, (m - 1, 3).
        """
        rows, columns = grid.shape[0] - 1, grid.shape[1] - 1
        corners = np.empty((rows, columns, 4, 3))
        corners[:, :, 0], corners[:, :, 1] = grid[:-1, :-1], grid[:-1, 1:]
        corners[:, :, 2], corners[:, :, 3] = grid[1:, 1:], grid[1:, :-1]
        self._points.append(corners.reshape(-1, 3))
        if color.ndim == 1:
            self._faces.append((rows * columns, 4, color, material))
        else:
            self._faces.extend((columns, 4, row, material) for row in color)

    def box(
        self,
        center: tuple[float, float],
        size: tuple[float, float],
        heights: tuple[float, float],
        color: np.ndarray,
        material: int = MATTE,
    ) -> None:
        """Add a box: center (x, y), size along x and y, heights of foot and top."""
        foot = rectangle(center, size, heights[0])
        top = rectangle(center, size, heights[1])
        self.walls(foot, top, color, material)
        self.polygon(top, color, material)
        self.hulls.append(np.concatenate([foot, top]))

    def walls(
        self, foot: np.ndarray, top: np.ndarray, color: np.ndarray, material: int
    ) -> None:
        """Add the quads between two rings (n, 3) of as many points."""
        foot, top = np.concatenate([foot, foot[:1]]), np.concatenate([top, top[:1]])
        self.grid(np.stack([foot, top]), color, material)

    def build(self) -> Mesh:
        """Give the mesh of all that was added."""
        counts, sizes, colors, materials = zip(*self._faces, strict=True)
        return Mesh(
            np.concatenate(self._points),
            np.repeat(sizes, counts),
            np.repeat(np.array(colors), counts, axis=0),
            np.repeat(materials, counts),
            self.hulls,
        )


def rectangle(
    center: tuple[float, float], size: tuple[float, float], height: float
) -> np.ndarray:
    """Give the corners (4, 3) of a level rectangle."""
    x, y = center[0] + size[0] / 2 * _SIGNS_X, center[1] + size[1] / 2 * _SIGNS_Y
    return np.stack([x, y, np.full(4, height)], axis=1)


_SIGNS_X = np.array([1.0, 1.0, -1.0, -1.0])
_SIGNS_Y = np.array([-1.0, 1.0, 1.0, -1.0])


@dataclass(frozen=True)
class View:
    """Where the camera hangs: meters to pixels.

    Attributes
    ----------
    scale : float
        Pixels per meter.
    origin : (float, float)
        The pixel (x, y) of the world's (0, 0).
    lean : (float, float)
        How far a thing one meter high leans, in meters to the right and down.
    altitude : float
        Height of the camera over `principal` (meters); infinity for a satellite.
    principal : (float, float)
        The point of the world, in meters, that the camera sees from right above.
    """

    scale: float
    origin: tuple[float, float] = (0.0, 0.0)
    lean: tuple[float, float] = (0.0, 0.0)
    altitude: float = float("inf")
    principal: tuple[float, float] = (0.0, 0.0)

    def lean_at(self, x: float, y: float) -> np.ndarray:
        """How things at (x, y) lean, in meters per meter of height."""
        outward = np.array([x - self.principal[0], y - self.principal[1]])
        return np.array(self.lean) + outward / self.altitude

    def pixels(self, points: np.ndarray) -> np.ndarray:
        """Convert points of the ground (..., 2), in meters, to pixels."""
        return np.asarray(points * self.scale + np.array(self.origin))

    def center_pixels(self, x: float, y: float) -> np.ndarray:
        """Where the center of a vehicle that stands at (x, y) is seen."""
        return self.pixels(np.array([x, y]) + CENTER_HEIGHT * self.lean_at(x, y))


@dataclass(frozen=True)
class Light:
    """Sun and sky.

    Attributes
    ----------
    sun : array of shape (3,)
        Unit vector towards the sun: right, down, up.
    strength : float
        Share of the sun in the light of a level surface, 0 for overcast.
    sky : array of shape (3,)
        Color of the sky, as mirrored by glass.
    gloss : float
        Strength of highlights, 0..1.
    sky_side : float
        Radians: the side of the sky that is brightest.
    """

    sun: np.ndarray
    strength: float
    sky: np.ndarray
    gloss: float
    sky_side: float

    def shadow_vector(self) -> np.ndarray:
        """How far the shadow of a thing one meter high reaches, (right, down)."""
        return -self.sun[:2] / max(float(self.sun[2]), 0.2)


@dataclass(frozen=True)
class Pose:
    """Where a mesh stands (meters) and where its front points."""

    x: float
    y: float
    heading_cw_from_up_deg: float

    def turn(self, points: np.ndarray) -> np.ndarray:
        """Turn the first two coordinates of points or normals (n, 3)."""
        heading = math.radians(self.heading_cw_from_up_deg)
        sin, cos = math.sin(heading), math.cos(heading)
        turned = np.empty_like(points, dtype=float)
        turned[:, 0] = points[:, 0] * sin + points[:, 1] * cos
        turned[:, 1] = points[:, 1] * sin - points[:, 0] * cos
        turned[:, 2] = points[:, 2]
        return turned

    def place(self, points: np.ndarray) -> np.ndarray:
        """Bring points (n, 3) of the mesh into the world."""
        placed = self.turn(points)
        placed += (self.x, self.y, 0.0)
        return placed


def draw_mesh(
    drawing: Drawing, mesh: Mesh, pose: Pose, view: View, light: Light
) -> None:
    """Add the lit faces of a mesh to a drawing."""
    world = pose.place(mesh.points)
    lean = view.lean_at(pose.x, pose.y)
    pixels = view.pixels(world[:, :2] + world[:, 2:] * lean)
    rgb = shade(mesh, _normals(mesh, world), light)
    colors: list[Color] = [tuple(c) for c in (rgb * 255).astype(int).tolist()]
    drawing.add(pixels, mesh.sizes.tolist(), colors)


def _normals(mesh: Mesh, world: np.ndarray) -> np.ndarray:
    """Give upward unit normals (F, 3); faces that are no quads lie level."""
    normals = np.zeros((len(mesh.sizes), 3))
    normals[:, 2] = 1.0
    quads = mesh.sizes == 4
    first = (np.cumsum(mesh.sizes) - mesh.sizes)[quads]
    a, b = world[first + 2] - world[first], world[first + 3] - world[first + 1]
    n = a[:, [1, 2, 0]] * b[:, [2, 0, 1]] - a[:, [2, 0, 1]] * b[:, [1, 2, 0]]
    n *= np.where(n[:, 2:] < 0, -1.0, 1.0)
    normals[quads] = n / np.maximum(np.sqrt((n * n).sum(axis=1, keepdims=True)), 1e-9)
    return normals


def shade(mesh: Mesh, normals: np.ndarray, light: Light) -> np.ndarray:
    """Give the colors (F, 3) of faces in 0..1 under a light.

    A level matte face keeps its color; others are brighter or darker by how they face
    the sun and the sky. Paint and glass add a highlight, glass mirrors the sky.
    """
    up = normals[:, 2]
    facing = np.maximum(normals @ light.sun, 0) / max(float(light.sun[2]), 0.35)
    lit = (1 - light.strength) * (0.45 + 0.55 * up) + light.strength * facing
    half = light.sun + np.array([0.0, 0.0, 1.0])
    glint = np.maximum(normals @ (half / np.linalg.norm(half)), 0)
    side = np.array([np.cos(light.sky_side), np.sin(light.sky_side)])
    mirrored = np.clip(0.5 + 1.1 * (normals[:, :2] @ side), 0.05, 1.2)
    material = mesh.materials
    shine = _SHINE[material] * glint ** _SHARPNESS[material]
    shine = shine * light.gloss * light.strength
    sky = _SKY[material] + _SLOPE[material] * np.sqrt(np.maximum(1 - up * up, 0))
    rgb = mesh.colors * np.where(material == LAMP, 1.0, np.minimum(lit, 1.7))[:, None]
    rgb = rgb + (sky * light.gloss * mirrored)[:, None] * light.sky + shine[:, None]
    return np.asarray(np.clip(rgb, 0, 1))


def draw_shadow(
    mask: Drawing, mesh: Mesh, pose: Pose, view: View, light: Light
) -> None:
    """Add the shadow a mesh casts on the ground to a mask drawing."""
    reach = light.shadow_vector()
    for hull in mesh.hulls:
        world = pose.place(hull)
        ground = world[:, :2] + world[:, 2:] * reach
        mask.polygon(convex_hull(view.pixels(ground)), 255)
