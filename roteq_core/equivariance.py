"""How well a network keeps its promise: errors of equivariance at any angle.

`equivariance_error` turns one image and compares what a network makes of both; angles
other than quarter turns are interpolated, which adds an error of its own.
`probe_errors` adds none: noise made of plane waves is known between pixels, so patches
of it are read upright and turned, and only the vectors at their centers are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from roteq_core.image_turning import (
    central_disc,
    turn_field,
    turn_image,
    turn_vectors,
)

Network = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class EquivarianceError:
    """Errors of the answer to a turned image against the turned answer.

    Vectors and angles are compared where they are strong: by default where the expected
    vector is in the longer half of its map. For maps without vectors the figures for
    vectors are those of values, and angles are NaN.

    Parameters
    ----------
    turned_deg : float
        By how much the image was turned, clockwise.
    magnitude : float
        Root of the mean squared error of all magnitudes, over the root of their mean
        square.
    vector_rms, vector_median : float
        Length of the error over the length of the expected vector, strong vectors only:
        as root mean squares (a few flipped vectors weigh most) and as a median.
    angle_mean_deg, angle_median_deg : float
        Unsigned angle between the vectors, strong vectors only.
    """

    turned_deg: float
    magnitude: float
    vector_rms: float
    vector_median: float
    angle_mean_deg: float
    angle_median_deg: float


def compare_vectors(
    found: Tensor, expected: Tensor, *, turned: float = 0.0, strong: float = 0.5
) -> EquivarianceError:
    """Compare two sets of vectors, or of values.

    Parameters
    ----------
    found, expected : Tensor of shape (C, 2, N), vectors, or (C, 1, N), values
        N samples of each of C maps.
    turned : float
        The angle in radians, for the record.
    strong : float
        Share of each map, the strongest, in which vectors and angles are compared.
    """
    if found.shape != expected.shape or found.ndim != 3:
        raise ValueError(
            "vectors must have the same shape (C, 2, N), got "
            f"{tuple(found.shape)} and {tuple(expected.shape)}"
        )
    if not 0 < strong <= 1:
        raise ValueError(f"strong must lie in (0, 1], got {strong}")
    found, expected = found.double(), expected.double()
    length, wanted = found.norm(dim=1), expected.norm(dim=1)  # (C, N)
    threshold = torch.quantile(wanted, 1 - strong, dim=1, keepdim=True)
    picked = (wanted >= threshold) & (wanted > 0)
    gap = (found - expected).norm(dim=1)[picked]
    return EquivarianceError(
        turned_deg=math.degrees(turned),
        magnitude=_ratio((length - wanted).square().sum(), wanted.square().sum()),
        vector_rms=_ratio(gap.square().sum(), wanted[picked].square().sum()),
        vector_median=_median(gap / wanted[picked]),
        **_angle_errors(found, expected, picked),
    )


def _ratio(error: Tensor, size: Tensor) -> float:
    """Root of the ratio; no error is no error, even of nothing."""
    if float(error) == 0:
        return 0.0
    return math.sqrt(float(error) / float(size)) if float(size) > 0 else math.inf


def _median(values: Tensor) -> float:
    return float(values.median()) if values.numel() else math.nan


def _angle_errors(found: Tensor, expected: Tensor, picked: Tensor) -> dict[str, float]:
    if found.shape[1] != 2:
        return {"angle_mean_deg": math.nan, "angle_median_deg": math.nan}
    u, v = found.unbind(1)
    wanted_u, wanted_v = expected.unbind(1)
    cross, dot = u * wanted_v - v * wanted_u, u * wanted_u + v * wanted_v
    degrees = torch.rad2deg(torch.atan2(cross, dot).abs())[picked]
    mean = float(degrees.mean()) if degrees.numel() else math.nan
    return {"angle_mean_deg": mean, "angle_median_deg": _median(degrees)}


def equivariance_error(
    network: Network,
    image: Tensor,
    angle: float,
    *,
    disc: float = 0.5,
    strong: float = 0.5,
) -> EquivarianceError:
    """Turn an image, or a field, and compare what a network makes of both.

    Parameters
    ----------
    network : callable
        Image (B, C, H, W) or field (B, C, 2, H, W) → maps (B, F, H', W') or field
        (B, F, 2, H', W').
    image : Tensor
        What the network takes. Quarter turns compare exactly; at other angles input and
        output are interpolated, so use smooth images, larger than the receptive field.
    angle : float
        Radians, clockwise.
    disc : float
        Radius of the central disc that is compared, over half the shorter side.
    strong : float
        See `compare_vectors`.

    Returns
    -------
    EquivarianceError
    """
    if not 0 < disc <= 1:
        raise ValueError(f"disc must lie in (0, 1], got {disc}")
    with torch.no_grad():
        found = network(turn(image, angle))
        expected = turn(network(image), angle)
    if found.shape != expected.shape:
        raise ValueError(
            "outputs must turn with the image, got shape "
            f"{tuple(found.shape)} instead of {tuple(expected.shape)}"
        )
    inside = central_disc(found.shape[-2:], disc).to(found.device)
    return compare_vectors(
        _samples(found, inside), _samples(expected, inside), turned=angle, strong=strong
    )


def turn(x: Tensor, angle: float) -> Tensor:
    """Turn maps (B, C, H, W), or a field (B, C, 2, H, W), clockwise."""
    if x.ndim == 5:
        return turn_field(x, angle, mode="bicubic")
    if x.ndim == 4:
        return turn_image(x, angle, mode="bicubic")
    raise ValueError(
        "maps must have shape (B, C, H, W) and fields (B, C, 2, H, W), got "
        f"{tuple(x.shape)}"
    )


def _samples(output: Tensor, inside: Tensor) -> Tensor:
    """(C, 2, N) of a field, (C, 1, N) of maps: the pixels that are compared."""
    vectors = output if output.ndim == 5 else output.unsqueeze(2)
    return vectors[..., inside].permute(1, 2, 0, 3).flatten(2)


class Probes:
    """Patches of smooth noise around random points, upright or turned, both exact.

    Parameters
    ----------
    sigma : float
        The noise looks like white noise blurred by a Gaussian of this many pixels: 1.5
        is fine texture, 3 is smooth.
    size : int
        Side of a patch: at least the receptive field of the network.
    count : int
        How many points.
    maps : int
        Maps of the image, independent of each other.
    seed : int
        Draws noise and points.
    """

    def __init__(
        self, sigma: float, size: int, *, count: int = 256, maps: int = 1, seed: int = 0
    ):
        # Here, as few users of this module need the synthetic images.
        from roteq_core.synthetic.gratings import PlaneWaves

        if size < 1 or count < 1:
            raise ValueError(f"size and count must be positive, got {size} and {count}")
        self.size = size
        self._noise = [PlaneWaves(seed + n, sigma, size) for n in range(maps)]
        random = np.random.default_rng(seed)
        self._centers = random.uniform(-1e4, 1e4, (2, count, 1, 1))
        self._patches: dict[float, Tensor] = {}

    def patches(self, angle: float) -> Tensor:
        """Read the patches after turning the noise about each point.

        Parameters
        ----------
        angle : float
            Radians, clockwise.

        Returns
        -------
        Tensor of shape (count, maps, size, size), float64, of about unit variance
        """
        if angle not in self._patches:
            steps = np.arange(self.size) - (self.size - 1) / 2
            u, v = np.meshgrid(steps, steps)
            cos, sin = math.cos(angle), math.sin(angle)
            # What stands at (u, v) after turning stood where that turns back to.
            x = self._centers[0] + cos * u + sin * v
            y = self._centers[1] + cos * v - sin * u
            values = np.stack([noise.at(x, y) for noise in self._noise], 1)
            self._patches[angle] = torch.from_numpy(values)
        return self._patches[angle]


def probe_errors(
    network: Network,
    probes: Probes,
    angles: Sequence[float],
    *,
    strong: float = 0.5,
    dtype: torch.dtype = torch.float32,
) -> list[EquivarianceError]:
    """Measure equivariance without any interpolation, at random points of noise.

    Parameters
    ----------
    network : callable
        Image (B, C, H, W) → field (B, F, 2, H', W') or maps (B, F, H', W'), with odd
        sides: only the middle is compared. Padded or not: the middle sees the patch.
    probes : Probes
    angles : sequence of float
        Radians, clockwise.
    strong : float
        See `compare_vectors`.
    dtype : torch.dtype
        What the network takes.

    Returns
    -------
    list of EquivarianceError, one for each angle
    """

    def answer(angle: float) -> Tensor:
        with torch.no_grad():
            return _middle(network(probes.patches(angle).to(dtype)))

    upright = answer(0.0)
    return [
        compare_vectors(
            answer(angle), _turned(upright, angle), turned=angle, strong=strong
        )
        for angle in angles
    ]


def _middle(output: Tensor) -> Tensor:
    """(C, 2, N) of a field, (C, 1, N) of maps: the vector in the middle of each."""
    height, width = output.shape[-2:]
    if height % 2 == 0 or width % 2 == 0:
        raise ValueError(
            "the network's output must have odd sides, so that a pixel is its middle, "
            f"got {height}x{width}: choose another size"
        )
    vectors = output if output.ndim == 5 else output.unsqueeze(2)
    return vectors[..., height // 2, width // 2].permute(1, 2, 0).double()


def _turned(vectors: Tensor, angle: float) -> Tensor:
    """Turn (C, 2, N); values (C, 1, N) stay."""
    return vectors if vectors.shape[1] == 1 else turn_vectors(vectors, angle, dim=1)
