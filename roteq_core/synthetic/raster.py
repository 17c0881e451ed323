"""Paint vector polygons onto images, four times finer than the pixels.

Coordinates are pixels (x right, y down) with pixel centers at whole numbers. Pillow,
which scikit-image brings along, fills the polygons on a canvas `SUPERSAMPLE` times as
fine; the mean of each block is the pixel. Large images are painted tile by tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from PIL import Image, ImageDraw

SUPERSAMPLE = 4
TILE = 384

Color = tuple[int, ...] | int


class Drawing:
    """Groups of filled polygons, painted in the order they were added."""

    def __init__(self) -> None:
        self._groups: list[tuple[np.ndarray, list[int], list[Color]]] = []

    def __len__(self) -> int:
        return len(self._groups)

    def add(
        self, points: np.ndarray, sizes: Sequence[int], colors: Sequence[Color]
    ) -> None:
        """Add one group.

        Parameters
        ----------
        points : array of shape (P, 2)
            The corners (x, y) of all polygons, one after the other.
        sizes : sequence of F int
            How many corners each polygon has; they sum to P.
        colors : sequence of F colors
            RGB tuples in 0..255, or integers for a mask.
        """
        self._groups.append((points, list(sizes), list(colors)))

    def polygon(self, points: np.ndarray, color: Color) -> None:
        """Add one polygon with corners of shape (P, 2)."""
        self._groups.append((points, [len(points)], [color]))

    def paint(self, image: np.ndarray, *, supersample: int = SUPERSAMPLE) -> np.ndarray:
        """Return a copy of an image (H, W) or (H, W, 3) of uint8, painted over."""
        tiles = list(_tiles(image.shape[0], image.shape[1]))
        if len(tiles) == 1:
            return self._paint_tile(image, *tiles[0], self._groups, supersample)
        bounds = [_bounds(points) for points, _, _ in self._groups]
        painted = image.copy()
        for rows, columns in tiles:
            near = [
                group
                for group, box in zip(self._groups, bounds, strict=True)
                if not _outside(box, rows, columns)
            ]
            painted[rows, columns] = self._paint_tile(
                image, rows, columns, near, supersample
            )
        return painted

    @staticmethod
    def _paint_tile(
        image: np.ndarray,
        rows: slice,
        columns: slice,
        groups: list[tuple[np.ndarray, list[int], list[Color]]],
        fine: int,
    ) -> np.ndarray:
        tile = image[rows, columns]
        if not groups:
            return tile.copy()
        height, width = tile.shape[:2]
        canvas = Image.fromarray(tile).resize(
            (width * fine, height * fine), Image.Resampling.NEAREST
        )
        draw = ImageDraw.Draw(canvas)
        points = np.concatenate([group[0] for group in groups])
        points = (points - (columns.start - 0.5, rows.start - 0.5)) * fine
        flat = points.clip(-3e4, 3e4).ravel().tolist()
        start = 0
        for _, sizes, colors in groups:
            for size, color in zip(sizes, colors, strict=True):
                draw.polygon(flat[start : start + 2 * size], fill=color)
                start += 2 * size
        return np.asarray(canvas.reduce(fine))


def _bounds(points: np.ndarray) -> np.ndarray:
    return np.concatenate([points.min(axis=0), points.max(axis=0)])


def _tiles(height: int, width: int) -> Iterator[tuple[slice, slice]]:
    for top in range(0, height, TILE):
        for left in range(0, width, TILE):
            rows = slice(top, min(top + TILE, height))
            yield rows, slice(left, min(left + TILE, width))


def _outside(bounds: np.ndarray, rows: slice, columns: slice) -> bool:
    left, top, right, bottom = bounds
    return bool(
        right < columns.start - 1
        or left > columns.stop
        or bottom < rows.start - 1
        or top > rows.stop
    )


def convex_hull(points: np.ndarray) -> np.ndarray:
    """Return the corners (K, 2) of the convex hull of points (P, 2)."""
    ordered = sorted(map(tuple, points.tolist()))
    lower = _half_hull(ordered)
    upper = _half_hull(ordered[::-1])
    return np.array(lower[:-1] + upper[:-1])


def _half_hull(points: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
    hull: list[tuple[float, ...]] = []
    for x, y in points:
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2], hull[-1]
            if (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) > 0:
                break
            hull.pop()
        hull.append((x, y))
    return hull


def value_noise(
    rng: np.random.Generator, shape: tuple[int, int], cell: float
) -> np.ndarray:
    """Draw smooth noise of about unit variance and `cell` pixels between its hills.

    Parameters
    ----------
    rng : numpy Generator
        Where chance comes from.
    shape : (int, int)
        Rows and columns.
    cell : float
        Distance of the random grid points, in pixels; at most 1 gives white noise.

    Returns
    -------
    float32 array of shape `shape`
    """
    height, width = shape
    if cell <= 1:
        return rng.standard_normal(shape, dtype=np.float32)
    rows, columns = int(height / cell) + 4, int(width / cell) + 4
    grid = Image.fromarray(rng.standard_normal((rows, columns), dtype=np.float32))
    shift_x, shift_y = rng.uniform(0.5, 1.5, 2)
    box = (shift_x, shift_y, shift_x + width / cell, shift_y + height / cell)
    fine = grid.resize((width, height), Image.Resampling.BICUBIC, box=box)
    return np.asarray(fine, dtype=np.float32) * 1.5
