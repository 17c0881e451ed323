"""Numbers of cars that cannot be pixels, or hardly are. No torch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from roteq_core.cars.sizes import TYPICAL_CAR_M
from roteq_core.config import FindOptions, OrientOptions
from roteq_core.tables import MACHINE, Car

# Shorter cars show next to nothing, and may be meters.
SHORT_PX = 8.0


def check_given_length(
    options: OrientOptions | FindOptions, shape: tuple[int, ...]
) -> None:
    """Refuse options that make cars longer than an image of that shape."""
    kind = type(options).__name__
    length, size = options.car_length_px, options.pixel_size_m
    most = _diagonal(shape)
    if length is not None and length > most:
        raise ValueError(
            f"{kind}.car_length_px must be at most {most:.0f}, the diagonal of the "
            f"image in pixels, got {length:g}"
        )
    if length is None and size is not None and TYPICAL_CAR_M / size > most:
        raise ValueError(
            f"{kind}.pixel_size_m must be at least {TYPICAL_CAR_M / most:.2g}, or a "
            f"car of {TYPICAL_CAR_M} m is longer than the image, got {size:g}"
        )


def check_own_lengths(
    cars: Sequence[Car], shape: tuple[int, ...], own: Sequence[bool], source: str = ""
) -> None:
    """Refuse a car that is longer than its image.

    Parameters
    ----------
    cars : sequence of Car
        All rows of a table.
    shape : (int, ...)
        Rows and columns of the image come first.
    own : sequence of bool
        Which of the rows are of the image.
    source : str
        The name of the table's file, if it has one.
    """
    most = _diagonal(shape)
    for row, (car, here) in enumerate(zip(cars, own, strict=True), 1):
        is_told = here and car.status != MACHINE  # a finder's guess may be any
        if is_told and car.length is not None and car.length > most:
            raise ValueError(
                f"{source}{': ' if source else ''}car {row}: the length must be at "
                f"most {most:.0f}, the diagonal of the image in pixels, got "
                f"{car.length:g}"
            )


def given_notes(options: OrientOptions | FindOptions) -> tuple[str, ...]:
    """Say that a length which was given may be in meters."""
    length = options.car_length_px
    if length is None or length >= SHORT_PX:
        return ()
    return (f"a car length of {length:g} is read as pixels, not as meters",)


def row_notes(cars: Sequence[Car]) -> tuple[str, ...]:
    """Say what may be in other units: fractions of the image, or meters."""
    notes = []
    centers = np.array([(car.cx, car.cy) for car in cars])
    if len(cars) and centers.min() >= 0 and centers.max() <= 1:
        x, y = centers[0]
        notes.append(
            f"all centers lie within 0…1, the first at ({x:g}, {y:g}): they are read "
            "as pixels, not as fractions of the image"
        )
    lengths = [car.length for car in cars if car.length and car.length < SHORT_PX]
    if lengths:
        notes.append(
            f"{len(lengths)} of {len(cars)} cars are shorter than {SHORT_PX:g} px, the "
            f"first {lengths[0]:g}: lengths are read as pixels, not as meters"
        )
    return tuple(notes)


def _diagonal(shape: tuple[int, ...]) -> float:
    return math.hypot(*shape[:2])
