"""Check that a network, or any part of one, turns its answer with its input.

For our tests and yours: see `assert_equivariant`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from roteq_core.equivariance import (
    EquivarianceError,
    Network,
    equivariance_error,
    turn,
)


def assert_equivariant(
    network: Network,
    x: Tensor,
    *,
    tolerance: float = 1e-5,
    angles: Sequence[float] = (),
    turn_output: Callable[[Tensor, float], Tensor] = turn,
) -> list[EquivarianceError]:
    """Assert that quarter turns of the input turn the output; measure other angles.

    Set biases to random values first, and use an image without symmetry: zero biases
    and symmetric images hide faults. An output that is empty, or zero everywhere,
    tests nothing and is refused. In float32 rounding may flip a vector between two
    directions that answer alike; float64 makes that rare. A network is called as it is:
    in training mode `FieldNorm` takes the turned inputs into its running variance.

    Parameters
    ----------
    network : callable
        Takes an image (B, C, H, W) or a field (B, C, 2, H, W); gives maps
        (B, F, H', W') or a field (B, F, 2, H', W').
    x : Tensor
        Its input.
    tolerance : float
        Largest error of any value, relative to the largest value of the output.
    angles : sequence of float
        Further angles in radians, which are measured and not asserted.
    turn_output : callable
        How an output turns by an angle, for outputs that are neither maps nor fields.

    Returns
    -------
    list of EquivarianceError, one for each of `angles`

    Examples
    --------
    >>> layer = RotConv(1, 4, 5, vector_input=False).double()
    >>> assert_equivariant(layer, torch.randn(1, 1, 16, 15).double())
    []
    """
    with torch.no_grad():
        upright = network(x)
        _assert_tells_something(upright)
        for quarters in (1, 2, 3):
            angle = quarters * math.pi / 2
            found, expected = network(turn(x, angle)), turn_output(upright, angle)
            _assert_same(found, expected, 90 * quarters, tolerance)
    return [equivariance_error(network, x, angle) for angle in angles]


def _assert_tells_something(output: Tensor) -> None:
    if not output.numel():
        raise AssertionError(
            f"nothing was tested: the output is empty, {tuple(output.shape)}"
        )
    if not output.any():
        raise AssertionError("nothing was tested: the output is zero everywhere")


def _assert_same(
    found: Tensor, expected: Tensor, degrees: int, tolerance: float
) -> None:
    rule = f"an input turned by {degrees}° must give the output turned by {degrees}°"
    if found.shape != expected.shape:
        raise AssertionError(
            f"{rule}: got shape {tuple(found.shape)} instead of {tuple(expected.shape)}"
        )
    if not found.isfinite().all():
        raise AssertionError(f"{rule}: got values that are not finite")
    size = float(expected.abs().max()) if expected.numel() else 0.0
    error = float((found - expected).abs().max()) if found.numel() else 0.0
    if not error <= tolerance * size:
        share = float(((found - expected).abs() > tolerance * size).double().mean())
        raise AssertionError(
            f"{rule}: the largest error is {error:.3g} where the largest value is "
            f"{size:.3g}; {share:.2%} of values exceed the tolerance {tolerance:.3g}"
        )
