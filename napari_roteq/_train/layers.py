"""What is held out, and what a training predicts there, as layers (no Qt)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from napari_roteq._images import Area, planes_of, transform_of
from napari_roteq._layers import (
    METADATA,
    LayerData,
    arrows_layer,
    find_layer,
    probability_layer,
    tag,
    update_or_add,
)
from roteq_core.angles import heading_from_angle
from roteq_core.cars.examples import CarFrame
from roteq_core.membranes.labelled_stack import LabelledStack

HELD_OUT = "held out"
PREDICTION = "prediction in training"
_STYLE = {
    "shape_type": "rectangle",
    "face_color": [0.95, 0.6, 0.1, 0.12],
    "edge_color": "orange",
    "edge_width": 2,
}


def held_stack_layer(image: Any, stack: LabelledStack) -> LayerData:
    """Mark what is held out of an image layer, as rectangles in its slices."""
    lead = planes_of(image).shape[:-2]
    boxes = []
    for part in stack.held:
        index = np.unravel_index(stack.planes[part.plane], lead) if lead else ()
        boxes.append(_box(index, part.top, part.left, part.bottom, part.right))
    return _held_layer(image, boxes)


def held_frame_layer(image: Any, frames: Sequence[CarFrame]) -> LayerData:
    """Mark what is held out of an image layer with cars."""
    lead = planes_of(image).shape[:-2]
    names = {_frame_name(image, index): index for index in np.ndindex(lead)}
    boxes = [
        _box(names[frame.name], *frame.region)
        for frame in frames
        if frame.region is not None and frame.name in names
    ]
    return _held_layer(image, boxes)


def _frame_name(image: Any, index: tuple[int, ...]) -> str:
    return image.name if not index else f"{image.name} {list(index)}"


def _box(index: Any, top: int, left: int, bottom: int, right: int) -> np.ndarray:
    """Give the corners of pixels [top, bottom) × [left, right) of a plane, (4, D)."""
    low, high = (top - 0.5, left - 0.5), (bottom - 0.5, right - 0.5)
    corners = [low, (low[0], high[1]), high, (high[0], low[1])]
    return np.array([(*index, *corner) for corner in corners], float)


def _held_layer(image: Any, boxes: list[np.ndarray]) -> LayerData:
    options = {
        "name": f"{image.name} {HELD_OUT}",
        "metadata": tag(HELD_OUT, image, {}),
        "ndim": image.ndim,
        **_STYLE,
        **transform_of(image),
    }
    return boxes, options, "shapes"


def prediction_layer(
    image: Any, preview: np.ndarray, plane: int, top: int, left: int
) -> LayerData:
    """Show the probability (H, W) that a network in training gives a held-out part."""
    lead = planes_of(image).shape[:-2]
    index = tuple(int(i) for i in np.unravel_index(plane, lead)) if lead else ()
    area = Area(top, left, top + preview.shape[0], left + preview.shape[1])
    place = transform_of(image, area=area, index=index)
    maps = preview.reshape((1,) * len(lead) + preview.shape)
    return probability_layer(
        maps,
        name=f"{image.name} {PREDICTION}",
        metadata=tag(PREDICTION, image, {}),
        **place,
    )


def loose_prediction_layer(preview: np.ndarray, name: str) -> LayerData:
    """Show a prediction whose image is not open, at the origin."""
    about = {"key": f"{PREDICTION} of {name}", "role": PREDICTION}
    return probability_layer(
        preview, name=f"{name} {PREDICTION}", metadata={METADATA: about}
    )


def headings_layer(
    image: Any, frames: Sequence[CarFrame], angles: np.ndarray
) -> LayerData:
    """Show the headings that a network in training gives held-out cars.

    Parameters
    ----------
    image : Image
    frames : sequence of CarFrame
    angles : array of shape (n,)
        Radians, for the held-out cars of all frames in their order.
    """
    lead = planes_of(image).shape[:-2]
    names = {_frame_name(image, index): index for index in np.ndindex(lead)}
    cars, planes, place = [], [], 0
    for frame in frames:
        for car, is_held in zip(frame.cars, frame.held, strict=True):
            if not is_held:
                continue
            if frame.name in names and place < len(angles):
                cars.append(car.with_heading(float(heading_from_angle(angles[place]))))
                planes.append(names[frame.name])
            place += 1
    lines, keywords, kind = arrows_layer(
        cars,
        name=f"{image.name} {PREDICTION}",
        index=(0,) * len(lead),
        metadata=tag(PREDICTION, image, {}),
        **transform_of(image),
    )
    for line, index in zip(lines, planes, strict=True):
        line[0, : len(lead)] = index
    return lines, keywords, kind


def put(viewer: Any, layer_data: LayerData) -> Any:
    """Add or update a layer; the layer that is being painted stays selected."""
    content, keywords, kind = layer_data
    old = find_layer(viewer, keywords["metadata"][METADATA]["key"])
    if old is not None and kind == "shapes" and _are_same(old.data, content):
        return old  # redrawing shapes is slow
    if old is not None and kind == "image" and _lies_alike(old, content, keywords):
        old.data = content
        return old
    selected = viewer.layers.selection.active
    layer = update_or_add(viewer, layer_data)
    if selected is not None and selected in viewer.layers:
        viewer.layers.selection.active = selected
    return layer


def _are_same(shapes: Any, others: Any) -> bool:
    pairs = zip(shapes, others, strict=False)
    return len(shapes) == len(others) and all(np.array_equal(a, b) for a, b in pairs)


def _lies_alike(layer: Any, content: np.ndarray, keywords: dict[str, Any]) -> bool:
    """Whether new pixels go where those of a layer are."""
    place = keywords.get("translate", layer.translate)
    is_there = np.allclose(layer.translate, place)
    return layer.data.shape == content.shape and is_there


def remove(viewer: Any, image: Any, role: str) -> None:
    """Take a layer of a training away again, if it is there."""
    (about,) = tag(role, image, {}).values()
    layer = find_layer(viewer, about["key"])
    if layer is not None:
        viewer.layers.remove(layer)
