"""Go to a car: the camera over it, at a zoom that fits (no Qt)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from napari_roteq._review.frame import Frame
from roteq_core.tables import Car

Follow = Literal["fit", "center", "stay"]
_SPANNED = 6.5  # car lengths across the shorter side of the canvas


def look_at(viewer: Any, frame: Frame, car: Car, follow: Follow, length: float) -> None:
    """Bring a car into view.

    Parameters
    ----------
    viewer : Viewer
    frame : Frame
        Where the car is.
    car : Car
    follow : {"fit", "center", "stay"}
        Center it at a zoom that fits; center it at the zoom there is; or move only if
        it is out of sight.
    length : float
        A usual car's, for those without one.
    """
    place = frame.to_world(car.cx, car.cy)
    for axis in range(len(frame.index)):
        viewer.dims.set_point(axis - len(place), place[axis])
    if follow == "stay" and is_in_view(viewer, frame, car):
        return
    camera = viewer.scene.camera
    camera.center = tuple(place[-2:])
    if follow == "fit":
        camera.zoom = fitting_zoom(viewer, frame, car.length or length)


def fitting_zoom(viewer: Any, frame: Frame, length: float) -> float:
    """Give the zoom at which a car and its surroundings fill the canvas."""
    return min(viewer.canvas.size) / (_SPANNED * length * frame.pixel)


def area_in_view(viewer: Any, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Give the lowest and highest (x, y) of the frame that the canvas shows."""
    camera = viewer.scene.camera
    half = np.asarray(viewer.canvas.size, float) / camera.zoom / 2
    middle = np.asarray(camera.center[-2:], float)
    signs = np.array([(-1, -1), (-1, 1), (1, -1), (1, 1)])
    leading = frame.to_world(0.0, 0.0)[:-2]
    corners = [frame.from_world((*leading, *at)) for at in middle + signs * half]
    return np.min(corners, axis=0), np.max(corners, axis=0)


def is_in_view(viewer: Any, frame: Frame, car: Car) -> bool:
    """Whether the canvas shows the center of a car."""
    low, high = area_in_view(viewer, frame)
    return bool(np.all(low <= (car.cx, car.cy)) and np.all((car.cx, car.cy) <= high))
