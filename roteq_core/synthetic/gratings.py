"""Smooth images with known direction, for tests of rotation.

Coordinates are pixels from the middle of the image, x right and y down; angles are
radians from right towards down, as in `roteq_core.angles`.
"""

from __future__ import annotations

import numpy as np

from roteq_core.angles import wrap_axial


def _grid(shape: int | tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Give x and y (H, W) from the middle of an image."""
    height, width = (shape, shape) if isinstance(shape, int) else shape
    if min(height, width) < 1:
        raise ValueError(f"size must be positive, got {shape}")
    y, x = np.mgrid[:height, :width].astype(float)
    return x - (width - 1) / 2, y - (height - 1) / 2


def grating(
    size: int | tuple[int, int],
    *,
    angle: float,
    period: float,
    phase: float = 0.0,
) -> np.ndarray:
    """Draw straight waves.

    Parameters
    ----------
    size : int or (int, int)
        Rows and columns.
    angle : float
        Axial direction of the stripes, in radians.
    period : float
        Pixels from crest to crest, more than 2.
    phase : float
        Radians; 0 puts a crest through the middle.

    Returns
    -------
    float array of shape (H, W) in [-1, 1]
    """
    if period <= 2:
        raise ValueError(f"period must be more than 2 pixels, got {period}")
    x, y = _grid(size)
    across = y * np.cos(angle) - x * np.sin(angle)
    return np.asarray(np.cos(2 * np.pi * across / period + phase))


def rings(
    size: int | tuple[int, int], *, period: float, phase: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw circular waves around the middle.

    Parameters
    ----------
    size : int or (int, int)
        Rows and columns.
    period : float
        Pixels from crest to crest, more than 2.
    phase : float
        Radians.

    Returns
    -------
    image : float array of shape (H, W) in [-1, 1]
    direction : float array of shape (H, W)
        Axial angle along the rings in [0, π); of no meaning at the very middle.
    """
    if period <= 2:
        raise ValueError(f"period must be more than 2 pixels, got {period}")
    x, y = _grid(size)
    image = np.cos(2 * np.pi * np.hypot(x, y) / period + phase)
    return image, wrap_axial(np.arctan2(y, x) + np.pi / 2)


class PlaneWaves:
    """A random smooth image that is known exactly at every rotation.

    The image is a sum of plane waves with random phases, whose frequencies are drawn so
    that it looks like white noise blurred by a Gaussian of `sigma` pixels:

        f(x, y) = √(2/n) Σ cos(kᵢ·(x, y) + φᵢ),   kᵢ ~ N(0, 1 / (2 σ²))

    Frequencies beyond `max_frequency` are drawn again, so that it is band-limited.

    Parameters
    ----------
    seed : int
        The same seed gives the same image.
    sigma : float
        Blur in pixels, positive.
    size : int or (int, int)
        Rows and columns.
    waves : int
        How many plane waves.
    max_frequency : float
        In cycles per pixel, at most 0.5.
    """

    def __init__(
        self,
        seed: int,
        sigma: float,
        size: int | tuple[int, int],
        *,
        waves: int = 200,
        max_frequency: float = 0.25,
    ) -> None:
        if sigma <= 0:
            raise ValueError(f"sigma must be positive, got {sigma}")
        if waves < 1:
            raise ValueError(f"waves must be at least 1, got {waves}")
        if not 0 < max_frequency <= 0.5:
            raise ValueError(f"max_frequency must be in (0, 0.5], got {max_frequency}")
        rng = np.random.default_rng(seed)
        self.size = (size, size) if isinstance(size, int) else size
        self._waves = _draw_waves(rng, sigma, waves, 2 * np.pi * max_frequency)
        self._phases = rng.uniform(0, 2 * np.pi, waves)

    def sample(
        self, angle: float = 0.0, shift: tuple[float, float] = (0.0, 0.0)
    ) -> np.ndarray:
        """Give the image turned and shifted, without resampling.

        Parameters
        ----------
        angle : float
            How far the image is turned about its middle, in radians from right
            towards down (clockwise on the screen).
        shift : (float, float)
            How far it is then moved right and down, in pixels.

        Returns
        -------
        float array of shape (H, W), of about unit variance
        """
        x, y = _grid(self.size)
        return self.at(*_turn_back(x - shift[0], y - shift[1], angle))

    def at(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Give the unturned image at any points, in pixels from the middle."""
        total = np.zeros(np.shape(x))
        for (kx, ky), phase in zip(self._waves, self._phases, strict=True):
            total += np.cos(kx * x + ky * y + phase)
        return np.asarray(total * np.sqrt(2 / len(self._waves)))

    def gradient(self, angle: float = 0.0) -> np.ndarray:
        """Give the exact gradient (2, H, W), right then down, of `sample(angle)`."""
        x, y = _turn_back(*_grid(self.size), angle)
        slope = np.zeros((2, *np.shape(x)))
        for (kx, ky), phase in zip(self._waves, self._phases, strict=True):
            wave = -np.sin(kx * x + ky * y + phase)
            slope[0] += kx * wave
            slope[1] += ky * wave
        slope *= np.sqrt(2 / len(self._waves))
        cos, sin = np.cos(angle), np.sin(angle)
        return np.stack(
            [cos * slope[0] - sin * slope[1], sin * slope[0] + cos * slope[1]]
        )


def _draw_waves(
    rng: np.random.Generator, sigma: float, count: int, limit: float
) -> np.ndarray:
    waves = rng.normal(0, 1 / (np.sqrt(2) * sigma), (count, 2))
    while (beyond := np.hypot(*waves.T) > limit).any():
        waves[beyond] = rng.normal(0, 1 / (np.sqrt(2) * sigma), (beyond.sum(), 2))
    return waves


def _turn_back(
    x: np.ndarray, y: np.ndarray, angle: float
) -> tuple[np.ndarray, np.ndarray]:
    cos, sin = np.cos(angle), np.sin(angle)
    return cos * x + sin * y, cos * y - sin * x


def blobs(
    size: int | tuple[int, int],
    *,
    seed: int,
    count: int = 12,
    sigma: float = 3.0,
    elongation: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw Gaussian blobs on a background that is exactly zero.

    Parameters
    ----------
    size : int or (int, int)
        Rows and columns.
    seed : int
        The same seed gives the same blobs.
    count : int
        How many.
    sigma : float
        Size in pixels, across a blob; beyond 4 of it a blob is cut off to zero.
    elongation : float
        Length over breadth, at least 1.

    Returns
    -------
    image : float array of shape (H, W), in [0, count]
    places : float array of shape (count, 3)
        x and y from the middle of the image, and the axial angle of each blob.
    """
    if sigma <= 0:
        raise ValueError(f"sigma must be positive, got {sigma}")
    if elongation < 1:
        raise ValueError(f"elongation must be at least 1, got {elongation}")
    x, y = _grid(size)
    rng = np.random.default_rng(seed)
    spread = np.array([x.max(), y.max()]) * 0.8
    places = np.column_stack(
        [rng.uniform(-1, 1, (count, 2)) * spread, rng.uniform(0, np.pi, count)]
    )
    image = np.zeros(x.shape)
    for cx, cy, angle in places:
        along, across = _turn_back(x - cx, y - cy, angle)
        square = ((along / elongation) ** 2 + across**2) / sigma**2
        image += np.where(square < 16, np.exp(-0.5 * square), 0.0)
    return image, places
