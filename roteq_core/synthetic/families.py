"""Families of aerial styles: for every setting a range, a choice or a chance.

A tuple is a range of numbers, a list a choice of equals, a single float the chance of
True; a mapping is taken as it is. A family says only where it differs from `BASE`. The
settings are explained at `AerialStyle`.
"""

from __future__ import annotations

from typing import Any

_COMMON = {
    "hatchback": 0.24, "sedan": 0.24, "estate": 0.08, "coupe": 0.03, "suv": 0.2,
    "minivan": 0.06, "city": 0.04, "van": 0.05, "pickup": 0.06,
}  # fmt: skip

BASE: dict[str, Any] = {
    "road": ["asphalt", "asphalt_dark", "asphalt_worn"],
    "verge": ["grass", "dry_grass", "paving", "soil"],
    "lot": ["asphalt", "asphalt_dark", "asphalt_worn", "concrete"],
    "roof": ["tiles_red", "tiles_gray", "flat_roof", "metal_roof"],
    "marking": ["white", "white", "white", "mixed", "yellow"],
    "layout": ["street", "street", "crossing", "roundabout", "carpark"],
    "sun_azimuth_deg": (0.0, 360.0),
    "sun_elevation_deg": (22.0, 75.0),
    "sun": (0.1, 0.62),
    "shadow_blue": (0.0, 0.25),
    "gloss": (0.1, 0.9),
    "lights": (0.0, 0.05),
    "snow": (0.0, 0.0),
    "dirt": (0.0, 0.6),
    "wear": (0.0, 0.8),
    "texture": (0.6, 1.4),
    "cracks": (0.0, 0.8),
    "patches": (0.0, 0.4),
    "trees": (0.1, 0.6),
    "clutter": (0.0, 0.5),
    "houses": (0.2, 0.7),
    "others": (0.02, 0.12),
    "occupancy": (0.3, 0.85),
    "left_traffic": 0.4,
    "kinds": _COMMON,
    "lean": (0.0, 0.3),
    "lean_direction_deg": (0.0, 360.0),
    "altitude": (90.0, 500.0),
    "blur": (0.35, 0.95),
    "resample": (1.0, 1.25),
    "motion": (0.0, 0.8),
    "haze": (0.0, 0.12),
    "brightness": (0.82, 1.15),
    "contrast": (0.8, 1.2),
    "gamma": (0.8, 1.25),
    "saturation": (0.6, 1.2),
    "warmth": (-0.08, 0.08),
    "tint": (-0.03, 0.03),
    "vignette": (0.0, 0.15),
    "sharpen": (0.0, 0.9),
    "noise": (0.0, 0.016),
    "chroma_noise": (0.0, 0.008),
    "jpeg": (40.0, 110.0),
    "gray": 0.06,
}

FAMILIES: dict[str, dict[str, Any]] = {
    "motorway": {
        "road": ["asphalt", "asphalt_dark", "asphalt_worn", "concrete"],
        "verge": ["grass", "dry_grass", "gravel"],
        "layout": ["street"], "houses": (0.0, 0.1), "others": (0.1, 0.3),
        "clutter": (0.0, 0.1), "wear": (0.0, 0.5), "altitude": (150.0, 600.0),
        "occupancy": (0.2, 0.8),
    },
    "carpark": {
        "layout": ["carpark"], "occupancy": (0.4, 0.95), "others": (0.0, 0.05),
        "lot": ["asphalt", "asphalt_dark", "concrete", "paving", "gravel"],
        "houses": (0.1, 0.4),
    },
    "roundabout": {
        "layout": ["roundabout", "roundabout", "crossing"], "altitude": (80.0, 200.0),
        "road": ["asphalt", "asphalt_worn"], "others": (0.05, 0.2),
        "marking": ["white", "mixed"], "trees": (0.2, 0.6),
    },
    "old-town": {
        "road": ["cobble", "asphalt_worn", "paving", "asphalt"],
        "lot": ["cobble", "paving", "gravel", "asphalt_worn"],
        "verge": ["paving", "cobble", "concrete"], "houses": (0.7, 1.0),
        "roof": ["tiles_red", "tiles_red", "tiles_gray"],
        "layout": ["street", "crossing", "carpark"], "wear": (0.4, 1.0),
        "sun": (0.0, 0.6), "clutter": (0.3, 0.8),
        "kinds": {**_COMMON, "hatchback": 0.4, "city": 0.16, "pickup": 0.01},
    },
    "suburb": {
        "verge": ["grass", "grass", "dry_grass"], "trees": (0.4, 0.9),
        "layout": ["street", "crossing", "street", "carpark"],
        "houses": (0.5, 0.9), "occupancy": (0.2, 0.6),
        "kinds": {**_COMMON, "suv": 0.3, "minivan": 0.12, "pickup": 0.14},
    },
    "industrial": {
        "road": ["concrete", "asphalt_worn", "asphalt"],
        "lot": ["concrete", "gravel", "asphalt_worn", "soil"],
        "verge": ["gravel", "concrete", "soil", "dry_grass"],
        "roof": ["metal_roof", "flat_roof"], "clutter": (0.5, 1.0),
        "layout": ["carpark", "street", "crossing"], "others": (0.2, 0.4),
        "dirt": (0.3, 1.0), "trees": (0.0, 0.2),
        "kinds": {**_COMMON, "van": 0.2, "pickup": 0.18},
    },
    "desert": {
        "road": ["asphalt_worn", "asphalt", "sand"],
        "lot": ["sand", "concrete", "soil"],
        "verge": ["sand", "sand", "soil", "gravel"], "roof": ["flat_roof"],
        "sun": (0.45, 0.7), "sun_elevation_deg": (35.0, 80.0), "trees": (0.0, 0.15),
        "warmth": (0.0, 0.15), "haze": (0.0, 0.2), "brightness": (0.95, 1.25),
        "dirt": (0.3, 1.0),
        "kinds": {**_COMMON, "suv": 0.35, "pickup": 0.25, "hatchback": 0.08},
    },
    "winter": {
        "road": ["slush", "asphalt", "snow", "asphalt_dark"], "lot": ["snow", "slush"],
        "verge": ["snow", "snow", "slush"], "roof": ["snow_roof", "tiles_gray"],
        "sun": (0.0, 0.5), "sun_elevation_deg": (12.0, 35.0), "snow": (0.0, 0.9),
        "warmth": (-0.15, 0.02), "saturation": (0.4, 0.9), "wear": (0.5, 1.0),
        "trees": (0.0, 0.3), "lights": (0.0, 0.4),
    },
    "dusk": {
        "sun": (0.0, 0.15), "brightness": (0.4, 0.75), "lights": (0.3, 1.0),
        "warmth": (-0.15, 0.12), "noise": (0.005, 0.03), "gloss": (0.2, 1.0),
        "chroma_noise": (0.0, 0.02), "saturation": (0.4, 1.0), "blur": (0.5, 1.2),
    },
    "satellite": {
        "lean": (0.0, 0.4), "altitude": (1e6, 1e6), "blur": (0.5, 1.1),
        "resample": (1.1, 2.0), "haze": (0.03, 0.25), "sharpen": (0.2, 1.4),
        "gray": 0.25, "saturation": (0.4, 1.0), "jpeg": (30.0, 110.0),
        "noise": (0.005, 0.03),
    },
    "tropics": {
        "road": ["asphalt", "asphalt_worn", "concrete"], "verge": ["grass", "soil_red"],
        "lot": ["soil_red", "concrete", "asphalt_worn"],
        "roof": ["metal_roof", "rusty_roof", "metal_roof"], "trees": (0.4, 0.9),
        "others": (0.2, 0.45), "clutter": (0.3, 0.9), "altitude": (60.0, 150.0),
        "marking": ["white", "mixed", "yellow"], "wear": (0.2, 0.9),
        "kinds": {**_COMMON, "pickup": 0.28, "van": 0.1, "city": 0.08},
    },
    "rain": {
        "sun": (0.0, 0.05), "gloss": (0.5, 1.0), "brightness": (0.55, 0.95),
        "road": ["asphalt_wet", "asphalt_dark"], "lot": ["asphalt_wet"],
        "saturation": (0.4, 0.9), "haze": (0.0, 0.2), "lights": (0.1, 0.8),
        "warmth": (-0.1, 0.02),
    },
}  # fmt: skip
