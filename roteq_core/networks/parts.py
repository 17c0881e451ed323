"""What the networks share: layers as a config asks for them, and a check of sizes."""

from __future__ import annotations

from torch import Tensor

from roteq_core.geometry import Basis
from roteq_core.layers import Pool, RotConv
from roteq_core.net_config import TurningConfig


def rot_conv(
    turning: TurningConfig,
    in_maps: int,
    filters: int,
    kernel_size: int,
    *,
    image: bool = False,
    pool: Pool = "vector",
    bins: int = 1,
    padding: int | None = None,
    stride: int = 1,
) -> RotConv:
    """Make a `RotConv` that turns its filters as a config says."""
    return RotConv(
        in_maps,
        filters,
        kernel_size,
        orientations=turning.orientations,
        basis=Basis(turning.basis, turning.sigma, turning.rim, turning.frequencies),
        refine=turning.refine,
        vector_input=not image,
        pool=pool,
        bins=bins,
        padding="same" if padding is None else padding,
        stride=stride,
    )


def check_multiple(image: Tensor, stride: int) -> None:
    """Raise unless the sides of an image are multiples of a network's stride."""
    if any(side % stride for side in image.shape[-2:]):
        raise ValueError(
            f"image sides must be multiples of {stride}, got "
            f"{tuple(image.shape[-2:])}; roteq_core.predict pads for you"
        )
