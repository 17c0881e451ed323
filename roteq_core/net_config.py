"""What networks are made of, as plain values. No torch: the viewer imports it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal

from roteq_core.config import check_options, option


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
    """The network that finds cars: a heat map with lengths, headings and centers."""

    kind: ClassVar[str] = "car-finder"
    filters: tuple[int, ...] = (6, 10, 10)
    kernel_size: int = option(5, "Kernel", "Odd side of the filters.", low=3, high=15)
    hidden: int = option(16, "Hidden", "Maps before the heat map.", low=1, high=256)
    in_maps: int = option(1, "Input channels", low=1, high=3)
    offsets: int = option(
        0, "Offsets", "Fields that tell a car's center; 0: none.", low=0, high=64
    )
    turning: TurningConfig = TurningConfig(orientations=12, frequencies=3)

    def __post_init__(self) -> None:
        check_options(self)
        _check_odd(self.kernel_size)


#: What `roteq train finder` trains, and the shipped finder is.
FINDER_NET = CarFinderNetConfig(
    filters=(8, 12, 12),
    hidden=24,
    in_maps=3,
    offsets=4,
    turning=TurningConfig(orientations=12, sigma=0.8),
)


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
