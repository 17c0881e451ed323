"""What is known of a layer's membranes, plane by plane, and as layers (no Qt)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from napari.layers import Layer

from napari_roteq._detail import View, thin_field, view_of
from napari_roteq._images import Area, Index, current_index, empty_result, transform_of
from napari_roteq._layers import (
    METADATA,
    LayerData,
    axis_layer,
    cells_layer,
    find_layer,
    probability_layer,
    tag,
    update_or_add,
)
from napari_roteq._recipes import Recipe
from napari_roteq._segment.recipe import make_recipe
from napari_roteq._segment.source import Work, path_of
from napari_roteq._session import ModelChoice
from roteq_core.config import SegmentOptions
from roteq_core.jobs import Report
from roteq_core.membranes.cells import CellCutter
from roteq_core.membranes.fill import outside_of
from roteq_core.membranes.linking import iter_link_slices

# What does not change the maps, or may change afterwards.
_IRRELEVANT: dict[str, Any] = {"threshold": 0.5, "device": "auto", "tile": 1024}
_CUTTERS = 4  # planes whose cells can be cut again at once
_GATE = 0.4  # fainter directions are not drawn: there is hardly a membrane


class Results:
    """The maps of one layer, as far as they have come, and how they were made.

    A slice or the whole stack share one set of maps, as large as the layer; an area has
    maps of its own.

    Parameters
    ----------
    layer : Layer
        The source.
    work : Work
        What is segmented.
    options : SegmentOptions
        How.
    model : ModelChoice
        With which model.
    """

    def __init__(
        self, layer: Any, work: Work, options: SegmentOptions, model: ModelChoice
    ) -> None:
        self.layer = layer
        self.work = work
        self.options = options
        self.model = model
        self.done: set[Index] = set()
        self.is_area = work.source.area is not None
        lead = work.source.planes.shape[:-2]
        self._lead = (1,) * len(lead) if self.is_area else lead
        self.probability = self._empty(np.float32)
        self.cells: Any = None
        self.field: Any = None
        self.is_linked = False
        self.cut_at: dict[Index, float] = {}
        self._cutters: dict[Index, CellCutter] = {}

    def _empty(self, dtype: Any, *inner: int) -> Any:
        return empty_result((*self._lead, *inner, *self.work.source.shape), dtype)

    def fits(
        self, layer: Any, work: Work, options: SegmentOptions, model: ModelChoice
    ) -> bool:
        """Whether further planes belong into these maps: made in the same way."""
        planes, wanted = self.work.source.planes, work.source.planes
        return (
            self.layer is layer
            and planes.array is wanted.array
            and self.model == model
            and replace(self.options, **_IRRELEVANT) == replace(options, **_IRRELEVANT)
            and not self.is_area
            and work.source.area is None
        )

    def go_on(self, work: Work, options: SegmentOptions) -> None:
        """Note what is done next; the recipe tells it."""
        self.work, self.options = work, options

    @property
    def recipe(self) -> Recipe:
        """What made the maps."""
        return make_recipe(path_of(self.layer), self.work, self.options, self.model)

    def put(self, index: Index, maps: Mapping[str, np.ndarray], at: float) -> None:
        """Keep the maps of a finished plane, whose cells were cut at a threshold."""
        place = self.place(index)
        self._cutters.pop(index, None)
        self.probability[(*place, ...)] = maps["probability"]
        if "cells" in maps:
            self.put_cells(index, maps["cells"], at)
        if "angle" in maps:
            if self.field is None:
                self.field = self._empty(np.float32, 2)
            self.field[(*place, ...)] = _axial_field(maps)
        self.done.add(index)

    def put_cells(self, index: Index, cells: np.ndarray, at: float) -> None:
        """Keep the cells of a plane, cut at a threshold."""
        if self.cells is None:
            self.cells = self._empty(np.int32)
        if self.is_linked:  # the others carry numbers of another cut
            self.cut_at.clear()
            self.is_linked = False
        self.cells[(*self.place(index), ...)] = cells
        self.cut_at[index] = at

    def cut(self, index: Index, threshold: float) -> np.ndarray:
        """Cut the cells of a plane anew: slow at first, then quick; for a thread."""
        cutter = self._cutters.pop(index, None)
        if cutter is None:
            probability = self.read_probability(index)
            cutter = CellCutter(probability, outside=outside_of(probability))
        self._cutters[index] = cutter  # the last one used comes last
        while len(self._cutters) > _CUTTERS:
            del self._cutters[next(iter(self._cutters))]
        return cutter.labels(threshold)

    def stale(self, threshold: float) -> list[Index]:
        """Give the planes whose cells were cut at another threshold."""
        if self.cells is None:
            return []
        return sorted(i for i in self.done if self.cut_at.get(i) != threshold)

    def place(self, index: Index) -> Index:
        """Say where a plane lies in the maps."""
        return (0,) * len(index) if self.is_area else index

    def read_probability(self, index: Any) -> np.ndarray:
        """Give the probability (H, W) of a finished plane."""
        return np.asarray(self.probability[self.place(index)])

    def show(self, viewer: Any, *, add: bool = True) -> None:
        """Refresh the layers that are there and, if asked, add those that are not."""
        for role, array, make in (
            ("membranes", self.probability, probability_layer),
            ("cells", self.cells, cells_layer),
        ):
            if array is None:
                continue
            metadata = self._tag(role)
            old = find_layer(viewer, metadata[METADATA]["key"])
            if old is not None and old.data is array:
                old.metadata = {**old.metadata, **metadata}
                old.refresh()
                continue
            if old is not None or add:
                options = {"metadata": metadata, **self._place_in_world()}
                _put_in(viewer, make(array, name=self._name(role), **options))

    def show_direction(self, viewer: Any, limit: int, *, add: bool = True) -> None:
        """Draw the direction of the membranes in view, at most `limit` lines."""
        index = self.index_in_view(viewer)
        view = self._view(viewer)
        metadata = self._tag("direction")
        is_there = find_layer(viewer, metadata[METADATA]["key"]) is not None
        if self.field is None or index not in self.done or view is None:
            return
        if not (is_there or add):  # somebody took it away
            return
        field = self.field[self.place(index)]
        thinned = thin_field(field, view, limit=limit, gate=_GATE)
        options = self._place_in_world() | {
            "metadata": metadata,
            "strongest": 1.0,
            "index": self.place(index),
        }
        layer_data = axis_layer(thinned, name=self._name("direction"), **options)
        layer = _put_in(viewer, layer_data)
        layer.edge_width = layer_data[1]["edge_width"]  # follows the zoom

    def index_in_view(self, viewer: Any) -> Index:
        """Give the index of the plane in view."""
        return current_index(viewer, self.layer, self.work.source.planes)

    def _view(self, viewer: Any) -> View | None:
        """Give what the canvas shows of the maps; None if that is nothing."""
        source = self.work.source
        try:
            view = view_of(viewer, self.layer, source.planes)
        except ValueError:
            return None
        if not self.is_area:
            return view
        assert source.area is not None
        shown = _within(view.area, source.area)
        return None if shown is None else View(shown, view.zoom)

    def iter_link(self) -> Iterator[Report]:
        """Give a cell the same number in every slice; a job for a thread."""
        indices = list(np.ndindex(self._lead))
        raw = (np.asarray(self.cells[index]) for index in indices)
        linked = iter_link_slices(raw, depth=self._depth)
        for count, plane in enumerate(linked):
            self.cells[(*indices[count], ...)] = plane
            yield Report(count + 1, len(indices), "linking cells through the stack")
        self.is_linked = True

    @property
    def _depth(self) -> int | None:
        """Slices of each time point; None where all planes are one stack."""
        return self._lead[-1] if len(self._lead) > 1 and self._lead[-1] > 1 else None

    @property
    def can_link(self) -> bool:
        """Whether every plane of a stack has cells that are not linked yet."""
        is_whole = len(self.done) == int(np.prod(self._lead)) > 1
        return is_whole and self.cells is not None and not self.is_linked

    def _role(self, role: str) -> str:
        return f"{role} in view" if self.is_area else role

    def _name(self, role: str) -> str:
        return f"{self.layer.name} {self._role(role)}"

    def _tag(self, role: str) -> dict[str, Any]:
        return tag(self._role(role), self.layer, self.recipe.as_dict())

    def _place_in_world(self) -> dict[str, Any]:
        source = self.work.source
        index = self.work.focus if self.is_area else None
        step = source.planes.step
        return transform_of(self.layer, area=source.area, index=index, step=step)


def _put_in(viewer: Any, layer_data: LayerData) -> Layer:
    """Add or update a layer; the layer that was selected stays so."""
    selected = viewer.layers.selection.active
    layer = update_or_add(viewer, layer_data)
    if selected is not None and selected in viewer.layers:
        viewer.layers.selection.active = selected
    return layer


def _axial_field(maps: Mapping[str, np.ndarray]) -> np.ndarray:
    """Give directions as (2, H, W): u, v, as long as there is a membrane there."""
    strength = maps["strength"].clip(0, 1) * np.sqrt(maps["probability"])
    angle = maps["angle"]
    return np.stack([strength * np.cos(angle), strength * np.sin(angle)])


def _within(shown: Area, part: Area) -> Area | None:
    """Give what is shown of a part, counted from the part's corner."""
    top, left = max(shown.top, part.top), max(shown.left, part.left)
    bottom, right = min(shown.bottom, part.bottom), min(shown.right, part.right)
    if top >= bottom or left >= right:
        return None
    return Area(top - part.top, left - part.left, bottom - part.top, right - part.left)
