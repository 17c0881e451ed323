"""The modules: rotating convolutions on images and fields, and what goes with them.

Each module wraps a function of `roteq_core.functional` or `roteq_core.pooling`, where
the equations are. Fields are tensors (B, C, 2, H, W). Only canonical filters are
parameters: `RotConv` is in `roteq_core.rotating`.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from roteq_core import functional as rf
from roteq_core.checks import check_at_least_one, check_field, check_responses
from roteq_core.pooling import Orientations, orientation_pool, sector_pool
from roteq_core.rotating import Path, Pool, RotConv

__all__ = [
    "FieldDropout",
    "FieldMaxPool",
    "FieldNorm",
    "FieldUpsample",
    "Magnitude",
    "OrientationPool",
    "Path",
    "Pool",
    "RotConv",
]


class OrientationPool(nn.Module):
    """Pool R responses into vectors, sectors, or not at all.

    See `orientation_pool` and `sector_pool`.

    Parameters
    ----------
    bins : int or None
        None for one vector per map; otherwise the number of sectors of the circle.
    keep : {"vector", "magnitude", "none"}
        What is kept of each map or sector; ``none`` pools nothing and gives all R
        responses.
    refine : bool
        Sub-bin angle (vectors without bins only).
    angles : Orientations, optional
        What the responses stand for; the full circle from 0 if not given.
    """

    def __init__(
        self,
        bins: int | None = None,
        keep: Literal["vector", "magnitude", "none"] = "vector",
        *,
        refine: bool = True,
        angles: Orientations | None = None,
    ):
        super().__init__()
        if keep not in ("vector", "magnitude", "none"):
            raise ValueError(
                f"keep must be 'vector', 'magnitude' or 'none', got {keep!r}"
            )
        if bins is not None:
            check_at_least_one(bins=bins)
            if keep == "none":
                raise ValueError(f"keep='none' has no bins, got bins={bins}")
        self.bins, self.keep, self.refine, self.angles = bins, keep, refine, angles

    def forward(self, responses: Tensor) -> Tensor:
        """(B, C, R, H, W) → (B, C, 2, H, W), one map per sector, or the same."""
        if self.keep == "none":
            check_responses(responses)
            return responses
        if self.bins is None and self.keep == "vector":
            return orientation_pool(responses, self.angles, refine=self.refine)
        return sector_pool(
            responses, self.bins or 1, keep=self.keep, angles=self.angles
        )

    def extra_repr(self) -> str:
        """Show the options."""
        return f"bins={self.bins}, keep={self.keep!r}, refine={self.refine}"


class FieldMaxPool(nn.Module):
    """Keep the longest vector of each window. See `field_max_pool`."""

    def __init__(self, size: int = 2):
        super().__init__()
        check_at_least_one(size=size)
        self.size = size

    def forward(self, field: Tensor) -> Tensor:
        """(B, C, 2, H, W) → (B, C, 2, ⌈H/size⌉, ⌈W/size⌉)."""
        return rf.field_max_pool(field, self.size)


class FieldNorm(nn.Module):
    """Divide each map by the standard deviation of its magnitude: method.md (13).

    Angles are left alone and no mean is subtracted.

    Parameters
    ----------
    maps : int
    momentum : float
        Share of the newest batch in the running variance.
    eps : float
        What is added to the variance.
    gain : bool
        Learn a positive factor per map.
    """

    running_variance: Tensor

    def __init__(
        self, maps: int, *, momentum: float = 0.1, eps: float = 1e-5, gain: bool = True
    ):
        super().__init__()
        check_at_least_one(maps=maps)
        if not 0 <= momentum <= 1:
            raise ValueError(f"momentum must lie in [0, 1], got {momentum}")
        if not eps > 0:
            raise ValueError(f"eps must be positive, got {eps}")
        self.maps, self.momentum, self.eps = maps, momentum, eps
        self.log_gain = nn.Parameter(torch.zeros(maps)) if gain else None
        self.register_buffer("running_variance", torch.ones(maps))

    def forward(self, field: Tensor) -> Tensor:
        """(B, C, 2, H, W) → the same shape."""
        check_field(field)
        if field.shape[1] != self.maps:
            raise ValueError(f"field must have {self.maps} maps, got {field.shape[1]}")
        variance = self.running_variance
        if self.training and field.numel():
            variance = rf.magnitude_variance(field)
            self._take_in(variance.detach())
        gain = None if self.log_gain is None else self.log_gain.exp()
        return rf.field_normalize(field, variance, gain, self.eps)

    def _take_in(self, variance: Tensor) -> None:
        """Move the running variance (C,) towards the newest, where that is finite."""
        running = self.running_variance
        newest = variance.clamp(max=torch.finfo(running.dtype).max).to(running)
        running.lerp_(torch.where(variance.isfinite(), newest, running), self.momentum)


class FieldUpsample(nn.Module):
    """Interpolate fields to a size or by a factor. See `field_upsample`."""

    def __init__(self, factor: int | None = None):
        super().__init__()
        if factor is not None:
            check_at_least_one(factor=factor)
        self.factor = factor

    def forward(self, field: Tensor, size: tuple[int, int] | None = None) -> Tensor:
        """(B, C, 2, H, W) → (B, C, 2, *size)."""
        check_field(field)
        if size is None:
            if self.factor is None:
                raise ValueError("give a size, or a factor when the layer is made")
            height, width = field.shape[-2:]
            size = (height * self.factor, width * self.factor)
        return rf.field_upsample(field, size)


class Magnitude(nn.Module):
    """Length of the vectors. See `magnitude`."""

    def forward(self, field: Tensor) -> Tensor:
        """(B, C, 2, H, W) → (B, C, H, W)."""
        return rf.magnitude(field)


class FieldDropout(nn.Module):
    """Drop whole maps of a field while training.

    Parameters
    ----------
    p : float
        Share of maps that are dropped; the others grow by 1 / (1 - p).
    """

    def __init__(self, p: float = 0.5):
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"p must lie in [0, 1), got {p}")
        self.p = p

    def forward(self, field: Tensor) -> Tensor:
        """(B, C, 2, H, W) → the same shape."""
        check_field(field)
        if not self.training or self.p == 0:
            return field
        kept = field.new_empty(*field.shape[:2], 1, 1, 1).bernoulli_(1 - self.p)
        return field * (kept / (1 - self.p))
