"""Fields with the places of their vectors in an image. No torch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from roteq_core.areas import Area


@dataclass(frozen=True)
class LayerField:
    """The fields that filters of a layer make of a plane, and where they lie.

    Parameters
    ----------
    field : float32 array of shape (F, 2, h, w)
        u (right) and v (down) of each filter.
    filters : tuple of int
        Which filters of the layer these are.
    first, step : (float, float)
        Row and column of the first vector in pixels of the plane, and pixels between
        neighbors.
    """

    field: np.ndarray
    filters: tuple[int, ...]
    first: tuple[float, float]
    step: tuple[float, float]

    def within(self, area: Area) -> LayerField:
        """Keep the vectors that lie in an area of the plane, and place them in it."""
        start, stop = vectors_within(area, self.first, self.step, self.field.shape[2:])
        if not (start < stop).all():
            rows, columns = self.step
            raise ValueError(
                f"the area must hold a vector: they lie {rows:g} × {columns:g} pixels "
                f"apart, and none in {area}"
            )
        kept = self.field[:, :, start[0] : stop[0], start[1] : stop[1]]
        first = np.array(self.first) + start * self.step - area[:2]
        row, column = first.tolist()
        return replace(self, field=np.ascontiguousarray(kept), first=(row, column))


def vectors_within(
    area: Area,
    first: tuple[float, float],
    step: tuple[float, float],
    shape: tuple[int, ...],
) -> tuple[np.ndarray, np.ndarray]:
    """Say which vectors lie in an area of pixels.

    Parameters
    ----------
    area : (int, int, int, int)
        In pixels of the plane.
    first, step : (float, float)
        See `LayerField`.
    shape : (int, int)
        Rows and columns of vectors.

    Returns
    -------
    start, stop : int arrays of shape (2,)
        Row and column of the first one, and after the last one; without one, some
        start is no less than its stop.
    """
    low, high = np.array(area[:2]) - 0.5, np.array(area[2:]) - 0.5
    start = np.maximum(np.ceil((low - first) / step), 0).astype(int)
    stop = np.minimum(np.floor((high - first) / step) + 1, shape).astype(int)
    return start, stop
