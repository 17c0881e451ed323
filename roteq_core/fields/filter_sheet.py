"""Filters at all their orientations, laid out side by side as one image. No torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FilterSheet:
    """A picture of filters: a row for each part of a filter, a column for each angle.

    Parameters
    ----------
    image : float32 array of shape (rows · (k + gap) - gap, R · (k + gap) - gap)
        NaN in the gaps.
    rows : tuple of str
        What each row of pictures shows, such as "filter 1 map 0 u"; of a single filter
        only the map and the part.
    size : int
        Pixels from one picture to the next.
    """

    image: np.ndarray
    rows: tuple[str, ...]
    size: int

    @property
    def largest(self) -> float:
        """The largest absolute weight, or 1 if all are zero."""
        seen = np.abs(self.image[np.isfinite(self.image)])
        return float(seen.max(initial=0.0)) or 1.0


def filter_sheet(
    turned: np.ndarray, only: int | None = None, *, gap: int = 1
) -> FilterSheet:
    """Lay filters out.

    Parameters
    ----------
    turned : array of shape (F, R, C, 1 or 2, k, k)
        As `roteq_core.fields.compute.turned_filters` gives them.
    only : int, optional
        Show this filter only.
    gap : int
        Pixels between pictures.
    """
    if turned.ndim != 6:
        raise ValueError(
            f"filters must have shape (F, R, C, parts, k, k), got {turned.shape}"
        )
    if only is not None and not 0 <= only < len(turned):
        raise ValueError(f"the filter must lie in 0…{len(turned) - 1}, got {only}")
    chosen = range(len(turned)) if only is None else [only]
    orientations, maps, parts, side = turned.shape[1:5]
    names = [
        _name(f if only is None else None, m, p, turned.shape)
        for f in chosen
        for m in range(maps)
        for p in range(parts)
    ]
    step = side + gap
    image = np.full((len(names) * step, orientations * step), np.nan, np.float32)
    # (F, R, C, parts, k, k) → rows of (F, C, parts), columns of R.
    rows = turned[list(chosen)].transpose(0, 2, 3, 1, 4, 5)
    rows = rows.reshape(len(names), orientations, side, side)
    for row, pictures in enumerate(rows):
        for column, picture in enumerate(pictures):
            top, left = row * step, column * step
            image[top : top + side, left : left + side] = picture
    return FilterSheet(image[: -gap or None, : -gap or None], tuple(names), step)


def _name(number: int | None, map_: int, part: int, shape: tuple[int, ...]) -> str:
    """Name a row: the filter, the map that it looks at, and u or v."""
    words = [] if number is None else [f"filter {number}"]
    if shape[2] > 1:
        words.append(f"map {map_}")
    if shape[3] == 2:
        words.append("uv"[part])
    return " ".join(words)
