"""Many small pictures of single cars with known headings, for training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from roteq_core.synthetic.camera import take_picture
from roteq_core.synthetic.fleet import fleet_vehicle
from roteq_core.synthetic.mesh import Pose, View
from roteq_core.synthetic.site import render
from roteq_core.synthetic.styles import AerialStyle, family_names
from roteq_core.synthetic.surroundings import surroundings


class CarCrops(NamedTuple):
    """Crops with one car near the center of each.

    Attributes
    ----------
    images : uint8 array of shape (n, size, size, 3)
    headings : float array of shape (n,)
        `heading_cw_from_up_deg`, in [0, 360).
    boxes : float array of shape (n, 4)
        Center x, center y, length and width in pixels; pixel centers are whole
        numbers, so that the middle of the crop is (size - 1) / 2.
    """

    images: np.ndarray
    headings: np.ndarray
    boxes: np.ndarray


def car_crops(
    n: int,
    size: int = 64,
    *,
    seed: int,
    car_length_px: tuple[float, float] = (28.0, 44.0),
    styles: str | Sequence[str] | None = None,
    jitter_px: float = 1.0,
    glare: float = 0.0,
) -> CarCrops:
    """Draw crops of cars at random headings, places, light and cameras.

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
    styles : str or sequence of str, optional
        Families to draw from; all by default (see `styles.FAMILIES`).
    jitter_px : float
        The car is off the middle by up to this many pixels, along x and y.
    glare : float
        Share of cars from whose windscreen the sun shines back.
    """
    if n < 0:
        raise ValueError(f"n must not be negative, got {n}")
    if size < 8:
        raise ValueError(f"size must be at least 8, got {size}")
    low, high = car_length_px
    if not 0 < low <= high:
        raise ValueError(f"car_length_px must be 0 < low <= high, got {car_length_px}")
    families = family_names(styles)
    images = np.empty((n, size, size, 3), dtype=np.uint8)
    headings, boxes = np.empty(n), np.empty((n, 4))
    for k in range(n):
        rng = np.random.default_rng([seed, k])
        length = rng.uniform(low, high)
        images[k], headings[k], boxes[k] = _crop(
            rng, size, length, families, jitter_px, glare
        )
    return CarCrops(images, headings, boxes)


def _crop(
    rng: np.random.Generator,
    size: int,
    length_px: float,
    families: tuple[str, ...],
    jitter: float,
    glare: float,
) -> tuple[np.ndarray, float, np.ndarray]:
    style = AerialStyle.random(rng, families)
    lit = bool(rng.random() < style.lights)
    shines = bool(glare and rng.random() < glare)
    car = fleet_vehicle(rng, style, lit=lit, others=False, glare=shines)
    heading = float(rng.uniform(0, 360))
    scale = length_px / car.length
    view, center = _view(rng, style, size, scale, jitter)
    pose = Pose(0.0, 0.0, heading)
    site = surroundings(rng, style, car, heading, size / scale)
    site.vehicles.append((car, pose))
    if lit:
        site.beams.append((car, pose))
    picture, _ = render(rng, site, style, view, (size, size))
    box = np.array([center[0], center[1], length_px, car.width * scale])
    return take_picture(rng, picture, style), heading, box


def _view(
    rng: np.random.Generator,
    style: AerialStyle,
    size: int,
    scale: float,
    jitter: float,
) -> tuple[View, np.ndarray]:
    """Give a view that shows the car of the world's middle near the crop's middle."""
    angle = np.deg2rad(style.lean_direction_deg)
    lean = style.lean * np.array([np.cos(angle), np.sin(angle)])
    lean = lean + rng.uniform(-40, 40, 2) / style.altitude
    center = (size - 1) / 2 + rng.uniform(-jitter, jitter, 2)
    start = View(scale, (0.0, 0.0), (float(lean[0]), float(lean[1])))
    origin = center - start.center_pixels(0.0, 0.0)
    view = View(scale, (float(origin[0]), float(origin[1])), start.lean)
    return view, center
