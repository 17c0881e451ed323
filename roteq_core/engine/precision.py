"""What half precision is too coarse for, and what rounding makes alike."""

from __future__ import annotations

import contextlib
import math

import torch
from torch import Tensor


def at_least_single(x: Tensor) -> Tensor:
    """Give x, in float32 if it is in half precision: too coarse to square or turn."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def without_autocast(x: Tensor) -> contextlib.AbstractContextManager[None]:
    """Switch autocast off where x is, for what half precision is too coarse for."""
    if not torch.is_autocast_enabled(x.device.type):
        return contextlib.nullcontext()  # exporters need not see it
    return torch.autocast(x.device.type, enabled=False)


def flat_tolerance(dtype: torch.dtype) -> float:
    """How much responses may differ, relative to the winner, and still be alike."""
    return math.sqrt(torch.finfo(dtype).eps) / 4
