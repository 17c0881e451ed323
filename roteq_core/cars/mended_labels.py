"""Labels of the aerial cars that name the rear instead of the front.

They were found by eye, and by comparing each label with those of cars that pass the
same spot in other frames of the video.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Set

from roteq_core.cars.frames import CarFrames
from roteq_core.tables import Car

WRONG_WAY = {
    ("frame_105.jpg", 707.16, 198.79),
    ("frame_105.jpg", 1261.46, 284.06),
    ("frame_110.jpg", 750.83, 103.61),
    ("frame_110.jpg", 775.22, 254.85),
    ("frame_111.jpg", 1102.34, 290.66),
    ("frame_114.jpg", 744.22, 81.38),
    ("frame_118.jpg", 742.48, 81.51),
    ("frame_119.jpg", 742.68, 80.66),
    ("frame_122.jpg", 747.38, 102.31),
    ("frame_122.jpg", 747.47, 42.06),
}
WRONG_WAY_TESTED = {
    ("frame_137.jpg", 844.83, 183.61),
    ("frame_140.jpg", 1009.65, 286.49),
}


def turned_around(
    frames: CarFrames, wrong: Set[tuple[str, float, float]] = WRONG_WAY
) -> CarFrames:
    """Turn those labels around that name the rear."""
    mended = [[_mended(car, wrong) for car in row] for row in frames.cars]
    return CarFrames(frames.images, mended, frames.doubtful)


def _mended(car: Car, wrong: Set[tuple[str, float, float]]) -> Car:
    if (car.file, car.cx, car.cy) not in wrong:
        return car
    assert car.heading_cw_from_up_deg is not None
    turned = (car.heading_cw_from_up_deg + 180) % 360
    return dataclasses.replace(car, heading_cw_from_up_deg=turned)
