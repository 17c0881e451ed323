"""How far off the heading of a car may be, its front included (no Qt)."""

from __future__ import annotations

import math

from roteq_core.tables import Car


def expected_error_deg(car: Car) -> float:
    """Give the error to be feared: 180° if flipped, else that of a normal distribution.

    NaN where the car does not tell how sure it is; infinity without a heading.
    """
    if car.heading_cw_from_up_deg is None:
        return math.inf
    if car.heading_sd_deg is None and car.p_flip is None:
        return math.nan
    flip = car.p_flip or 0.0
    spread = min(car.heading_sd_deg or 0.0, 180.0) * math.sqrt(2 / math.pi)
    return flip * 180.0 + (1 - flip) * spread
