"""How many pixels cars are long, where their rows do not say. No torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from roteq_core.config import OrientOptions
from roteq_core.tables import Car

TYPICAL_CAR_M = 4.5
DEFAULT_LENGTH_PX = 36.0


def car_lengths(cars: Sequence[Car], options: OrientOptions) -> tuple[np.ndarray, str]:
    """Lengths in pixels (n,), and a note if some had to be assumed.

    A car's own length comes first, then the option, then a typical car at the given
    pixel size, then the median of the other cars, then 36 pixels.
    """
    own = np.array([car.length or np.nan for car in cars], float)
    missing = np.isnan(own)
    if not missing.any():
        return own, ""
    if options.car_length_px is not None:
        assumed, why = options.car_length_px, "as given"
    elif options.pixel_size_m is not None:
        assumed, why = TYPICAL_CAR_M / options.pixel_size_m, "from the pixel size"
    elif not missing.all():
        assumed, why = float(np.nanmedian(own)), "the median of the other cars"
    else:
        assumed = DEFAULT_LENGTH_PX
        why = "assumed: give the car length or the pixel size for better headings"
    note = f"{int(missing.sum())} cars without length: {assumed:.1f} px, {why}"
    return np.where(missing, assumed, own), note
