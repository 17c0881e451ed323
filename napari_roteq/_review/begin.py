"""Begin, resume and end a review: files, layers, what is hidden meanwhile (no Qt)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from napari.layers import Layer

from napari_roteq._car_shapes import TABLE, table_layer
from napari_roteq._errors import JobError
from napari_roteq._headings.cars import ARROWS, BOXES
from napari_roteq._layers import METADATA, refill
from napari_roteq._review.frame import Frame
from napari_roteq._review.queue import ReviewQueue
from napari_roteq._review.recent import image_of
from napari_roteq._review.recovery import Unfinished, discard_unfinished
from napari_roteq._review.sources import (
    cars_of_boxes,
    mark_file,
    reading_options,
    table_file,
    take_over_boxes,
)
from roteq_core.tables import CarTable, read_cars


def begin(
    path: Path, boxes: Layer | None, frame: Frame | None, reviewer: str
) -> ReviewQueue:
    """Open a table for review, or write the boxes of a layer to a new one first.

    Parameters
    ----------
    path : Path
        Of the table.
    boxes : Shapes, optional
        Needed where there is no such file yet. If they were read from that file, what
        was done to them since is taken over.
    frame : Frame, optional
        The image.
    reviewer : str
        Goes into the cars one touches.
    """
    if path.is_file():
        queue = ReviewQueue.open(path, reviewer=reviewer, **reading_options(frame))
        if boxes is not None and is_of(boxes, path):
            take_over_boxes(queue, boxes)
        return queue
    if boxes is None or frame is None:
        raise JobError("There is no such table: choose boxes to review, or open one.")
    image = frame.layer if frame.has_pixels else None
    table = cars_of_boxes(boxes, image, frame.index)
    if not len(table):
        raise JobError("There are no boxes in the layer: draw some, or find cars.")
    known = boxes.metadata.get(TABLE, CarTable())
    table = known.with_cars(table.cars)
    return ReviewQueue.start(table, path, reviewer=reviewer)


def is_of(boxes: Layer | None, path: Path) -> bool:
    """Whether boxes are those of a table, or of one that is still to be written."""
    own = table_file(boxes)
    return not path.is_file() or (own is not None and own.resolve() == path.resolve())


def recover(unfinished: Unfinished, frame: Frame | None, reviewer: str) -> ReviewQueue:
    """Go on with a review that was not saved; by its reviewer, if none is named."""
    return ReviewQueue.recover(
        unfinished.table,
        reviewer=reviewer or unfinished.reviewer,
        replay_changed=unfinished.is_table_changed,
        **reading_options(frame),
    )


def discard(unfinished: Unfinished) -> str:
    """Set an unfinished review aside, and say where it is."""
    aside = discard_unfinished(unfinished.table, datetime.now(UTC).isoformat())
    where = "" if aside is None else f" It is kept as {aside.name}."
    return f"The review of {unfinished.table.name} was set aside.{where}"


def frame_for(viewer: Any, frame: Frame | None, table: Path) -> Frame:
    """Give a frame for a table: the one there is, its image, or its own boxes."""
    if frame is not None and frame.has_pixels:
        return frame
    image = image_of(table)
    if image is not None:
        (layer, *_) = viewer.open(image)
        return Frame(layer, (0,) * (layer.ndim - 2))
    if frame is not None:
        return frame
    cars = read_cars(table)
    layer = viewer.add_layer(Layer.create(*table_layer(cars, name=table.stem)))
    return Frame(layer)


def boxes_to_hide(viewer: Any, boxes: Layer | None) -> list[Layer]:
    """Give the visible layers that show the same cars."""
    return [
        layer
        for layer in viewer.layers
        if layer.visible
        and (
            layer is boxes
            or TABLE in layer.metadata
            or layer.metadata.get(METADATA, {}).get("role") in (BOXES, ARROWS)
        )
    ]


def write_back(boxes: Any, queue: ReviewQueue, frame: Frame) -> None:
    """Bring the layer that the cars came from up to date."""
    if boxes.ndim != frame.layer.ndim or queue.path is None:
        return
    if queue.can_undo or TABLE not in boxes.metadata:
        content, keywords, kind = table_layer(
            queue.table, name=boxes.name, index=frame.index, **frame.options()
        )
        refill(boxes, Layer.create(content, keywords, kind))
    mark_file(boxes, queue.path)
