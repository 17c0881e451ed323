"""Choose where to compute."""

from __future__ import annotations

import torch


def choose_device(name: str = "auto") -> torch.device:
    """Give the device of that name; "auto" prefers CUDA, then MPS, then the CPU."""
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        return torch.device(next(d for d, there in available.items() if there))
    kind = name.split(":")[0]
    if kind not in available:
        raise ValueError(f"device must be auto, cpu, cuda or mps, got {name!r}")
    if not available[kind]:
        there = [d for d, ok in available.items() if ok]
        raise ValueError(f"device {name!r} is not available here; there is {there}")
    return torch.device(name)
