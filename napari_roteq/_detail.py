"""Level of detail: which vectors of a large field to draw in a view (no Qt)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_roteq._images import Area, Planes, visible_area

LIMIT = 10_000  # vectors that napari redraws well
CLOSEST = 12.0  # screen pixels between neighbors, or arrows run into each other
_LOOKED_AT = 4_000_000  # pixels examined at most; wider views are sampled first


@dataclass(frozen=True)
class View:
    """What the canvas shows of a plane.

    Parameters
    ----------
    area : Area
        The part in view, in pixels of the plane.
    zoom : float
        Screen pixels for each pixel of the plane.
    """

    area: Area
    zoom: float = 1.0


@dataclass(frozen=True)
class Thinned:
    """The vectors chosen from a field.

    Parameters
    ----------
    positions : array of shape (N, 2)
        Row and column of the pixels.
    vectors : array of shape (N, 2)
        u (right) and v (down) there.
    spacing : float
        Pixels between neighbors.
    """

    positions: np.ndarray
    vectors: np.ndarray
    spacing: float

    @property
    def strength(self) -> np.ndarray:
        """Lengths of the vectors, (N,)."""
        strength: np.ndarray = np.hypot(self.vectors[:, 0], self.vectors[:, 1])
        return strength


def view_of(viewer: Any, layer: Any, planes: Planes) -> View:
    """Give the view that the canvas has of the planes of a layer."""
    scene = viewer.scene if hasattr(viewer, "scene") else viewer  # napari < 0.9
    size = float(np.mean(np.abs(layer.scale[-2:])) * np.mean(planes.step[-2:]))
    return View(visible_area(viewer, layer, planes), float(scene.camera.zoom) * size)


def thin_field(
    field: Any,
    view: View | None = None,
    *,
    limit: int = LIMIT,
    gate: float = 0.0,
    closest: float = CLOSEST,
) -> Thinned:
    """Choose at most `limit` vectors of a field, spread evenly over the view.

    The view is divided into squares; each gives its strongest vector, so that thin
    structures survive. The side of the squares is a power of two and they are counted
    from the corner of the image: panning and zooming do not make vectors jump.

    Parameters
    ----------
    field : array-like of shape (2, H, W)
        u and v; may be lazy, only the view is read.
    view : View, optional
        The whole field, one screen pixel for a pixel, by default.
    limit : int
        The most vectors to give.
    gate : float
        Vectors that are not longer than this are left out; zero vectors always are.
    closest : float
        Screen pixels that neighbors are apart, at least.

    Returns
    -------
    Thinned
    """
    if view is None:
        view = View(Area(0, 0, *field.shape[-2:]))
    spacing = _spacing(view, limit, closest)
    stride = _stride(view.area, spacing)
    top, left = (
        stride * -(-start // stride) for start in (view.area.top, view.area.left)
    )
    rows = slice(top, view.area.bottom, stride)
    columns = slice(left, view.area.right, stride)
    part = np.asarray(field[:, rows, columns], dtype=np.float32)
    row, column = _strongest(part, spacing // stride, top // stride, left // stride)
    vectors = part[:, row, column].T
    positions = np.stack([top + stride * row, left + stride * column], axis=-1)
    keep = np.hypot(vectors[:, 0], vectors[:, 1]) > gate
    return Thinned(positions[keep], vectors[keep], spacing)


def _spacing(view: View, limit: int, closest: float) -> int:
    """Find the smallest power of two that is neither too many nor too close."""
    spacing = 1
    while spacing * view.zoom < closest or _squares(view.area, spacing) > limit:
        if spacing > max(view.area.shape):
            break
        spacing *= 2
    return spacing


def _squares(area: Area, spacing: int) -> int:
    rows = -(-area.bottom // spacing) - area.top // spacing
    columns = -(-area.right // spacing) - area.left // spacing
    return rows * columns


def _stride(area: Area, spacing: int) -> int:
    """Say how many pixels to skip so that reading a wide view stays quick."""
    stride = 1
    while area.shape[0] * area.shape[1] > _LOOKED_AT * stride**2 and stride < spacing:
        stride *= 2
    return stride


def _strongest(
    part: np.ndarray, side: int, top: int, left: int
) -> tuple[np.ndarray, np.ndarray]:
    """Give row and column of the longest vector in each square of a grid.

    Parameters
    ----------
    part : array of shape (2, H, W)
        Part of a field, whose first pixel is (`top`, `left`) of the grid.
    side : int
        Pixels along a square.
    top, left : int
        Where the part lies.
    """
    height, width = part.shape[1:]
    before = (top % side, left % side)
    after = (-(height + before[0]) % side, -(width + before[1]) % side)
    strength = np.hypot(part[0], part[1])
    edges = ((before[0], after[0]), (before[1], after[1]))
    padded = np.pad(strength, edges, constant_values=-1.0)
    rows, columns = padded.shape[0] // side, padded.shape[1] // side
    squares = padded.reshape(rows, side, columns, side).swapaxes(1, 2)
    best = squares.reshape(rows, columns, side * side).argmax(axis=-1)
    row = np.arange(rows)[:, None] * side + best // side - before[0]
    column = np.arange(columns)[None, :] * side + best % side - before[1]
    return row.ravel(), column.ravel()
