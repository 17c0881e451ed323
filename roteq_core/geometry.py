"""Turning filters: the operator that turns them, and the bases it turns them in.

A filter is turned by a fixed linear map, `w^r = T(α_r) w` (Marcos et al., ICCV 2017,
arXiv:1612.09346; docs/method.md (2)). It is written as a short Fourier series,

    T(α) = Σ_n  φ_n(α) H_n,       φ = 1, cos α, sin α, cos 2α, sin 2α, …

so that a bank of R turned filters is a small number K of *harmonic* filters, combined:
one convolution with K maps gives the responses at any number of angles. For a basis
that is not band-limited (the paper's bilinear one) the series has one term per angle.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from roteq_core.checks import as_tuple, check_at_least_one, check_integers

Interval = tuple[float, float]
FULL_CIRCLE: Interval = (0.0, 2 * math.pi)
# Operators are shared by all layers: no device that is set for a while may hold them.
_EXACT: dict[str, Any] = {"dtype": torch.float64, "device": "cpu"}


@dataclass(frozen=True)
class Basis:
    """How a filter becomes a function of the plane that can be turned.

    Parameters
    ----------
    kind : {"smooth", "bilinear", "spread"}
        ``bilinear`` reads the filter at turned places, with a hard disc: the paper's.
        ``spread`` moves each weight to its turned place and shares it among the four
        pixels around: the transpose of bilinear reading. ``smooth`` makes each weight
        the center of a Gaussian bump: a band-limited function, which turns well.
    sigma : float
        Width of the bumps in pixels (``smooth`` only).
    rim : float
        Width in pixels over which the disc fades out (``smooth`` and ``spread``). It
        ends half a pixel outside the filter, so that the square cuts nothing off.
    frequencies : int or None
        Highest angular frequency kept, or None to keep what R angles can hold.
        Fewer frequencies cost less: a layer needs 2·frequencies + 1 maps a filter for
        images and two more for fields, instead of R.
    """

    kind: Literal["smooth", "bilinear", "spread"] = "smooth"
    sigma: float = 1.2
    rim: float = 2.0
    frequencies: int | None = 4

    def __post_init__(self) -> None:
        if self.kind not in ("smooth", "bilinear", "spread"):
            raise ValueError(
                f"basis must be 'smooth', 'bilinear' or 'spread', got {self.kind!r}"
            )
        if not self.sigma > 0 or not self.rim > 0:
            raise ValueError(
                f"sigma and rim must be positive, got {self.sigma} and {self.rim}"
            )
        if self.frequencies is not None:
            check_integers(0, frequencies=self.frequencies)

    def bump(self, kernel_size: int) -> float:
        """Width of the bumps of a filter: small ones keep their details."""
        return min(self.sigma, 0.3 * kernel_size)


BASES: dict[str, Basis] = {
    "smooth": Basis(),
    "bilinear": Basis("bilinear", frequencies=None),
    "spread": Basis("spread", rim=1.0, frequencies=None),
}


def as_basis(basis: str | Basis) -> Basis:
    """Give the basis of that name, or the basis itself."""
    if isinstance(basis, Basis):
        return basis
    if not isinstance(basis, str) or basis not in BASES:
        raise ValueError(f"basis must be one of {sorted(BASES)}, got {basis!r}")
    return BASES[basis]


class TurningOperator(NamedTuple):
    """The turning of a k×k filter as a sum of K terms.

    `matrix(r) = Σ_n trig[r, n] harmonics[n]`. For fields P = 2k² (u taps, then v taps)
    and the vectors are turned along with their places.
    """

    harmonics: Tensor  # (K, P, P)
    trig: Tensor  # (R, K)

    def matrices(self) -> Tensor:
        """The R turning matrices, (R, P, P)."""
        return torch.einsum("rk,kpq->rpq", self.trig, self.harmonics)


def orientation_angles(orientations: int, interval: Interval = FULL_CIRCLE) -> Tensor:
    """The R angles in radians, float64: method.md (1).

    A full circle is cut into R equal steps from its start; a narrower interval of tilts
    has an angle at each end.
    """
    check_at_least_one(orientations=orientations)
    low, high = as_interval(interval)
    if is_full_circle((low, high)):
        steps = torch.arange(orientations, **_EXACT)
        return low + steps * (2 * math.pi / orientations)
    if orientations == 1:
        return torch.tensor([(low + high) / 2], **_EXACT)
    return torch.linspace(low, high, orientations, **_EXACT)


def as_interval(interval: Iterable[float]) -> Interval:
    """Give a pair of numbers as an interval, if it is one."""
    ends = as_tuple(interval)
    if len(ends) == 2 and all(isinstance(end, Real) for end in ends):
        low, high = map(float, ends)
        if low < high <= low + 2 * math.pi + 1e-9:
            return low, high
    raise ValueError(
        "interval must be (low, high) in radians with low < high and at most one "
        f"full turn, got {interval!r}"
    )


def is_full_circle(interval: Interval) -> bool:
    """Whether the interval closes on itself."""
    return math.isclose(interval[1] - interval[0], 2 * math.pi)


def turning_operator(
    kernel_size: int,
    orientations: int,
    *,
    interval: Interval = FULL_CIRCLE,
    basis: str | Basis = BASES["smooth"],
    vector: bool = False,
) -> TurningOperator:
    """Build the operator that turns k×k filters to R angles, in float64 on the CPU.

    Parameters
    ----------
    kernel_size : int
        k, odd or even.
    orientations : int
        R.
    interval : (float, float)
        The range of angles in radians.
    basis : str or Basis
        How a filter is turned.
    vector : bool
        Whether the filter is a vector field: method.md (6).

    Returns
    -------
    TurningOperator
        Exact for quarter turns: a further one permutes the taps.
    """
    check_at_least_one(kernel_size=kernel_size, orientations=orientations)
    interval = as_interval(interval)
    return _operator(kernel_size, orientations, interval, as_basis(basis), vector)


@functools.lru_cache(maxsize=64)
@torch.inference_mode(False)  # tensors made in it could not take part in gradients
def _operator(
    kernel_size: int, orientations: int, interval: Interval, basis: Basis, vector: bool
) -> TurningOperator:
    angles = orientation_angles(orientations, interval)
    if kernel_size == 1:
        harmonics = torch.ones(1, 1, 1, **_EXACT)
        operator = TurningOperator(harmonics, _trig(angles, 0))
    elif basis.frequencies is None:
        matrices = _turning_matrices(kernel_size, angles, basis)
        if basis.kind != "bilinear":
            matrices = _blind_to_flat(matrices)
        operator = TurningOperator(matrices, torch.eye(len(angles), **_EXACT))
    else:
        harmonics = _band_limited(kernel_size, basis)
        operator = TurningOperator(harmonics, _trig(angles, basis.frequencies))
    if vector:
        operator = _with_turned_vectors(operator, angles)
    if operator.trig.shape[1] > orientations:  # the turned filters are fewer
        eye = torch.eye(orientations, **_EXACT)
        operator = TurningOperator(operator.matrices(), eye)
    return operator


def _turning_matrices(kernel_size: int, angles: Tensor, basis: Basis) -> Tensor:
    """(R, k², k²): weight of canonical tap q in turned tap p."""
    taps = _tap_positions(kernel_size)  # (P, 2)
    radius = taps.norm(dim=1)
    matrices = torch.stack(
        [
            _turning_matrix(taps, torch.stack([c, -s, s, c]).reshape(2, 2), basis)
            for c, s in zip(*exact_cos_sin(angles), strict=True)
        ]
    )
    if basis.kind == "bilinear":
        disc = (radius <= kernel_size / 2 + 1e-9).double()
        return matrices * torch.outer(disc, disc)
    fade = (((kernel_size + 1) / 2 - radius) / basis.rim).clamp(0, 1)
    window = torch.sin(fade * math.pi / 2) ** 2
    return matrices * window[:, None]


def _turning_matrix(taps: Tensor, turn: Tensor, basis: Basis) -> Tensor:
    """(k², k²) for one turn (2, 2), before the rim is cut off."""
    if basis.kind == "bilinear":  # read the filter at the place that p turns back to
        return _tent((taps @ turn)[:, None] - taps)
    gap = taps[:, None] - taps @ turn.T  # (P, Q, 2), from where q has moved
    if basis.kind == "spread":
        return _tent(gap)
    side = round(math.sqrt(len(taps)))
    sigma = basis.bump(side)
    bumps: Tensor = torch.exp(-gap.square().sum(-1) / (2 * sigma**2))
    return bumps / (2 * math.pi * sigma**2)


def _tent(gap: Tensor) -> Tensor:
    """Bilinear weights of gaps (..., 2), snapped so that whole pixels stay whole."""
    weights = (1 - gap.abs()).clamp(min=0).prod(-1)
    return torch.where(
        weights > 1 - 1e-9, 1.0, torch.where(weights < 1e-9, 0.0, weights)
    )


def _tap_positions(kernel_size: int) -> Tensor:
    """(k², 2): x to the right and y down from the center of the filter."""
    line = torch.arange(kernel_size, **_EXACT) - (kernel_size - 1) / 2
    y, x = torch.meshgrid(line, line, indexing="ij")
    return torch.stack([x.reshape(-1), y.reshape(-1)], -1)


def smooth_correlation(kernel_size: int, reach: float) -> Tensor:
    """(k², k²): how alike two taps of a smooth input are, a Gaussian of `reach` px."""
    taps = _tap_positions(kernel_size)
    return torch.exp(-torch.cdist(taps, taps).square() / (2 * reach**2))


def exact_cos_sin(angles: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and sine, with the zeros and ones of quarter turns exact."""
    cos, sin = angles.cos(), angles.sin()
    cos = torch.where(cos.abs() < 1e-12, 0.0, cos)
    sin = torch.where(sin.abs() < 1e-12, 0.0, sin)
    return cos, sin


def _trig(angles: Tensor, frequencies: int) -> Tensor:
    """Columns 1, cos α, sin α, cos 2α, … of R angles: (R, 2·frequencies + 1)."""
    columns = [torch.ones_like(angles)]
    for n in range(1, frequencies + 1):
        columns += exact_cos_sin(n * angles)
    return torch.stack(columns, 1)


def _band_limited(kernel_size: int, basis: Basis) -> Tensor:
    """(2·frequencies + 1, k², k²): the Fourier series of T in the angle, cut short."""
    assert basis.frequencies is not None
    steps = 8 * max(8, basis.frequencies)
    angles = orientation_angles(steps)
    matrices = _blind_to_flat(_turning_matrices(kernel_size, angles, basis))
    trig = _trig(angles, basis.frequencies)
    harmonics: Tensor = torch.einsum("rk,rpq->kpq", trig, matrices) * (2 / steps)
    harmonics[0] /= 2
    return harmonics


def _blind_to_flat(matrices: Tensor) -> Tensor:
    """Give the turned filters (R, P, Q) the same sum at every angle.

    A flat image has no direction, so no orientation may answer to it more than others.
    """
    window = matrices.mean(0).sum(1)
    sums = matrices.sum(1, keepdim=True)  # (R, 1, Q)
    return matrices - (window / window.sum())[:, None] * (sums - sums.mean(0))


def _with_turned_vectors(operator: TurningOperator, angles: Tensor) -> TurningOperator:
    """Turn the components too: method.md (6), as products of Fourier series.

    The blocks are [[cos α T, -sin α T], [sin α T, cos α T]].
    """
    harmonics, trig = operator
    count, taps, _ = harmonics.shape
    block = torch.ones(taps, taps, **_EXACT)
    cos_block = torch.kron(torch.eye(2, **_EXACT), block)
    sin_block = torch.kron(torch.tensor([[0.0, -1.0], [1.0, 0.0]], **_EXACT), block)
    both = harmonics.repeat(1, 2, 2)
    with_cos, with_sin = both * cos_block, both * sin_block
    if trig.shape[0] == count and torch.equal(trig, torch.eye(count, **_EXACT)):
        cos, sin = exact_cos_sin(angles)
        matrices = cos[:, None, None] * with_cos + sin[:, None, None] * with_sin
        return TurningOperator(matrices, trig)
    frequencies = (count - 1) // 2
    product = torch.zeros(2 * frequencies + 3, 2 * taps, 2 * taps, **_EXACT)
    # cos a cos nα = ½(cos (n+1)α + cos (n-1)α), and so on.
    product[1] += with_cos[0]
    product[2] += with_sin[0]
    for n in range(1, frequencies + 1):
        c, s = 2 * n - 1, 2 * n  # rows of cos nα and sin nα
        up_c, up_s = 2 * n + 1, 2 * n + 2
        product[up_c] += (with_cos[c] - with_sin[s]) / 2
        product[up_s] += (with_sin[c] + with_cos[s]) / 2
        if n == 1:
            product[0] += (with_cos[c] + with_sin[s]) / 2
        else:
            product[2 * n - 3] += (with_cos[c] + with_sin[s]) / 2
            product[2 * n - 2] += (with_cos[s] - with_sin[c]) / 2
    trig = _trig(angles, frequencies + 1)
    kept = product.abs().amax((1, 2)) > 1e-12
    return TurningOperator(product[kept], trig[:, kept])
