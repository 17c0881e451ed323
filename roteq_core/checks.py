"""What layers refuse: each check raises a `ValueError` with the rule and the value."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn


def as_tuple(values: Any) -> tuple[Any, ...]:
    """Give what follows each other in values; nothing if they are a single one."""
    try:
        return tuple(values)
    except TypeError:
        return ()


def check_at_least_one(**values: int) -> None:
    """Raise unless all are integers of at least 1."""
    check_integers(1, **values)


def check_integers(least: int, **values: int) -> None:
    """Raise unless all are integers of at least `least`."""
    for name, value in values.items():
        if not _is_integer(value) or value < least:
            raise ValueError(f"{name} must be an integer >= {least}, got {value!r}")


def _is_integer(value: object) -> bool:
    """Whether a value counts something; sizes are symbols or tensors in exports."""
    if isinstance(value, Tensor):
        tracing: bool = torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
        return tracing and value.ndim == 0 and not value.is_floating_point()
    is_number = isinstance(value, Integral | torch.SymInt)
    return is_number and not isinstance(value, bool)


def _check_tensor(name: str, values: object) -> None:
    """Raise unless values are a tensor."""
    if not isinstance(values, Tensor):
        raise ValueError(
            f"{name} must be a torch tensor (torch.from_numpy makes one of an array), "
            f"got {type(values).__name__}"
        )


def check_field(field: Tensor) -> None:
    """Raise if a tensor is not a field."""
    _check_tensor("a field", field)
    if field.ndim != 5 or field.shape[2] != 2:
        raise ValueError(
            f"a field must have shape (B, C, 2, H, W), got {tuple(field.shape)}"
        )
    _check_floats("a field", field)


def check_responses(responses: Tensor) -> None:
    """Raise if a tensor does not hold responses at R orientations."""
    _check_tensor("responses", responses)
    if responses.ndim != 5 or not responses.shape[2]:
        raise ValueError(
            "responses must have shape (B, C, R, H, W) with R >= 1, got "
            f"{tuple(responses.shape)}"
        )
    _check_floats("responses", responses)


def _check_floats(name: str, values: Tensor) -> None:
    if not values.is_floating_point():
        raise ValueError(f"{name} must be floating point, got {values.dtype}")


def check_filters(weight: Tensor, taps: int) -> None:
    """Raise unless filters (F, C, 1 or 2, k, k) have the taps that are turned."""
    _check_tensor("filters", weight)
    square = weight.ndim == 5 and weight.shape[3] == weight.shape[4]
    if not square or weight.shape[2] not in (1, 2):
        raise ValueError(
            f"filters must have shape (F, C, 1 or 2, k, k), got {tuple(weight.shape)}"
        )
    _check_floats("filters", weight)
    if weight[0, 0].numel() != taps:
        raise ValueError(
            f"filters must have the {taps} taps that the operator turns, got "
            f"{tuple(weight.shape[2:])}"
        )


def check_conv_input(x: Tensor, weight: Tensor, padding: int) -> None:
    """Raise unless filters (F, C, 1 or 2, k, k) can be applied to x."""
    _check_tensor("input", x)
    _, maps, parts, kernel_size, _ = weight.shape
    rule = "(B, C, 2, H, W), a field" if parts == 2 else "(B, C, H, W), an image"
    if x.ndim != 3 + parts or (parts == 2 and x.shape[2] != 2):
        raise ValueError(f"input must have shape {rule}, got {tuple(x.shape)}")
    if not x.is_floating_point():
        raise ValueError(
            f"input must be floating point, got {x.dtype}: normalize integer images "
            "first"
        )
    if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
        raise ValueError(
            f"input must have the type of the filters, {weight.dtype}, got {x.dtype}"
        )
    if x.shape[1] != maps:
        raise ValueError(
            f"input must have {maps} maps, got {x.shape[1]} in {tuple(x.shape)}"
        )
    if min(x.shape[-2:]) + 2 * padding < kernel_size:
        raise ValueError(
            f"a padded image must be at least as large as the {kernel_size}x"
            f"{kernel_size} kernel, got {tuple(x.shape[-2:])} with padding {padding}"
        )


def check_finite_weights(module: nn.Module) -> None:
    """Raise if a parameter holds NaN or infinity."""
    for name, parameter in module.named_parameters():
        if not torch.isfinite(parameter).all():
            raise ValueError(f"weights must be finite, got NaN or infinity in {name!r}")
