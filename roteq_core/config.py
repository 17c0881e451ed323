"""How jobs are run, as plain values: training, segmenting, orienting, looking inside.

Each field carries its label, limits and tip in its metadata, once: the command line and
the viewer's forms read them from here. What networks are made of is in `net_config`. No
torch, so that the viewer may import both.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints


def option(
    default: Any,
    label: str,
    tip: str = "",
    *,
    low: float | None = None,
    high: float | None = None,
    step: int | None = None,
    advanced: bool = True,
) -> Any:
    """Make a dataclass field with the metadata that forms and checks need.

    Values must lie in [low, high], and be multiples of `step` if one is given.
    """
    meta = {"label": label, "tip": tip, "low": low, "high": high, "advanced": advanced}
    if step is not None:
        meta["step"] = step
    return field(default=default, metadata=meta)


def check_options(config: Any) -> None:
    """Raise a ValueError for the first field outside its limits or choices."""
    hints = get_type_hints(type(config))
    for item in fields(config):
        value, meta = getattr(config, item.name), item.metadata
        name = f"{type(config).__name__}.{item.name}"
        if get_origin(hints[item.name]) is Literal:
            choices = get_args(hints[item.name])
            if value not in choices:
                raise ValueError(f"{name} must be one of {choices}, got {value!r}")
        if value is None or isinstance(value, (str, bool, tuple)):
            continue
        low, high = meta.get("low"), meta.get("high")
        is_above = low is None or value >= low
        is_below = high is None or value <= high
        if not (is_above and is_below):  # NaN is neither
            raise ValueError(f"{name} must lie in [{low}, {high}], got {value!r}")
        if (step := meta.get("step")) is not None and value % step:
            raise ValueError(f"{name} must be a multiple of {step}, got {value!r}")


@dataclass(frozen=True)
class TrainConfig:
    """How a network is trained."""

    steps: int = option(
        2000, "Steps", "Weight updates in all.", low=1, high=10_000_000, advanced=False
    )
    batch: int = option(2, "Batch", "Crops per step.", low=1, high=4096)
    crop: int = option(
        192,
        "Crop",
        "Side of a training crop in pixels, a multiple of 8: networks halve it thrice.",
        low=16,
        high=2048,
        step=8,
    )
    learning_rate: float = option(
        6e-3,
        "Learning rate",
        "Highest rate of the one-cycle schedule.",
        low=1e-7,
        high=1,
    )
    warmup: float = option(
        0.1, "Warm-up", "Share of steps to get there.", low=0, high=0.9
    )
    weight_decay: float = option(1e-4, "Weight decay", low=0, high=1)
    clip: float = option(
        1.0, "Gradient clip", "Largest norm; 0 for none.", low=0, high=1e6
    )
    epoch_steps: int = option(
        50,
        "Steps per epoch",
        "Validation and checkpoint after each.",
        low=1,
        high=100_000,
    )
    average: float = option(
        0.2,
        "Average",
        "Share of the last epochs whose weights are averaged.",
        low=0,
        high=1,
    )
    freeze: float = option(
        0.0,
        "Freeze",
        "Share of the last steps in which normalizations keep their statistics, "
        "as they do when images are predicted.",
        low=0,
        high=1,
    )
    patience: int = option(
        0,
        "Patience",
        "Stop after so many epochs without gain; 0: never.",
        low=0,
        high=9999,
    )
    rotate: bool = option(True, "Rotate", "Turn crops by any angle.")
    exact: float = option(
        0.5,
        "Exact crops",
        "Share of crops turned by quarters only and read pixel by pixel, unblurred.",
        low=0,
        high=1,
    )
    sharp: bool = option(
        True,
        "Sharp",
        "Read the other crops between pixels by cubic instead of linear "
        "interpolation, which blurs less.",
    )
    flip: bool = option(True, "Flip", "Mirror crops.")
    scale: float = option(
        0.15, "Scale", "Largest relative change of size.", low=0, high=0.6
    )
    elastic: float = option(3.0, "Elastic", "Pixels of smooth warping.", low=0, high=30)
    intensity: float = option(
        1.0, "Intensity", "Strength of contrast, blur and noise changes.", low=0, high=3
    )
    seed: int = option(0, "Seed", "Same seed, same weights.", low=0, high=2**31 - 1)
    device: Literal["auto", "cpu", "cuda", "mps"] = option(
        "auto", "Device", "auto takes a GPU where there is one.", advanced=False
    )
    mixed_precision: bool = option(True, "Mixed precision", "On CUDA only.")

    def __post_init__(self) -> None:
        check_options(self)


# Pixels, chosen on slices that were trained on.
JOIN_WIDTH = 3.0
# A membrane probability: see "Cells" in docs/metrics.md.
CELL_THRESHOLD = 0.6


@dataclass(frozen=True)
class SegmentOptions:
    """How to segment."""

    model: str = option(
        "membranes", "Model", "A shipped name or a file.", advanced=False
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = option(
        "auto", "Device", "auto takes a GPU where there is one.", advanced=False
    )
    tile: int = option(
        1024, "Tile", "Pixels at once; less needs less memory.", low=16, high=16384
    )
    turns: int = option(
        1, "Test-time turns", "Average over turned and mirrored copies.", low=1, high=64
    )
    cells: bool = option(False, "Cells", "Also cut out cells.", advanced=False)
    direction: bool = option(False, "Direction", "Also the direction of membranes.")
    threshold: float = option(
        CELL_THRESHOLD,
        "Threshold",
        "Membrane strength that parts two cells.",
        low=0.0,
        high=1.0,
    )
    pixel_size_nm: float | None = option(
        None, "Pixel size", "Nanometers; resampled to the model's.", low=0.01, high=1e5
    )
    inverted: bool = option(False, "Inverted", "Membranes are bright, not dark.")
    join: float = option(
        JOIN_WIDTH,
        "Join gaps",
        "Pixels by which membranes go on along their direction; 0: as they were found.",
        low=0,
        high=20,
    )
    close: bool = option(
        True,
        "Close walls",
        "Bring each piece of membrane near to the strength of its whole wall.",
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class FieldOptions:
    """Which field of which network, and how to compute it."""

    model: str = option(
        "membranes", "Model", "A shipped name or a file.", advanced=False
    )
    layer: str = option(
        "", "Layer", "Name of a layer; the last one that gives fields if empty."
    )
    member: int = option(
        0, "Member", "Which network of an ensemble, counted from 0.", low=0, high=99
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = option(
        "auto", "Device", "auto takes a GPU where there is one."
    )
    tile: int = option(
        512, "Tile", "Pixels at once; less needs less memory.", low=16, high=16384
    )
    pixel_size_nm: float | None = option(
        None, "Pixel size", "Nanometers; resampled to the model's.", low=0.01, high=1e5
    )
    car_length_px: float | None = option(
        None, "Car length", "Pixels; resampled to the model's.", low=2, high=10_000
    )
    inverted: bool = option(False, "Inverted", "Bright and dark change places.")

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class OrientOptions:
    """How to tell where cars point."""

    model: str = option("cars", "Model", "A shipped name or a file.", advanced=False)
    device: Literal["auto", "cpu", "cuda", "mps"] = option(
        "auto", "Device", "auto takes a GPU where there is one.", advanced=False
    )
    copies: int = option(
        8, "Copies", "Turned and mirrored readings of each car.", low=1, high=64
    )
    batch: int = option(64, "Batch", "Cars at once.", low=1, high=65536)
    car_length_px: float | None = option(
        None,
        "Car length",
        "Pixels, for cars whose box is not known.",
        low=2,
        high=10_000,
        advanced=False,
    )
    pixel_size_m: float | None = option(
        None,
        "Pixel size",
        "Meters, from which a typical length is taken if none is known.",
        low=1e-4,
        high=10,
    )
    redo_reviewed: bool = option(
        False, "Redo reviewed", "Also replace what a person accepted or edited."
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class FindOptions:
    """How to find cars."""

    model: str = option(
        "car-finder", "Model", "A shipped name or a file.", advanced=False
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = option(
        "auto", "Device", "auto takes a GPU where there is one.", advanced=False
    )
    threshold: float | None = option(
        None,
        "Threshold",
        "Least score of a car; the model's own if it is not given.",
        low=0.0,
        high=1.0,
        advanced=False,
    )
    car_length_px: float | None = option(
        None,
        "Car length",
        "Typical length in pixels; found out if it is not given.",
        low=4,
        high=2000,
        advanced=False,
    )
    pixel_size_m: float | None = option(
        None, "Pixel size", "Meters, in place of the length.", low=1e-4, high=10
    )
    tile: int = option(
        512, "Tile", "Pixels at once; less needs less memory.", low=64, high=16384
    )
    most: int = option(100_000, "Most", "At most so many cars.", low=1, high=10_000_000)
    orient: bool = option(
        True, "Orient", "Let the heading model look at each car.", advanced=False
    )
    orient_model: str = option("cars", "Heading model", "A shipped name or a file.")

    def __post_init__(self) -> None:
        check_options(self)
