"""The vehicles and road paint of a style."""

from __future__ import annotations

import numpy as np

from roteq_core.synthetic.bodies import OTHER_KINDS, random_kind
from roteq_core.synthetic.styles import AerialStyle
from roteq_core.synthetic.traffic import Vehicle, random_vehicle, stock_vehicle

WHITE, YELLOW = np.array([0.92, 0.92, 0.9]), np.array([0.88, 0.68, 0.2])
_STOCK = 20  # vehicles of each kind


def fleet_vehicle(
    rng: np.random.Generator,
    style: AerialStyle,
    *,
    lit: bool = False,
    others: bool = True,
    stock: bool = False,
    glare: bool = False,
) -> Vehicle:
    """Draw a vehicle of a style's fleet.

    Parameters
    ----------
    rng : numpy Generator
        Where chance comes from.
    style : AerialStyle
        Gives the kinds and the snow.
    lit : bool
        Its lights are on.
    others : bool
        Vehicles that are no cars are drawn too.
    stock : bool
        Take one of a fixed stock, which is faster, unless it is lit or under snow.
    glare : bool
        The sun shines back from its windscreen.
    """
    kind = random_kind(rng, style.kinds)
    if others and rng.random() < style.others:
        kind = OTHER_KINDS[int(rng.integers(len(OTHER_KINDS)))]
    snow = style.snow * rng.random() if rng.random() < 0.5 else 0.0
    if stock and not lit and not snow and not glare:
        return stock_vehicle(kind, int(rng.integers(_STOCK)))
    return random_vehicle(rng, kind, lights_on=lit, snow=snow, glare=glare)


def marking_color(rng: np.random.Generator, style: AerialStyle) -> np.ndarray:
    """Draw the color of a line in a style."""
    yellow = style.marking == "yellow" or (
        style.marking == "mixed" and rng.random() < 0.4
    )
    return (YELLOW if yellow else WHITE) * rng.uniform(0.85, 1.0)
