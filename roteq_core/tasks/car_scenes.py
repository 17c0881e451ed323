"""Images and their cars at the scale at which a finder sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from roteq_core import angles
from roteq_core.tables import Car
from roteq_core.tasks.car_crops import image_maps

FINDER_LENGTH = 20.0  # pixels of a usual car in what the finder sees


@dataclass(frozen=True)
class CarScene:
    """An image and its cars at the finder's scale.

    Parameters
    ----------
    image : uint8 array of shape (4, H, W)
        Red, green, blue, and 255 where something is known.
    cars : float array of shape (n, 4)
        x, y, length in pixels, and angle in radians.
    doubtful : float array of shape (m, 3)
        x, y and length of what is neither a car nor none: not learnt from.
    domain : str
    """

    image: np.ndarray
    cars: np.ndarray
    doubtful: np.ndarray
    domain: str = "real"


def scene_from_cars(
    image: np.ndarray,
    cars: Sequence[Car],
    doubtful: Sequence[Car] = (),
    *,
    length: float | None = None,
    domain: str = "real",
) -> CarScene:
    """Bring an image and its cars to the finder's scale, by their median length.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 3) or (H, W, 4)
    cars, doubtful : sequences of Car
        Those to find, and those that count neither for nor against.
    length : float, optional
        Of cars in pixels, for an image without any.
    domain : str
        Where the scene comes from.
    """
    lengths = [car.length for car in cars if car.length is not None]
    if len(lengths) < len(cars) or not (lengths or length):
        raise ValueError(
            f"cars to learn from need lengths, got {len(lengths)} for {len(cars)} cars"
        )
    usual = np.median(lengths) if lengths else length
    factor = FINDER_LENGTH / float(usual or 1)
    small = scale_image(image_maps(image, 3), factor)
    rows = np.array([_row(car, factor) for car in cars]).reshape(-1, 4)
    blurred = np.array([_row(car, factor)[:3] for car in doubtful]).reshape(-1, 3)
    pixels = (small.clip(0, 1) * 255).round().astype(np.uint8)
    return CarScene(pixels, rows, blurred, domain)


def _row(car: Car, factor: float) -> tuple[float, float, float, float]:
    angle = float(angles.angle_from_heading(car.drawn_cw_from_up_deg or 0.0))
    x, y = (car.cx + 0.5) * factor - 0.5, (car.cy + 0.5) * factor - 0.5
    return x, y, (car.length or FINDER_LENGTH / factor) * factor, angle


def scale_image(maps: np.ndarray, factor: float, *, multiple: int = 1) -> np.ndarray:
    """Resize maps (C, H, W) by a factor, without aliasing, to sides of a multiple."""
    height, width = maps.shape[-2:]
    size = (
        multiple * max(1, round(height * factor / multiple)),
        multiple * max(1, round(width * factor / multiple)),
    )
    if size == (height, width):
        return maps
    small = F.interpolate(
        torch.from_numpy(maps)[None],
        size=size,
        mode="bilinear",
        antialias=factor < 1,
        align_corners=False,
    )
    return np.asarray(small[0])


def normalize_scene(maps: Tensor) -> Tensor:
    """Bring maps (B, C + 1, H, W) to mean 0 and spread 1 where they are known."""
    values, known = maps[:, :-1], maps[:, -1:]
    total = known.sum((-2, -1), keepdim=True).clamp(min=1)
    mean = (values * known).sum((-2, -1), keepdim=True) / total
    gap = (values - mean) * known
    spread = (gap.square().sum((-2, -1), keepdim=True) / total).mean(1, True).sqrt()
    return (gap / spread.clamp(min=1e-3)).clamp(-4, 4)
