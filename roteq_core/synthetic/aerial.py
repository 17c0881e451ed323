"""Aerial scenes with cars whose headings are known exactly.

Roads, car parks, houses, trees, shadows and other vehicles are drawn from vectors in
meters, lit by one sun and taken by one camera; see `AerialStyle` for what varies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from roteq_core.synthetic.bodies import CAR_KINDS
from roteq_core.synthetic.camera import take_picture
from roteq_core.synthetic.layouts import random_site
from roteq_core.synthetic.mesh import Pose, View
from roteq_core.synthetic.site import Site, render
from roteq_core.synthetic.styles import AerialStyle
from roteq_core.synthetic.traffic import Vehicle

TYPICAL_LENGTH = 4.5  # meters, of a car; it links `car_length_px` to the scale


@dataclass(frozen=True)
class Car:
    """One vehicle of a scene, in pixels.

    Attributes
    ----------
    cx, cy : float
        Center, x right and y down; pixel centers are whole numbers.
    length, width : float
        Size in pixels.
    heading_cw_from_up_deg : float
        Where the front points, in [0, 360): 0 up, 90 right.
    kind : str
        One of `CAR_KINDS`, or of `OTHER_KINDS` for what is no car.
    visible : float
        Share that is neither under a tree or roof nor outside the frame.
    """

    cx: float
    cy: float
    length: float
    width: float
    heading_cw_from_up_deg: float
    kind: str
    visible: float = 1.0

    @property
    def is_car(self) -> bool:
        """Whether it is a car (vans and pickups are)."""
        return self.kind in CAR_KINDS


@dataclass(frozen=True)
class AerialScene:
    """An image (H, W, 3) of uint8, its vehicles, and the style it was drawn in."""

    image: np.ndarray
    cars: list[Car]
    style: AerialStyle


def aerial_scene(
    size: tuple[int, int] = (512, 512),
    *,
    seed: int,
    style: AerialStyle | str | Sequence[str] | None = None,
    cars: int | None = None,
    car_length_px: tuple[float, float] = (28.0, 44.0),
) -> AerialScene:
    """Draw a scene.

    Parameters
    ----------
    size : (int, int)
        Rows and columns.
    seed : int
        The same seed and arguments give the same scene.
    style : AerialStyle, str or sequence of str, optional
        A style, or the families to draw one from; all families by default.
    cars : int, optional
        At most so many vehicles; by default as many as the style has.
    car_length_px : (float, float)
        Range of the length in pixels of a typical car (4.5 m); it sets the scale.

    Returns
    -------
    AerialScene
        `cars` lists every vehicle with its center in the frame of which at least a
        quarter is visible; those that are no cars say so by their kind.
    """
    height, width = size
    if min(size) < 16:
        raise ValueError(f"size must be at least 16 by 16, got {size}")
    if cars is not None and cars < 0:
        raise ValueError(f"cars must not be negative, got {cars}")
    low, high = car_length_px
    if not 0 < low <= high:
        raise ValueError(f"car_length_px must be 0 < low <= high, got {car_length_px}")
    rng = np.random.default_rng(seed)
    if not isinstance(style, AerialStyle):
        style = AerialStyle.random(rng, style)
    scale = rng.uniform(low, high) / TYPICAL_LENGTH
    meters = (width / scale, height / scale)
    view = _view(rng, style, scale, meters)
    site = random_site(rng, style, meters)
    if cars is not None:
        _thin_out(rng, site, meters, cars)
    picture, covered = render(rng, site, style, view, size)
    listed = [_seen(v, pose, view, covered) for v, pose in site.vehicles]
    image = take_picture(rng, picture, style)
    return AerialScene(image, [car for car in listed if car is not None], style)


def _view(
    rng: np.random.Generator,
    style: AerialStyle,
    scale: float,
    meters: tuple[float, float],
) -> View:
    angle = np.deg2rad(style.lean_direction_deg)
    lean = style.lean * np.array([np.cos(angle), np.sin(angle)])
    middle = rng.uniform(0.35, 0.65, 2) * np.array(meters)
    return View(
        scale,
        (-0.5, -0.5),
        (float(lean[0]), float(lean[1])),
        max(style.altitude, 1.4 * max(meters)),
        (float(middle[0]), float(middle[1])),
    )


def _thin_out(
    rng: np.random.Generator, site: Site, meters: tuple[float, float], most: int
) -> None:
    """Keep at most `most` vehicles of those that may be in the frame."""
    order = rng.permutation(len(site.vehicles))
    near = [
        k
        for k in order
        if -5 < site.vehicles[k][1].x < meters[0] + 5
        and -5 < site.vehicles[k][1].y < meters[1] + 5
    ]
    kept = [site.vehicles[k] for k in sorted(near[:most])]
    site.vehicles[:] = kept
    stay = {id(pose) for _, pose in kept}
    site.beams[:] = [beam for beam in site.beams if id(beam[1]) in stay]


def _seen(vehicle: Vehicle, pose: Pose, view: View, covered: np.ndarray) -> Car | None:
    """Describe a vehicle in pixels; None where too little of it shows."""
    height, width = covered.shape
    cx, cy = (float(value) for value in view.center_pixels(pose.x, pose.y))
    if not (-0.5 <= cx < width - 0.5 and -0.5 <= cy < height - 0.5):
        return None
    visible = _visible_share(vehicle, pose, view, covered)
    if visible < 0.25:
        return None
    length, across = vehicle.length * view.scale, vehicle.width * view.scale
    heading = pose.heading_cw_from_up_deg % 360
    return Car(cx, cy, length, across, heading, vehicle.kind, visible)


def _visible_share(
    vehicle: Vehicle, pose: Pose, view: View, covered: np.ndarray
) -> float:
    forward, right = np.meshgrid(
        np.linspace(-0.45, 0.45, 12), np.linspace(-0.4, 0.4, 6)
    )
    flat = np.stack([forward.ravel() * vehicle.length, right.ravel() * vehicle.width])
    turned = pose.turn(np.column_stack([flat.T, np.zeros(flat.shape[1])]))[:, :2]
    pixels = turned * view.scale + view.center_pixels(pose.x, pose.y)
    columns, rows = np.rint(pixels).astype(int).T
    height, width = covered.shape
    inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    free = ~covered[rows.clip(0, height - 1), columns.clip(0, width - 1)]
    return float((inside & free).mean())
