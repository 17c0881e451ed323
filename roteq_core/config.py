"""What networks and trainings are made of, as plain values.

Each field carries its label, limits and tip in its metadata, once: the command line and
the viewer's forms read them from here. No torch, so that the viewer may import it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints


def option(
    default: Any,
    label: str,
    tip: str = "",
    *,
    low: float | None = None,
    high: float | None = None,
    advanced: bool = True,
) -> Any:
    """Make a dataclass field with the metadata that forms and checks need."""
    meta = {"label": label, "tip": tip, "low": low, "high": high, "advanced": advanced}
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
        if (low is not None and value < low) or (high is not None and value > high):
            raise ValueError(f"{name} must lie in [{low}, {high}], got {value!r}")


def _check_odd(kernel_size: int) -> None:
    if kernel_size % 2 == 0:
        raise ValueError(f"kernel_size must be odd, got {kernel_size}")


@dataclass(frozen=True)
class TurningConfig:
    """How every filter of a network is turned. See `roteq_core.geometry.Basis`."""

    orientations: int = option(
        16,
        "Orientations R",
        "Angles at which a filter is tried. Multiples of 4 make quarter turns exact.",
        low=1,
        high=360,
    )
    basis: Literal["smooth", "bilinear", "spread"] = option(
        "smooth", "Basis", "How a filter is turned; bilinear is the paper's."
    )
    sigma: float = option(
        1.2, "Bump width", "Pixels; smooth basis only.", low=0.3, high=4
    )
    rim: float = option(
        2.0, "Rim", "Pixels over which the disc fades.", low=0.1, high=8
    )
    frequencies: int | None = option(
        4, "Frequencies", "Highest angular frequency of a filter.", low=0, high=64
    )
    refine: bool = option(True, "Refine", "Sub-bin angles, from a parabola.")

    def __post_init__(self) -> None:
        check_options(self)


PAPER_TURNING = TurningConfig(17, "bilinear", frequencies=None, refine=False)
# Twice the freedom of the default's filters, a little less steady: method.md.
FINE_TURNING = TurningConfig(sigma=0.8, frequencies=5)


@dataclass(frozen=True)
class MembraneNetConfig:
    """The membrane network: the paper's table "isbi_arch", with N, R and k free."""

    kind: ClassVar[str] = "membranes"
    width: int = option(
        2, "Width N", "Filters per layer: N, 2N, 3N, 4N.", low=1, high=16
    )
    kernel_size: int = option(9, "Kernel", "Odd side of the filters.", low=3, high=21)
    in_maps: int = option(1, "Input channels", low=1, high=64)
    classes: int = option(3, "Classes", low=2, high=16)
    skip: Literal["full", "pooled"] = option(
        "full",
        "Skip from",
        "Stack the blocks before pooling (full) or after it, as the paper does.",
    )
    turning: TurningConfig = FINE_TURNING

    def __post_init__(self) -> None:
        check_options(self)
        _check_odd(self.kernel_size)


@dataclass(frozen=True)
class CarNetConfig:
    """The car orientation network: the paper's table "cars_arch"."""

    kind: ClassVar[str] = "cars"
    filters: tuple[int, ...] = (3, 6, 3)
    kernel_size: int = option(11, "Kernel", "Odd side of the filters.", low=3, high=21)
    in_maps: int = option(1, "Input channels", low=1, high=64)
    crop: int = option(48, "Crop", "Side of the square around a car.", low=40, high=256)
    norm: bool = option(True, "Normalize", "Divide maps by their spread.")
    first_stride: int = option(
        1,
        "First stride",
        "2 halves the maps in the first layer, which makes wide networks cheap; "
        "1 pools after the last layer, as the paper does.",
        low=1,
        high=2,
    )
    hidden: int = option(
        0,
        "Templates",
        "Filters over the whole crop, mixed around the circle; 0 for the paper's one.",
        low=0,
        high=256,
    )
    turning: TurningConfig = TurningConfig(orientations=20)

    def __post_init__(self) -> None:
        check_options(self)
        _check_odd(self.kernel_size)

    @property
    def whole_turning(self) -> TurningConfig:
        """How whole-crop filters turn: several are more finely divided than others."""
        return replace(self.turning, frequencies=4) if self.hidden else self.turning


PAPER_CARS_TURNING = TurningConfig(21, "bilinear", frequencies=None, refine=False)
# The paper gives no filters for its 5k network; these come to 5.4k.
CAR_NETS: dict[str, CarNetConfig] = {
    "wide": CarNetConfig(
        filters=(8, 12, 12),
        kernel_size=7,
        in_maps=3,
        crop=41,
        first_stride=2,
        hidden=24,
        turning=TurningConfig(orientations=12, sigma=0.8),
    ),
    "9k": CarNetConfig(),
    "5k": CarNetConfig(filters=(2, 5, 2)),
    "paper-9k": CarNetConfig(norm=False, turning=PAPER_CARS_TURNING),
    "paper-5k": CarNetConfig(filters=(2, 5, 2), norm=False, turning=PAPER_CARS_TURNING),
}


@dataclass(frozen=True)
class PlainCarNetConfig:
    """An ordinary network of the same layers and size, to compare with."""

    kind: ClassVar[str] = "plain-cars"
    filters: tuple[int, ...] = (4, 8, 4)
    kernel_size: int = option(11, "Kernel", "Odd side of the filters.", low=3, high=21)
    in_maps: int = option(1, "Input channels", low=1, high=64)
    crop: int = option(48, "Crop", "Side of the square around a car.", low=40, high=256)

    def __post_init__(self) -> None:
        check_options(self)
        _check_odd(self.kernel_size)


@dataclass(frozen=True)
class CarFinderNetConfig:
    """The network that finds cars: a heat map with lengths and headings."""

    kind: ClassVar[str] = "car-finder"
    filters: tuple[int, ...] = (6, 10, 10)
    kernel_size: int = option(5, "Kernel", "Odd side of the filters.", low=3, high=15)
    hidden: int = option(16, "Hidden", "Maps before the heat map.", low=1, high=256)
    in_maps: int = option(1, "Input channels", low=1, high=3)
    turning: TurningConfig = TurningConfig(orientations=12, frequencies=3)

    def __post_init__(self) -> None:
        check_options(self)
        _check_odd(self.kernel_size)


@dataclass(frozen=True)
class DigitNetConfig:
    """The MNIST-rot network: the paper's table "mnist_arch"."""

    kind: ClassVar[str] = "digits"
    filters: tuple[int, int, int] = (6, 16, 32)
    hidden: int = option(128, "Hidden units", low=1, high=4096)
    classes: int = option(10, "Classes", low=2, high=1000)
    dropout: float = option(0.7, "Dropout", low=0.0, high=0.95)
    turning: TurningConfig = TurningConfig()


@dataclass(frozen=True)
class PatchNetConfig:
    """The siamese descriptor of the patch matching experiment."""

    kind: ClassVar[str] = "patches"
    filters: tuple[int, int, int] = (3, 6, 32)
    kernel_size: int = option(9, "Kernel", low=3, high=21)
    bins: int = option(
        1, "Bins", "Sectors kept apart by the last pooling.", low=1, high=64
    )
    turning: TurningConfig = TurningConfig()


NetConfig = (
    MembraneNetConfig
    | CarNetConfig
    | CarFinderNetConfig
    | PlainCarNetConfig
    | DigitNetConfig
    | PatchNetConfig
)
NET_CONFIGS: dict[str, type[Any]] = {
    MembraneNetConfig.kind: MembraneNetConfig,
    CarNetConfig.kind: CarNetConfig,
    CarFinderNetConfig.kind: CarFinderNetConfig,
    PlainCarNetConfig.kind: PlainCarNetConfig,
    DigitNetConfig.kind: DigitNetConfig,
    PatchNetConfig.kind: PatchNetConfig,
}


def net_config_to_dict(config: NetConfig) -> dict[str, Any]:
    """Give a config as plain values, with its kind."""
    return {"kind": config.kind, **dataclasses.asdict(config)}


def net_config_from_dict(values: dict[str, Any]) -> Any:
    """Build the config that `net_config_to_dict` wrote."""
    values = dict(values)
    kind = values.pop("kind", None)
    if kind not in NET_CONFIGS:
        raise ValueError(
            f"network kind must be one of {sorted(NET_CONFIGS)}, got {kind!r}"
        )
    cls = NET_CONFIGS[kind]
    known = {item.name for item in fields(cls)}
    if unknown := sorted(set(values) - known):
        raise ValueError(f"unknown options {unknown} for a {kind} network")
    if "turning" in known:
        values["turning"] = TurningConfig(**values.get("turning", {}))
    if "filters" in values:
        values["filters"] = tuple(values["filters"])
    return cls(**values)


@dataclass(frozen=True)
class TrainConfig:
    """How a network is trained."""

    steps: int = option(
        2000, "Steps", "Weight updates in all.", low=1, high=10_000_000, advanced=False
    )
    batch: int = option(2, "Batch", "Crops per step.", low=1, high=4096)
    crop: int = option(
        192, "Crop", "Side of a training crop in pixels.", low=16, high=2048
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


JOIN_WIDTH = 3.0  # pixels, chosen on slices that were trained on


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
        0.5, "Threshold", "Membrane strength that parts two cells.", low=0.0, high=1.0
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
    threshold: float = option(
        0.35, "Threshold", "Least score of a car.", low=0.0, high=1.0, advanced=False
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
