"""A place and how it is drawn: ground, shadows, vehicles, trees, houses.

Scenes and training crops both fill a `Site` and call `render`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from PIL import Image, ImageFilter

from roteq_core.synthetic.ground import Palette, Surface, paint_ground
from roteq_core.synthetic.mesh import (
    Light,
    Mesh,
    Pose,
    View,
    draw_mesh,
    draw_shadow,
)
from roteq_core.synthetic.raster import Drawing, value_noise
from roteq_core.synthetic.styles import AerialStyle
from roteq_core.synthetic.traffic import Vehicle
from roteq_core.synthetic.trees import House, Tree, draw_house, draw_tree


@dataclass
class Site:
    """Everything at one place, in meters.

    Attributes
    ----------
    base : str
        Material of the ground where no surface lies.
    surfaces : list of Surface
        Painted in order.
    markings : list of (array (n, 2), RGB in 0..1)
        Lines and signs on the road; they wear off.
    vehicles : list of (Vehicle, Pose)
    objects : list of (Mesh, Pose)
        Clutter.
    trees, houses : lists
    beams : list of (Vehicle, Pose)
        Vehicles whose lights shine on the road.
    """

    base: str
    surfaces: list[Surface] = field(default_factory=list)
    markings: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    vehicles: list[tuple[Vehicle, Pose]] = field(default_factory=list)
    objects: list[tuple[Mesh, Pose]] = field(default_factory=list)
    trees: list[Tree] = field(default_factory=list)
    houses: list[House] = field(default_factory=list)
    beams: list[tuple[Vehicle, Pose]] = field(default_factory=list)


def light_of(style: AerialStyle, rng: np.random.Generator) -> Light:
    """Give the sun and sky of a style."""
    azimuth = np.deg2rad(style.sun_azimuth_deg)
    elevation = np.deg2rad(style.sun_elevation_deg)
    level = np.cos(elevation)
    sun = np.array(
        [level * np.sin(azimuth), -level * np.cos(azimuth), np.sin(elevation)]
    )
    sky = np.array([0.55, 0.68, 0.82]) * rng.uniform(0.7, 1.1)
    if style.sun < 0.15:
        sky = np.array([0.72, 0.75, 0.78]) * rng.uniform(0.7, 1.1)
    return Light(sun, style.sun, sky, style.gloss, rng.uniform(0, 2 * np.pi))


def render(
    rng: np.random.Generator,
    site: Site,
    style: AerialStyle,
    view: View,
    shape: tuple[int, int],
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a site as it is before the camera sees it.

    Returns
    -------
    picture : float32 array of shape (H, W, 3)
        RGB in 0..1.
    covered : bool array of shape (H, W)
        Where trees and roofs hide what is below.
    """
    light, palette = light_of(style, rng), Palette(rng)
    site = _in_sight(site, view, light, shape)
    picture = paint_ground(
        rng, shape, view, site.base, site.surfaces, palette,
        texture=style.texture, dirt=style.dirt,
    )  # fmt: skip
    picture = _paint_markings(rng, picture, site, style, view)
    low, high = _shadows(site, view, light, shape)
    picture = picture * _darkness(low * (1 - high), style)
    if site.beams and style.brightness < 0.85:
        picture = _shine(picture, site, view)
    picture = _paint(picture, _standing(site, view, light))
    picture = picture * _darkness(high, style)
    return _paint_high(rng, picture, site, style, view, light, palette)


def _in_sight(site: Site, view: View, light: Light, shape: tuple[int, int]) -> Site:
    """Drop vehicles and clutter that neither show nor cast a shadow in the frame."""
    left, top = -view.origin[0] / view.scale, -view.origin[1] / view.scale
    right, bottom = left + shape[1] / view.scale, top + shape[0] / view.scale
    across, down = light.shadow_vector().tolist()

    def near(pose: Pose, radius: float, height: float) -> bool:
        x, y = pose.x + height * across, pose.y + height * down
        return bool(
            min(x, pose.x) - radius < right
            and max(x, pose.x) + radius > left
            and min(y, pose.y) - radius < bottom
            and max(y, pose.y) + radius > top
        )

    vehicles = [
        (vehicle, pose)
        for vehicle, pose in site.vehicles
        if near(pose, 0.55 * vehicle.length, 1.5)
    ]
    objects = [(mesh, pose) for mesh, pose in site.objects if near(pose, 4.0, 3.0)]
    return replace(site, vehicles=vehicles, objects=objects)


def _paint_markings(
    rng: np.random.Generator,
    picture: np.ndarray,
    site: Site,
    style: AerialStyle,
    view: View,
) -> np.ndarray:
    if not site.markings:
        return picture
    drawing = Drawing()
    for points, color in site.markings:
        r, g, b = color.tolist()
        paint = (int(r * 255), int(g * 255), int(b * 255))
        drawing.polygon(view.pixels(points), paint)
    painted = _paint(picture, drawing)
    noise = value_noise(rng, picture.shape[:2], 0.3 * view.scale)
    cover = np.clip(1 - style.wear * (0.45 + 0.5 * noise), 0.1, 1)[..., None]
    return np.asarray(picture + cover.astype(np.float32) * (painted - picture))


def _paint(picture: np.ndarray, drawing: Drawing) -> np.ndarray:
    """Paint over a float picture; pixels the drawing does not touch stay exact."""
    if not len(drawing):
        return picture
    before = (np.clip(picture, 0, 1) * 255 + 0.5).astype(np.uint8)
    after = drawing.paint(before)
    return np.where(after == before, picture, after.astype(np.float32) / 255)


def _shadows(
    site: Site, view: View, light: Light, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Shadows of vehicles and clutter, and of trees and houses: (H, W) in 0..1."""
    contact, cast, tall = Drawing(), Drawing(), Drawing()
    for vehicle, pose in site.vehicles:
        draw_shadow(cast, vehicle.mesh, pose, view, light)
        _draw_contact(contact, vehicle, pose, view)
    for mesh, pose in site.objects:
        draw_shadow(cast, mesh, pose, view, light)
    high: list[House | Tree] = [*site.houses, *site.trees]
    for item in high:
        for outline in item.shadow(light.shadow_vector()):
            tall.polygon(view.pixels(outline), 255)
    below = np.maximum(
        _mask(cast, shape, 0.05 * view.scale) * min(1.0, light.strength * 3),
        0.45 * _mask(contact, shape, 0.13 * view.scale),
    )
    return below, _mask(tall, shape, 0.15 * view.scale)


def _draw_contact(drawing: Drawing, vehicle: Vehicle, pose: Pose, view: View) -> None:
    """Add the dim rim under a vehicle, where the sky is hidden."""
    x, y = vehicle.length / 2 + 0.05, vehicle.width / 2 + 0.08
    corners = np.array([(x, -y, 0), (x, y, 0), (-x, y, 0), (-x, -y, 0)], dtype=float)
    drawing.polygon(view.pixels(pose.place(corners)[:, :2]), 255)


def _mask(drawing: Drawing, shape: tuple[int, int], blur: float) -> np.ndarray:
    if not len(drawing):
        return np.zeros(shape, dtype=np.float32)
    blank = np.zeros(shape, dtype=np.uint8)
    image = Image.fromarray(drawing.paint(blank, supersample=2))
    soft = image.filter(ImageFilter.GaussianBlur(max(blur, 0.3)))
    return np.asarray(soft, dtype=np.float32) / 255


def _darkness(mask: np.ndarray, style: AerialStyle) -> np.ndarray:
    """Factor (H, W, 3) on the picture in shadow; the blue of the sky remains."""
    depth = 0.18 + 0.78 * style.sun
    blue = np.array([1.0, 0.95, 1 - style.shadow_blue], dtype=np.float32)
    return np.asarray(1 - (mask * np.float32(depth))[..., None] * blue)


def _standing(site: Site, view: View, light: Light) -> Drawing:
    """Vehicles and clutter, those nearer to the camera's foot first."""
    drawing = Drawing()
    things = [(v.mesh, pose) for v, pose in site.vehicles] + site.objects
    for mesh, pose in things:
        draw_mesh(drawing, mesh, pose, view, light)
    return drawing


def _shine(picture: np.ndarray, site: Site, view: View) -> np.ndarray:
    """Head lights on the road in front, a red glow behind."""
    front, rear = Drawing(), Drawing()
    for vehicle, pose in site.beams:
        half, wide = vehicle.length / 2, vehicle.width / 2
        beam = [(half, -wide, 0), (half, wide, 0), (half + 6, 2.2 * wide, 0),
                (half + 6, -2.2 * wide, 0)]  # fmt: skip
        glow = [(-half, -wide, 0), (-half, wide, 0), (-half - 1.2, wide, 0),
                (-half - 1.2, -wide, 0)]  # fmt: skip
        for drawing, points in ((front, beam), (rear, glow)):
            world = pose.place(np.array(points, dtype=float))
            drawing.polygon(view.pixels(world[:, :2]), 255)
    shape = picture.shape[:2]
    head = _mask(front, shape, 1.0 * view.scale)[..., None]
    tail = _mask(rear, shape, 0.5 * view.scale)[..., None]
    warm = np.array([0.5, 0.46, 0.36], dtype=np.float32)
    red = np.array([0.35, 0.03, 0.02], dtype=np.float32)
    return np.asarray(picture + head * warm * (0.3 + picture) + tail * red)


def _paint_high(
    rng: np.random.Generator,
    picture: np.ndarray,
    site: Site,
    style: AerialStyle,
    view: View,
    light: Light,
    palette: Palette,
) -> tuple[np.ndarray, np.ndarray]:
    """Paint houses and trees over everything else; say where they are."""
    if not site.houses and not site.trees:
        return picture, np.zeros(picture.shape[:2], dtype=bool)
    drawing = Drawing()
    for house in site.houses:
        draw_house(drawing, rng, house, view, light, palette)
    for tree in site.trees:
        draw_tree(drawing, rng, tree, view, light)
    painted = _paint(picture, drawing)
    changed = (painted != picture).any(axis=2)
    grain = 1 + 0.05 * style.texture * value_noise(rng, picture.shape[:2], 1.0)
    high = np.where(changed[..., None], painted * grain[..., None], picture)
    return high, changed
