"""The shapes of cells in a tissue: disks that press against each other through depth.

A cell is one disk, or a chain of disks for an elongated process. The disks drift from
slice to slice and push each other away. Each pixel belongs to the cell whose rim is
nearest; the gap between the two nearest cells tells how far the membrane is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

_MARGIN = 90.0  # pixels around the frame that are filled too
_REACH = 34.0  # pixels beyond its rim that a disk looks
_CORNER = np.float32(7.0)  # pixels outside its disk that a cell reaches into corners
_FAR = np.float32(1e6)


@dataclass(frozen=True)
class Tissue:
    """Disks of all slices.

    Attributes
    ----------
    centers : array of shape (Z + 1, D, 2)
        x and y of D disks at the top of each slice, and at the end.
    radii : array of shape (Z + 1, D)
    cells : int array of shape (D,)
        The cell of each disk, from 1.
    warp : array of shape (2, 2, H, W)
        Two displacement fields (x and y, pixels); depth turns one into the other.
    shift : array of shape (Z, 2)
        How far each slice lies off its place, x and y.
    """

    def center(self, disk: int, depth: float) -> np.ndarray:
        """Where a disk is seen at a depth, (x, y) in pixels."""
        below = min(int(depth), len(self.shift) - 1)
        share = depth - below
        top, bottom = self.centers[below, disk], self.centers[below + 1, disk]
        return np.asarray((1 - share) * top + share * bottom - self.shift[below])

    centers: np.ndarray
    radii: np.ndarray
    cells: np.ndarray
    warp: np.ndarray
    shift: np.ndarray


@dataclass(frozen=True)
class Plane:
    """One plane of a tissue.

    Attributes
    ----------
    cells : int32 array of shape (H, W)
        The cell of each pixel.
    distance : float32 array of shape (H, W)
        About how far, in pixels, the nearest membrane is.
    gap : float32 array of shape (H, W)
        Second nearest minus nearest rim; zero on the membrane.
    """

    cells: np.ndarray
    distance: np.ndarray
    gap: np.ndarray


def grow_tissue(
    rng: np.random.Generator, slices: int, size: tuple[int, int], *, drift: float
) -> Tissue:
    """Draw a tissue.

    Parameters
    ----------
    rng : numpy Generator
        Where chance comes from.
    slices : int
        How many slices it is deep.
    size : (int, int)
        Rows and columns.
    drift : float
        How far cells move from slice to slice, in pixels.
    """
    centers, radii, cells = _seed_disks(rng, size)
    links = np.flatnonzero(cells[1:] == cells[:-1])
    for _ in range(60):
        centers = _relax(centers, radii, cells, links)
    centers, radii, cells = _fill_voids(centers, radii, cells, size)
    for _ in range(20):
        centers = _relax(centers, radii, cells, links)
    speed = _cell_noise(rng, cells, drift)
    path, sizes = [centers], [radii]
    for _ in range(slices):
        speed = 0.8 * speed + 0.6 * _cell_noise(rng, cells, drift)
        centers = centers + speed
        radii = np.clip(radii * np.exp(rng.normal(0, 0.04, len(radii))), 3, 90)
        for _ in range(6):
            centers = _relax(centers, radii, cells, links)
        path.append(centers)
        sizes.append(radii)
    warp = np.stack([_warp(rng, size), _warp(rng, size)])
    shift = rng.normal(0, 0.9 * drift, (slices, 2))
    return Tissue(np.stack(path), np.stack(sizes), cells, warp, shift)


def _cell_noise(rng: np.random.Generator, cells: np.ndarray, sd: float) -> np.ndarray:
    """Draw one random step (D, 2) for each cell, the same for all of its disks."""
    steps = rng.normal(0, sd, (int(cells.max()) + 1, 2))
    return np.asarray(steps[cells] + rng.normal(0, 0.25 * sd, (len(cells), 2)))


def _seed_disks(
    rng: np.random.Generator, size: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw disks until they fill the frame: centers (D, 2), radii, cells."""
    height, width = size[0] + 2 * _MARGIN, size[1] + 2 * _MARGIN
    centers, radii, cells = [], [], []
    left, cell = 0.93 * height * width, 0
    while left > 0:
        cell += 1
        start = rng.uniform(0, 1, 2) * np.array([width, height]) - _MARGIN
        chain, radius = _chain(rng)
        for point in start + chain:
            centers.append(point)
            radii.append(radius * rng.uniform(0.8, 1.2))
            cells.append(cell)
            left -= np.pi * radii[-1] ** 2 * (1.0 if len(chain) == 1 else 0.6)
    return np.array(centers), np.array(radii), np.array(cells)


def _chain(rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Draw the disks of a cell relative to its start (n, 2), and their radius."""
    if rng.random() < 0.55:
        radius = float(np.clip(np.exp(rng.normal(2.98, 0.72)), 9, 80))
        return np.zeros((1, 2)), radius
    radius = float(np.clip(np.exp(rng.normal(2.58, 0.3)), 9, 28))
    count = int(rng.integers(3, 10))
    angle = rng.uniform(0, 2 * np.pi) + np.cumsum(rng.normal(0, 0.25, count))
    steps = 1.1 * radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.cumsum(steps, axis=0), radius


def _fill_voids(
    centers: np.ndarray, radii: np.ndarray, cells: np.ndarray, size: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add a cell wherever there is room for one."""
    x = np.arange(-_MARGIN, size[1] + _MARGIN, 5.0)
    y = np.arange(-_MARGIN, size[0] + _MARGIN, 5.0)
    spots = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    room = np.full(len(spots), np.inf)
    for center, radius in zip(centers, radii, strict=True):
        np.minimum(room, np.hypot(*(spots - center).T) - radius, out=room)
    while (widest := int(room.argmax())) >= 0 and room[widest] > 8:
        spot, radius = spots[widest], room[widest] + 1.5
        np.minimum(room, np.hypot(*(spots - spot).T) - radius, out=room)
        centers, radii = np.vstack([centers, spot]), np.append(radii, radius)
        cells = np.append(cells, cells.max() + 1)
    return centers, radii, cells


def _relax(
    centers: np.ndarray, radii: np.ndarray, cells: np.ndarray, links: np.ndarray
) -> np.ndarray:
    """Push overlapping disks of different cells apart; keep chains together."""
    apart = centers[:, None] - centers[None]  # (D, D, 2)
    distance = np.sqrt((apart**2).sum(axis=2)) + 1e-3
    overlap = np.maximum(radii[:, None] + radii[None] - distance, 0)
    overlap[cells[:, None] == cells[None]] = 0
    share = radii[None] ** 2 / (radii[:, None] ** 2 + radii[None] ** 2)
    push = 0.25 * (overlap * share / distance)[..., None] * apart
    moved = centers + np.clip(push.sum(axis=1), -6, 6)
    for first, second in ((links, links + 1), (links + 1, links)):
        step = moved[second] - moved[first]
        length = np.linalg.norm(step, axis=1, keepdims=True) + 1e-3
        want = 0.55 * (radii[first] + radii[second])[:, None]
        moved[first] += 0.25 * step * (1 - want / length)
    return np.asarray(moved)


def _warp(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    """Draw a displacement field (2, H, W) with bends of two sizes."""
    field = np.zeros((2, *size), dtype=np.float32)
    for sigma, amplitude in ((22.0, 5.0), (7.0, 1.3)):
        noise = rng.standard_normal((2, *size), dtype=np.float32)
        smooth = ndimage.gaussian_filter(noise, (0, sigma, sigma), mode="wrap")
        field += amplitude * smooth / smooth.std()
    return field


def cut(tissue: Tissue, depth: float) -> Plane:
    """Cut a plane at a depth in slices, from 0 to Z."""
    below = min(int(depth), len(tissue.centers) - 2)
    share = depth - below
    centers = (1 - share) * tissue.centers[below] + share * tissue.centers[below + 1]
    radii = (1 - share) * tissue.radii[below] + share * tissue.radii[below + 1]
    turn = 0.35 * depth
    warp = np.cos(turn) * tissue.warp[0] + np.sin(turn) * tissue.warp[1]
    height, width = warp.shape[1:]
    y, x = np.mgrid[:height, :width].astype(np.float32)
    offset = warp + tissue.shift[below][:, None, None]
    x, y = x + offset[0].astype(np.float32), y + offset[1].astype(np.float32)
    cells, gap, rim = _two_nearest((x, y), centers, radii, tissue.cells)
    slope = np.hypot(*np.gradient(gap))
    smooth = ndimage.maximum_filter(ndimage.uniform_filter(slope, 3), 3)
    distance = 0.5 * gap / np.maximum(0.5 * smooth, 0.3)
    # Disks leave room in the corners between them, which the membranes fill.
    distance = np.minimum(distance, np.maximum(_CORNER - rim, 0))
    return Plane(cells, distance, gap)


def _two_nearest(
    grid: tuple[np.ndarray, np.ndarray],
    centers: np.ndarray,
    radii: np.ndarray,
    cells: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give the nearest cell, by how much it beats the next, and how far its rim is."""
    x, y = grid
    nearest = np.full(x.shape, _FAR)
    second = np.full(x.shape, _FAR)
    owner = np.zeros(x.shape, dtype=np.int32)
    for (cx, cy), radius, cell in zip(centers, radii, cells, strict=True):
        window = _window(cx, cy, radius + _REACH, x.shape)
        if window is None:
            continue
        rim = np.hypot(x[window] - np.float32(cx), y[window] - np.float32(cy))
        rim -= np.float32(radius)
        best, own, next_best = nearest[window], owner[window], second[window]
        mine, wins = own == cell, rim < best
        next_best[...] = np.where(
            mine, next_best, np.where(wins, best, np.minimum(next_best, rim))
        )
        np.minimum(best, rim, out=best)
        own[wins] = cell
    return owner, np.minimum(second - nearest, np.float32(60)), nearest


def _window(
    cx: float, cy: float, reach: float, shape: tuple[int, ...]
) -> tuple[slice, slice] | None:
    reach += 14  # the warp moves pixels by up to about this much
    top, bottom = max(0, int(cy - reach)), min(shape[0], int(cy + reach) + 1)
    left, right = max(0, int(cx - reach)), min(shape[1], int(cx + reach) + 1)
    if top >= bottom or left >= right:
        return None
    return slice(top, bottom), slice(left, right)
