"""Keep things from standing inside each other."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw

from roteq_core.synthetic.mesh import Pose

_CELLS = 2.0  # cells per meter


class Taken:
    """A coarse map of the ground that is already used."""

    def __init__(self, width: float, height: float, margin: float = 20.0) -> None:
        size = (int((width + 2 * margin) * _CELLS), int((height + 2 * margin) * _CELLS))
        self._margin = margin
        self._map = Image.new("L", size, 0)
        self._draw = ImageDraw.Draw(self._map)

    def mark(self, points: np.ndarray) -> None:
        """Use the inside of a polygon (n, 2), in meters."""
        cells = ((points + self._margin) * _CELLS).clip(-30000, 30000)
        self._draw.polygon(cells.ravel().tolist(), fill=1, outline=1)

    def is_free(self, points: np.ndarray) -> bool:
        """Whether none of the points (n, 2) is used; outside nothing is free."""
        cells = ((points + self._margin) * _CELLS).astype(int)
        columns, rows = self._map.size
        inside = (cells >= 0).all(axis=1) & (cells < (columns, rows)).all(axis=1)
        if not inside.all():
            return False
        return not np.asarray(self._map)[cells[:, 1], cells[:, 0]].any()


class Parked:
    """Vehicles as rows of disks, to test whether a new one would touch another."""

    def __init__(self, gap: float = 0.25) -> None:
        self._gap = gap
        self._disks = np.empty((0, 3))

    def add(self, pose: Pose, length: float, width: float) -> bool:
        """Add a vehicle where there is room; say whether there was."""
        disks = _disks(pose, length, width)
        if len(self._disks):
            apart = np.hypot(
                disks[:, None, 0] - self._disks[:, 0],
                disks[:, None, 1] - self._disks[:, 1],
            )
            if (apart < disks[:, None, 2] + self._disks[:, 2] + self._gap).any():
                return False
        self._disks = np.concatenate([self._disks, disks])
        return True


def _disks(pose: Pose, length: float, width: float) -> np.ndarray:
    count = max(2, int(np.ceil(length / width)) + 1)
    radius = width / 2
    at = np.linspace(-length / 2 + radius, length / 2 - radius, count)
    points = pose.place(np.stack([at, 0 * at, 0 * at], axis=1))
    return np.column_stack([points[:, :2], np.full(count, radius)])
