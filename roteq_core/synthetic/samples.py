"""The two samples that are shipped: an EM-like stack and an aerial scene.

Seeds from `RESERVED_SEEDS` on are kept for samples, demonstrations and tests of trained
models: training must stay below, and the family "demo" is not among `FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from roteq_core.synthetic.aerial import AerialScene, aerial_scene
from roteq_core.synthetic.em import EMStack, em_stack
from roteq_core.synthetic.styles import AerialStyle

RESERVED_SEEDS = 9_000_000
_AERIAL_SEED = RESERVED_SEEDS + 1
_EM_SEED = RESERVED_SEEDS + 2


def sample_em_stack(only: Sequence[int] | None = None) -> EMStack:
    """Draw the shipped stack of 10 slices of 384 by 384, or some of its slices."""
    return em_stack(10, 384, seed=_EM_SEED, noise=0.7, only=only)


def sample_aerial_scene() -> AerialScene:
    """Draw the shipped scene of 576 by 768 pixels: a roundabout in a green suburb."""
    return aerial_scene(
        (576, 768), seed=_AERIAL_SEED, style=_demo_style(), car_length_px=(36.0, 36.0)
    )


def _demo_style() -> AerialStyle:
    """Give a clear summer day; nothing is left to chance but the layout's details."""
    return AerialStyle.random(
        np.random.default_rng(_AERIAL_SEED), "suburb", family="demo",
        layout="roundabout", road="asphalt", verge="grass", lot="asphalt_worn",
        roof="tiles_red", marking="white", sun_azimuth_deg=128.0,
        sun_elevation_deg=48.0, sun=0.5, shadow_blue=0.12, gloss=0.6, lights=0.0,
        snow=0.0, dirt=0.25, wear=0.2, texture=0.8, trees=0.6, clutter=0.35,
        houses=0.55, others=0.1, occupancy=0.7, left_traffic=False, lean=0.05,
        altitude=160.0, blur=0.55, resample=1.0, motion=0.0, haze=0.03,
        brightness=1.0, contrast=1.05, gamma=0.95, saturation=0.95, warmth=0.03,
        tint=0.0, vignette=0.05, sharpen=0.2, noise=0.004, chroma_noise=0.0,
        jpeg=100.0, gray=False,
    )  # fmt: skip
