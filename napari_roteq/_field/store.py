"""The fields of a layer's filters, plane by plane, in memory or in Zarr (no Qt)."""

from __future__ import annotations

from typing import Any

import numpy as np

from napari_roteq._images import Index, empty_result
from roteq_core.fields.layers import FieldLayer
from roteq_core.fields.placed import LayerField

_AT_ONCE = 2**26  # bytes of a plane up to which all filters are computed together
_STRONG = 99.5  # percent of the vectors are not longer than what is called strong
_LOOKED_AT = 2**20  # vectors examined for that


class FieldStore:
    """What is known of the fields of one layer of a network.

    Parameters
    ----------
    lead : tuple of int
        Axes of the image before rows and columns.
    layer : FieldLayer
        Of the network.
    """

    def __init__(self, lead: tuple[int, ...], layer: FieldLayer) -> None:
        self._lead = lead
        self._layer = layer
        self._array: Any = None
        self._strong: dict[tuple[Index, int], float] = {}
        self.first = self.step = (1.0, 1.0)

    def wanted(self, shape: tuple[int, int], chosen: int) -> tuple[int, ...]:
        """Say which filters to compute of an image of this shape: all if they fit."""
        height, width = shape
        vectors = self._layer.filters * height * width / self._layer.stride**2
        return (
            tuple(range(self._layer.filters)) if 8 * vectors <= _AT_ONCE else (chosen,)
        )

    def put(self, place: Index, found: LayerField) -> None:
        """Keep the fields of a plane; slow where they go to disk, for a thread."""
        if self._array is None:
            shape = (*self._lead, self._layer.filters, *found.field.shape[1:])
            self._array = empty_result(shape, np.float32)
            self.first, self.step = found.first, found.step
        for field, number in zip(found.field, found.filters, strict=True):
            self._array[(*place, number, Ellipsis)] = field
            self._strong[place, number] = strong_length(field)

    def has(self, place: Index, number: int) -> bool:
        """Whether the field of a filter is known in a plane."""
        return (place, number) in self._strong

    def field(self, place: Index, number: int) -> LazyField:
        """Give the field (2, h, w) of a filter in a plane, read where needed."""
        return LazyField(self._array, (*place, number))

    def strong(self, place: Index, number: int) -> float:
        """Give the length that hardly any vector of the field exceeds."""
        return self._strong[place, number]


class LazyField:
    """A field (2, h, w) within a larger array, which may lie on disk."""

    def __init__(self, array: Any, place: Index) -> None:
        self._array = array
        self._place = place
        self.shape = tuple(int(size) for size in array.shape[len(place) :])

    def __getitem__(self, key: Any) -> np.ndarray:
        inner = key if isinstance(key, tuple) else (key,)
        return np.asarray(self._array[(*self._place, *inner)])


def strong_length(field: np.ndarray) -> float:
    """Give the length that hardly any vector of a field (2, h, w) exceeds, or 1."""
    stride = 1
    while field[0].size > _LOOKED_AT * stride**2:
        stride += 1
    u, v = field[:, ::stride, ::stride]
    lengths = np.hypot(u, v)
    lengths = lengths[np.isfinite(lengths) & (lengths > 0)]
    return float(np.percentile(lengths, _STRONG)) if lengths.size else 1.0
