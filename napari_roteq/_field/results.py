"""The vector field of a layer's filter: what is known of it, and as a layer (no Qt)."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import Any, Literal

import numpy as np
from napari.layers import Layer

from napari_roteq._detail import CLOSEST, Thinned, View, thin_field, view_of
from napari_roteq._field.recipe import make_recipe
from napari_roteq._field.store import FieldStore
from napari_roteq._images import Area, Index, current_index, transform_of
from napari_roteq._layers import LayerData, field_layer, find_layer, tag
from napari_roteq._recipes import Recipe
from napari_roteq._segment.source import Work, path_of
from napari_roteq._session import ModelChoice
from napari_roteq._vector_drawing import draw_vectors
from roteq_core.config import FieldOptions
from roteq_core.fields.layers import FieldLayer
from roteq_core.fields.placed import LayerField, vectors_within

ROLE = "vector field"
_WIDER = 1.4  # than usual: fields are drawn over busy images


@dataclass(frozen=True)
class FieldStyle:
    """How a field is drawn.

    Parameters
    ----------
    spacing : float
        Screen pixels between arrows, at least.
    length : float
        Of a strong arrow, over the space between arrows.
    gate : float
        Arrows weaker than this share of a strong one are left out.
    color_by : "direction" or "strength"
        What the colors say.
    """

    spacing: float = CLOSEST
    length: float = 1.5
    gate: float = 0.2
    color_by: Literal["direction", "strength"] = "direction"


@dataclass(frozen=True)
class Drawing:
    """What to draw: the vectors of a filter in a plane, as the view shows them."""

    thinned: Thinned
    index: Index
    strong: float
    style: FieldStyle
    number: int


class FieldResults:
    """The fields of one layer of a network on an image, as far as they have come.

    Parameters
    ----------
    image : Image
        The source.
    work : Work
        Which plane, and which part of it.
    options : FieldOptions
        How.
    model : ModelChoice
        With which model.
    layer : FieldLayer
        Which layer of its network.
    """

    def __init__(
        self,
        image: Any,
        work: Work,
        options: FieldOptions,
        model: ModelChoice,
        layer: FieldLayer,
    ) -> None:
        self.image = image
        self.work = work
        self.options = options
        self.model = model
        self.layer = layer
        self.is_area = work.source.area is not None
        lead = work.source.planes.shape[:-2]
        self.store = FieldStore((1,) * len(lead) if self.is_area else lead, layer)

    def fits(
        self, image: Any, work: Work, options: FieldOptions, model: ModelChoice
    ) -> bool:
        """Whether further planes belong to these: made in the same way."""
        planes, wanted = self.work.source.planes, work.source.planes
        return (
            self.image is image
            and planes.array is wanted.array
            and self.model == model
            and self.options == options
            and self.work.source.area == work.source.area
            and (not self.is_area or self.work.focus == work.focus)
        )

    def place(self, index: Index) -> Index:
        """Say where a plane lies in the store."""
        return (0,) * len(index) if self.is_area else index

    def has(self, index: Index, number: int) -> bool:
        """Whether the field of a filter is known in a plane."""
        if self.is_area and index != self.work.focus:
            return False
        return self.store.has(self.place(index), number)

    def put(self, index: Index, found: LayerField) -> None:
        """Keep the fields of a plane; for a thread."""
        self.store.put(self.place(index), found)

    def index_in_view(self, viewer: Any) -> Index:
        """Give the index of the plane in view."""
        return current_index(viewer, self.image, self.work.source.planes)

    def view(self, viewer: Any) -> View | None:
        """Give what the canvas shows of the part; None if that is nothing."""
        source = self.work.source
        try:
            view = view_of(viewer, self.image, source.planes)
        except ValueError:
            return None
        corner = source.area or Area(0, 0, *source.shape)
        shown = Area(
            view.area.top - corner.top,
            view.area.left - corner.left,
            view.area.bottom - corner.top,
            view.area.right - corner.left,
        )
        return View(shown, view.zoom)

    def choose(
        self, index: Index, number: int, view: View, style: FieldStyle, limit: int
    ) -> Drawing:
        """Choose the arrows of a known field to draw in a view; for a thread."""
        place = self.place(index)
        field, strong = (
            self.store.field(place, number),
            self.store.strong(place, number),
        )
        first, step = np.array(self.store.first), np.array(self.store.step)
        start, stop = vectors_within(
            astuple(view.area), self.store.first, self.store.step, field.shape[1:]
        )
        if not (start < stop).all():
            thinned = Thinned(np.zeros((0, 2)), np.zeros((0, 2)), float(step.mean()))
        else:
            thinned = thin_field(
                field,
                View(
                    Area(*start.tolist(), *stop.tolist()),
                    view.zoom * float(step.mean()),
                ),
                limit=limit,
                gate=style.gate * strong,
                closest=style.spacing,
            )
        moved = Thinned(
            first + step * thinned.positions,
            _no_longer(thinned.vectors, strong),
            thinned.spacing * float(step.mean()),
        )
        return Drawing(moved, index, strong, style, number)

    def show(self, viewer: Any, drawing: Drawing, *, add: bool = True) -> Layer | None:
        """Draw into the layer of an earlier run, or a new one if asked.

        Zoom and style change width, length and colors; what else the user has set on
        the layer stays.
        """
        layer_data = self._layer_data(drawing)
        (about,) = layer_data[1]["metadata"].values()
        is_there = find_layer(viewer, about["key"]) is not None
        if not (is_there or add) or self.image not in viewer.layers:
            return None
        selected = viewer.layers.selection.active
        layer = draw_vectors(viewer, layer_data)
        if selected is not None and selected in viewer.layers:
            viewer.layers.selection.active = selected
        return layer

    def _layer_data(self, drawing: Drawing) -> LayerData:
        source, style = self.work.source, drawing.style
        recipe = self.recipe(drawing.number, drawing.index).as_dict()
        lines, keywords, kind = field_layer(
            drawing.thinned,
            name=f"{self.image.name} {ROLE}",
            index=self.place(drawing.index),
            color_by=style.color_by,
            strongest=drawing.strong,
            metadata=tag(ROLE, self.image, recipe),
            length=style.length,
            **transform_of(
                self.image,
                area=source.area,
                index=self.work.focus if self.is_area else None,
                step=source.planes.step,
            ),
        )
        keywords["edge_width"] *= _WIDER
        return lines, keywords, kind

    def recipe(self, number: int, index: Index) -> Recipe:
        """What made the field of a filter in a plane."""
        work = replace(self.work, focus=index)
        path = path_of(self.image)
        return make_recipe(path, work, self.options, self.model, number)


def _no_longer(vectors: np.ndarray, limit: float) -> np.ndarray:
    """Shorten vectors (N, 2) that are longer than a limit."""
    lengths = np.hypot(vectors[:, 0], vectors[:, 1])
    factors = limit / np.maximum(lengths, limit)
    return vectors * factors[:, None]
