"""What napari's own tools did to the box of a review, as an edit (no Qt)."""

from __future__ import annotations

import numpy as np

from napari_roteq._review.edits import Edit
from napari_roteq._review.queue import ReviewQueue
from roteq_core.angles import difference
from roteq_core.tables import car_from_corners

_UNTURNED = 1e-3  # degrees


def take_box(queue: ReviewQueue, car_id: str, corners: np.ndarray) -> Edit | None:
    """Take over a box that was changed by its handles.

    Parameters
    ----------
    queue : ReviewQueue
    car_id : str
        Whose box.
    corners : array of shape (4, 2)
        x, y as they are now.
    """
    car, drawn = queue.car(car_id), car_from_corners(corners)
    heading = drawn.heading_cw_from_up_deg or 0.0
    is_upright = abs(float(difference(heading, 0.0, 360.0))) < _UNTURNED
    if car.drawn_cw_from_up_deg is None and is_upright:
        # It was drawn upright for want of a direction, and only moved.
        return queue.move(drawn.cx - car.cx, drawn.cy - car.cy, car_id)
    return queue.apply_external(car_id, corners)
