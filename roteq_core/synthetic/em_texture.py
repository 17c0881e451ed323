"""What fills cells in electron micrographs: cytoplasm, vesicles, mitochondria.

All functions give *density*: how much darker than clear cytoplasm, as float32 (H, W);
1 is about the darkness of a membrane that is cut upright.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage, signal

from roteq_core.synthetic.em_cells import Plane, Tissue


def smooth_noise(
    rng: np.random.Generator, shape: tuple[int, int], sigma: float
) -> np.ndarray:
    """Draw noise of unit variance, blurred by a Gaussian."""
    noise = rng.standard_normal(shape, dtype=np.float32)
    smooth = ndimage.gaussian_filter(noise, sigma, mode="wrap")
    return np.asarray(smooth / smooth.std())


@dataclass(frozen=True)
class CellTraits:
    """How the cells differ: arrays with one entry for each cell, from 0.

    Attributes
    ----------
    tone : float array
        Density of the cytoplasm.
    grain : float array
        How coarse it looks.
    vesicles, tubules : float arrays
        Objects for each pixel.
    """

    tone: np.ndarray
    grain: np.ndarray
    vesicles: np.ndarray
    tubules: np.ndarray


def random_traits(rng: np.random.Generator, cells: int) -> CellTraits:
    """Draw traits for cells 0..cells: a few are dark and grainy, a few full."""
    dark = rng.random(cells + 1) < 0.06
    full = rng.random(cells + 1) < 0.22
    tone = rng.normal(0, 0.07, cells + 1) + 0.3 * dark
    grain = rng.uniform(0.8, 1.25, cells + 1) + 0.25 * dark
    vesicles = rng.uniform(0, 0.0009, cells + 1) + full * rng.uniform(0, 0.005)
    tubules = rng.uniform(0, 0.0035, cells + 1)
    return CellTraits(tone, grain, vesicles, tubules)


def cytoplasm(rng: np.random.Generator, plane: Plane, traits: CellTraits) -> np.ndarray:
    """Draw grain, patches and small objects inside the cells."""
    shape = plane.cells.shape
    density = 0.2 * smooth_noise(rng, shape, 1.4)
    density += 0.16 * smooth_noise(rng, shape, 3.2)
    density *= traits.grain[plane.cells]
    density += traits.tone[plane.cells] + 0.06 * smooth_noise(rng, shape, 14.0)
    inside = np.clip((plane.distance - 5) / 4, 0, 1)
    draws = rng.random(shape, dtype=np.float32)
    ring = (draws < traits.vesicles[plane.cells]) & (plane.distance > 7)
    dots = (draws > 1 - traits.tubules[plane.cells]) & (plane.distance > 4)
    density += _stamp(ring, _ring(rng.uniform(3.6, 4.8), 1.4)) * 0.85
    density += _stamp(dots, _ring(0.8, 1.4)) * 0.7
    density += inside * _reticulum(rng, shape)
    return density.astype(np.float32)


def _ring(radius: float, width: float) -> np.ndarray:
    y, x = np.mgrid[-9:10, -9:10]
    return np.asarray(np.exp(-(((np.hypot(x, y) - radius) / width) ** 2)))


def _stamp(points: np.ndarray, shape: np.ndarray) -> np.ndarray:
    stamped = signal.fftconvolve(points.astype(np.float32), shape, mode="same")
    return np.asarray(np.clip(stamped, 0, 1.2))


def _reticulum(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Draw winding inner membranes: the level lines of noise, here and there."""
    hills = smooth_noise(rng, shape, 7.0)
    slope = np.hypot(*np.gradient(hills)) + 0.02
    line = np.exp(-((hills / slope / 1.5) ** 2))
    patch = np.clip(3 * (smooth_noise(rng, shape, 18.0) - 1.35), 0, 1)
    return np.asarray(0.7 * line * patch)


@dataclass(frozen=True)
class Mitochondrion:
    """An ellipsoid that rides on a disk of the tissue.

    `offset` (x, y) is from the disk's center; `long` and `short` are the half axes in
    the plane, in pixels; `top` and `depth` are in slices.
    """

    disk: int
    offset: tuple[float, float]
    long: float
    short: float
    angle: float
    top: float
    depth: float
    cristae_angle: float
    period: float
    darkness: float
    seed: int


def random_mitochondria(
    rng: np.random.Generator, tissue: Tissue, slices: int
) -> list[Mitochondrion]:
    """Put mitochondria into disks that are large enough."""
    found = []
    for disk in np.flatnonzero(tissue.radii.mean(axis=0) > 19):
        radius = tissue.radii[:, disk].mean()
        top = rng.uniform(-12, 20)
        while top < slices:
            mito = _random_mitochondrion(rng, int(disk), radius, top)
            found.append(mito)
            # The next one lies below, so that they do not run into each other.
            top += mito.depth + rng.exponential(900 / radius)
    return found


def _random_mitochondrion(
    rng: np.random.Generator, disk: int, radius: float, top: float
) -> Mitochondrion:
    long = float(min(rng.uniform(15, 38), 0.72 * radius))
    out, way = rng.uniform(0, 0.5) * (radius - long), rng.uniform(0, 2 * np.pi)
    return Mitochondrion(
        disk=disk,
        offset=(out * np.cos(way), out * np.sin(way)),
        long=long,
        short=long * rng.uniform(0.6, 1.0),
        angle=rng.uniform(0, np.pi),
        top=top,
        depth=rng.uniform(3, 12),
        cristae_angle=rng.uniform(0, np.pi),
        period=rng.uniform(8, 11),
        darkness=rng.uniform(0.5, 0.85),
        seed=int(rng.integers(2**31)),
    )


def draw_mitochondrion(
    density: np.ndarray,
    mito: Mitochondrion,
    tissue: Tissue,
    plane: Plane,
    depth: float,
) -> None:
    """Draw a mitochondrion into a density in place, where the plane cuts it."""
    across = (depth - mito.top) / mito.depth * 2 - 1
    if abs(across) >= 0.98:
        return
    x0, y0 = tissue.center(mito.disk, depth) + np.array(mito.offset)
    reach = int(mito.long + 6)
    rows = slice(max(0, int(y0) - reach), max(0, int(y0) + reach + 1))
    columns = slice(max(0, int(x0) - reach), max(0, int(x0) + reach + 1))
    part = density[rows, columns]
    if not part.size:
        return
    swell = np.sqrt(1 - across**2)
    y, x = np.mgrid[rows.start : rows.start + part.shape[0],
                    columns.start : columns.start + part.shape[1]]  # fmt: skip
    rim = _rim(mito, x - x0, y - y0, swell)
    rim = np.minimum(rim, plane.distance[rows, columns] - 5)
    rim[plane.cells[rows, columns] != tissue.cells[mito.disk]] = -9
    matrix = mito.darkness * (1 + 0.75 * _cristae(mito, x - x0, y - y0, depth))
    matrix = matrix + 0.4 * part
    wall = 0.95 * np.exp(-(((rim - 0.5) / 1.5) ** 2)) - 0.25 * np.exp(
        -(((rim + 3) / 1.6) ** 2)
    )
    inside = np.clip(rim / 2 + 0.5, 0, 1)
    part[...] = (1 - inside) * part + inside * matrix + wall


def _rim(mito: Mitochondrion, x: np.ndarray, y: np.ndarray, swell: float) -> np.ndarray:
    """Give the distance to the outline, positive inside (H, W)."""
    cos, sin = np.cos(mito.angle), np.sin(mito.angle)
    u, v = (x * cos + y * sin) / mito.long, (y * cos - x * sin) / mito.short
    wave = 0.06 * np.sin(3 * np.arctan2(v, u) + mito.seed % 7)
    return np.asarray((swell * (1 + wave) - np.hypot(u, v)) * mito.short)


def _cristae(
    mito: Mitochondrion, x: np.ndarray, y: np.ndarray, depth: float
) -> np.ndarray:
    """Give folds: wavy stripes between -1 and 1 (H, W)."""
    rng = np.random.default_rng(mito.seed)
    phase = rng.uniform(0, 6, 3) + 0.4 * depth
    along = x * np.cos(mito.cristae_angle) + y * np.sin(mito.cristae_angle)
    side = y * np.cos(mito.cristae_angle) - x * np.sin(mito.cristae_angle)
    bend = 1.6 * np.sin(side / 9 + phase[0]) + 1.1 * np.sin(side / 4.5 + phase[1])
    stripes = np.sin(2 * np.pi * (along + bend) / mito.period + phase[2])
    return np.asarray(stripes * (0.6 + 0.4 * np.sin(side / 7 + along / 11 + phase[0])))


@dataclass(frozen=True)
class Synapse:
    """A dark blot at (x, y) over a few slices, where membranes are near."""

    x: float
    y: float
    size: float
    squeeze: float
    first: int
    last: int


def random_synapses(
    rng: np.random.Generator, slices: int, shape: tuple[int, int]
) -> list[Synapse]:
    """Draw about ten synapses for each 512 by 512 pixels and slice."""
    count = rng.poisson(5 * slices * shape[0] * shape[1] / 512**2)
    found = []
    for _ in range(count):
        first = int(rng.integers(-2, slices))
        found.append(
            Synapse(
                x=rng.uniform(0, shape[1]),
                y=rng.uniform(0, shape[0]),
                size=rng.uniform(4, 11),
                squeeze=rng.uniform(0.6, 1.6),
                first=first,
                last=first + int(rng.integers(1, 4)),
            )
        )
    return found


def draw_synapses(
    rng: np.random.Generator, synapses: list[Synapse], plane: Plane, index: int
) -> np.ndarray:
    """Give the density of the synapses in one slice."""
    shape = plane.cells.shape
    y, x = np.mgrid[: shape[0], : shape[1]].astype(np.float32)
    density = np.zeros(shape, dtype=np.float32)
    for spot in synapses:
        if spot.first <= index < spot.last:
            across, down = (x - spot.x) * spot.squeeze, (y - spot.y) / spot.squeeze
            density += np.exp(-(across**2 + down**2) / (2 * spot.size**2))
    texture = 0.9 + 0.3 * smooth_noise(rng, shape, 2.0)
    near = np.exp(-((plane.distance / 8) ** 2))
    return np.asarray(np.minimum(density, 1.1) * texture * near)
