"""Patches around cars with known headings: what heading networks learn from.

A patch is a little larger than a crop, so that crops of any angle and size can be read
from it again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from roteq_core import angles
from roteq_core.synthetic import CarCrops
from roteq_core.tables import Car
from roteq_core.tasks.car_crops import (
    CAR_LENGTH,
    image_maps,
    make_pyramid,
    read_crops,
)

PATCH = 80
PATCH_LENGTH = 36.0  # pixels of a car in a patch


@dataclass(frozen=True)
class CarPatches:
    """Patches of cars and what is known of them.

    Parameters
    ----------
    images : uint8 array of shape (n, 4, PATCH, PATCH)
        Red, green, blue, and 255 where the image had a value.
    angles : float array of shape (n,)
        Where the cars point, radians.
    centers : float array of shape (n, 2)
        x and y of the cars in their patches.
    lengths : float array of shape (n,)
        Of the cars in pixels of the patch.
    weights : float array of shape (n,)
        How often each is drawn, in proportion.
    domains : array of str of shape (n,)
        Where each comes from.
    """

    images: np.ndarray
    angles: np.ndarray
    centers: np.ndarray
    lengths: np.ndarray
    weights: np.ndarray
    domains: np.ndarray

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: np.ndarray | slice) -> CarPatches:
        return CarPatches(
            self.images[index],
            self.angles[index],
            self.centers[index],
            self.lengths[index],
            self.weights[index],
            self.domains[index],
        )


def join_patches(parts: Iterable[CarPatches]) -> CarPatches:
    """Put several sets together."""
    listed = list(parts)
    names = ("images", "angles", "centers", "lengths", "weights", "domains")
    return CarPatches(
        *(np.concatenate([getattr(part, name) for part in listed]) for name in names)
    )


def patches_from_cars(
    image: np.ndarray,
    cars: Sequence[Car],
    *,
    weights: Sequence[float] | None = None,
    domain: str = "real",
) -> CarPatches:
    """Cut a patch for each car of an image; cars need a heading and a length."""
    for car in cars:
        if car.heading_cw_from_up_deg is None or car.length is None:
            raise ValueError(
                "cars to learn from need a heading and a length, got "
                f"heading_cw_from_up_deg={car.heading_cw_from_up_deg}, "
                f"length={car.length} at ({car.cx:g}, {car.cy:g})"
            )
    count = len(cars)
    centers = np.array([(car.cx, car.cy) for car in cars]).reshape(count, 2)
    lengths = np.array([car.length for car in cars], float)
    headings = np.array([car.heading_cw_from_up_deg for car in cars], float)
    pyramid = make_pyramid(image_maps(image, 3), lengths.max(initial=1))
    shown = lengths * (CAR_LENGTH / PATCH_LENGTH)
    read = read_crops(pyramid, centers, shown, crop=PATCH)
    pixels = (read.clamp(0, 1) * 255).round().to(torch.uint8).numpy()
    middle = (PATCH - 1) / 2
    return CarPatches(
        pixels,
        angles.angle_from_heading(headings),
        np.full((count, 2), middle),
        np.full(count, PATCH_LENGTH),
        np.ones(count) if weights is None else np.asarray(weights, float),
        np.full(count, domain),
    )


def patches_from_crops(crops: CarCrops, domain: str) -> CarPatches:
    """Take synthetic crops of side PATCH as patches."""
    count, side = crops.images.shape[:2]
    if side != PATCH:
        raise ValueError(f"crops must be {PATCH} pixels wide, got {side}")
    known = np.full((count, 1, PATCH, PATCH), 255, np.uint8)
    colors = np.moveaxis(crops.images, -1, 1)
    return CarPatches(
        np.concatenate([colors, known], 1),
        angles.angle_from_heading(crops.headings),
        crops.boxes[:, :2],
        crops.boxes[:, 2],
        np.ones(count),
        np.full(count, domain),
    )


def parked_weights(cars: Sequence[Car], places: float = 0.5) -> np.ndarray:
    """Count each parked car once: 1 / (rows that show the same car), (n,).

    Rows of different frames show the same parked car if a column `stationary_id` says
    so (-1: it moves); where there is none, if center, length and heading agree within
    `places` lengths of each other, an eighth of that, and 10°.
    """
    ids = [_parked_id(car) for car in cars]
    if any(name is not None for name in ids):
        counts: dict[str, int] = {}
        for name in ids:
            if name is not None:
                counts[name] = counts.get(name, 0) + 1
        return np.array([1.0 if name is None else 1 / counts[name] for name in ids])
    return np.asarray(1 / np.maximum(_alike(cars, places).sum(1), 1))


def _parked_id(car: Car) -> str | None:
    value = car.extra.get("stationary_id")
    if value is None or str(value).strip() in ("", "-1", "-1.0"):
        return None
    return str(value)


def _alike(cars: Sequence[Car], places: float) -> np.ndarray:
    """Which rows of different files show the same car at the same place, (n, n)."""
    count = len(cars)
    xy = np.array([(car.cx, car.cy) for car in cars]).reshape(count, 2)
    length = np.array([car.length or np.nan for car in cars])
    heading = np.deg2rad([car.heading_cw_from_up_deg or 0.0 for car in cars])
    files = np.array([car.file for car in cars])
    near = np.hypot(*(xy[:, None] - xy).T) < places * length / 4
    same_way = np.abs(angles.difference(heading[:, None], heading)) < np.deg2rad(10)
    other_file = files[:, None] != files
    return np.asarray((near & same_way & other_file) | np.eye(count, dtype=bool))
