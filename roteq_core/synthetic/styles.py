"""Styles of aerial images: ground, light, camera and traffic of many places.

A *family* is a range for every setting ("motorway", "winter", …); an `AerialStyle` is
one draw from it. Families can be left out of training to see how a model fares on
places it has not seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from roteq_core.synthetic.families import BASE, FAMILIES


@dataclass(frozen=True)
class AerialStyle:
    """One place, hour and camera.

    Attributes
    ----------
    family : str
        Name of the family it was drawn from.
    road, verge, lot, roof : str
        Materials (see `ground.MATERIALS`) of streets, the land beside them, car parks
        and houses.
    marking : str
        Color of the lines: "white", "yellow", "mixed" or "none".
    layout : str
        What the scene shows: "street", "crossing", "roundabout", "carpark".
    sun_azimuth_deg, sun_elevation_deg : float
        Where the sun stands: clockwise from up in the image, and above the horizon.
    sun : float
        Share of direct light, 0 (overcast) to about 0.7 (hard shadows).
    shadow_blue : float
        How blue the shadows are.
    gloss : float
        Strength of highlights and of the sky in the windows.
    lights : float
        Share of moving cars with lights on.
    snow, dirt, wear : float
        Snow on parked cars, stains of the ground, worn markings; 0..1.
    texture : float
        Factor on the grain of all materials.
    cracks, patches : float
        Cracks and repairs for each 100 square meters of road.
    trees, clutter, houses, others : float
        Densities; `others` is the share of vehicles that are no cars.
    occupancy : float
        Share of lanes and bays that are taken.
    left_traffic : bool
        Cars keep left.
    kinds : mapping of str to float
        Weights of the kinds of cars.
    lean : float
        Uniform tilt of the view, in meters per meter of height.
    lean_direction_deg : float
        Which way high things lean.
    altitude : float
        Height of the camera in meters.
    blur : float
        Gaussian sigma in pixels of the optics.
    resample : float
        The image was taken this many times coarser, and enlarged.
    motion : float
        Motion blur in pixels, at most 1.
    haze, brightness, contrast, gamma, saturation, warmth, tint, vignette : float
        Tone and color.
    sharpen : float
        Strength of the halo of a sharpening filter.
    noise, chroma_noise : float
        Standard deviations, in 0..1.
    jpeg : float
        Quality; above 97 no compression.
    gray : bool
        A panchromatic camera: three equal channels.
    """

    family: str
    road: str
    verge: str
    lot: str
    roof: str
    marking: str
    layout: str
    sun_azimuth_deg: float
    sun_elevation_deg: float
    sun: float
    shadow_blue: float
    gloss: float
    lights: float
    snow: float
    dirt: float
    wear: float
    texture: float
    cracks: float
    patches: float
    trees: float
    clutter: float
    houses: float
    others: float
    occupancy: float
    left_traffic: bool
    kinds: Mapping[str, float]
    lean: float
    lean_direction_deg: float
    altitude: float
    blur: float
    resample: float
    motion: float
    haze: float
    brightness: float
    contrast: float
    gamma: float
    saturation: float
    warmth: float
    tint: float
    vignette: float
    sharpen: float
    noise: float
    chroma_noise: float
    jpeg: float
    gray: bool

    @classmethod
    def random(
        cls,
        rng: np.random.Generator,
        families: str | Sequence[str] | None = None,
        **settings: Any,
    ) -> AerialStyle:
        """Draw a style.

        Parameters
        ----------
        rng : numpy Generator
            Where chance comes from.
        families : str or sequence of str, optional
            The families to draw from, each as likely; all of `FAMILIES` by default.
        **settings
            Fields to set outright, e.g. ``jpeg=100``.
        """
        names = family_names(families)
        name = names[int(rng.integers(len(names)))]
        values: dict[str, Any] = {"family": name}
        chosen = {**BASE, **FAMILIES[name]}
        for entry in fields(cls)[1:]:
            values[entry.name] = _draw(rng, chosen[entry.name])
        return cls(**{**values, **settings})


def family_names(families: str | Sequence[str] | None) -> tuple[str, ...]:
    """Check names of families; None stands for all of them."""
    if families is None:
        return tuple(FAMILIES)
    names = (families,) if isinstance(families, str) else tuple(families)
    unknown = [name for name in names if name not in FAMILIES]
    if unknown or not names:
        raise ValueError(
            f"style must be among {', '.join(FAMILIES)}, got {unknown or names}"
        )
    return names


def _draw(rng: np.random.Generator, setting: Any) -> Any:
    """Draw from a range (two numbers), a choice (list), or a chance (one number)."""
    if isinstance(setting, tuple):
        return rng.uniform(*setting)
    if isinstance(setting, list):
        return setting[int(rng.integers(len(setting)))]
    if isinstance(setting, float):
        return bool(rng.random() < setting)
    return setting
