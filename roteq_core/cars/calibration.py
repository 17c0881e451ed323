"""Error bars that hold: raw spreads and flip chances, set against known headings.

A network says how sure it is, but not on a scale that can be trusted. On cars whose
headings are known, spreads are stretched until a stated 90 % interval holds 90 % of
them, and flip chances until they agree with how often front and rear were swapped.
Degrees throughout. No torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

INTERVAL = 0.9
Z = 1.6449  # half a 90 % interval, in standard deviations
LARGEST_SD = 103.9  # of a heading of which nothing is known
LARGEST_FLIP = 0.5
LARGEST_SHARE = 0.97  # of the cars that are not flipped
_TINY = 1e-6


@dataclass(frozen=True)
class HeadingCalibration:
    """How raw spreads become standard deviations, and raw flip chances true ones.

        sd = scale · √(density² + (copies_weight · copies)² + floor²)
        logit p_flip = slope · logit p_raw + offset, at most 0

    Parameters
    ----------
    scale, floor, copies_weight : float
    slope, offset : float
    cars : int
        How many cars it was fitted to; 0 where nothing was.
    """

    scale: float = 1.0
    floor: float = 3.0
    copies_weight: float = 1.0
    slope: float = 1.0
    offset: float = 0.0
    cars: int = 0

    def sd(self, density: np.ndarray, copies: np.ndarray) -> np.ndarray:
        """Standard deviations from the spread of the density and that of the copies."""
        raw = _raw_sd(density, copies, self.copies_weight, self.floor)
        return np.minimum(self.scale * raw, LARGEST_SD)

    def p_flip(self, raw: np.ndarray) -> np.ndarray:
        """Give the chance that front and rear are swapped, at most a half.

        Were it more, the heading should have been the opposite one; but the half
        circle with most of the density was chosen, and a fit to few cars does not
        overrule it.
        """
        stretched = _sigmoid(self.slope * _logit(raw) + self.offset)
        return np.asarray(np.minimum(stretched, LARGEST_FLIP))

    def as_dict(self) -> dict[str, Any]:
        """Give plain values, for a model's card."""
        return asdict(self)


def calibration_from(values: Mapping[str, Any] | None) -> HeadingCalibration:
    """Read a calibration from a card; without one nothing is stretched."""
    return HeadingCalibration(**values) if values else HeadingCalibration()


def fit_calibration(
    errors: np.ndarray,
    density: np.ndarray,
    copies: np.ndarray,
    flip: np.ndarray,
    *,
    weights: np.ndarray | None = None,
) -> HeadingCalibration:
    """Fit to cars whose headings are known.

    Parameters
    ----------
    errors : array of shape (n,)
        Degrees in [0, 180].
    density, copies : arrays of shape (n,)
        Raw spreads in degrees: of the density, and among turned copies.
    flip : array of shape (n,)
        Raw flip chances.
    weights : array of shape (n,), optional
        How much each car counts.
    """
    errors = np.asarray(errors, float)
    if errors.size < 20:
        raise ValueError(f"a calibration needs at least 20 cars, got {errors.size}")
    weights = np.ones(errors.size) if weights is None else np.asarray(weights, float)
    weights = weights / weights.sum() * errors.size
    copies_weight, floor = _fit_shape(errors, density, copies, weights)
    ahead = errors < 90
    ratio = errors / _raw_sd(density, copies, copies_weight, floor)
    # Flipped cars are outside any honest interval; as far as they leave room, the
    # others make up for them, so that 90 % of all cars are inside.
    share = INTERVAL * weights.sum() / weights[ahead].sum()
    level = min(share, LARGEST_SHARE)
    scale = weighted_quantile(ratio[ahead], weights[ahead], level) / Z
    slope, offset = _fit_flips(errors > 90, flip, weights)
    return HeadingCalibration(
        float(max(scale, 0.05)), floor, copies_weight, slope, offset, errors.size
    )


def coverage(errors: np.ndarray, sd: np.ndarray) -> float:
    """Share of cars whose error lies within their stated 90 % interval."""
    return float((np.asarray(errors) <= Z * np.asarray(sd)).mean())


def weighted_quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Smallest value below which lies a share of the weight."""
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    at = np.searchsorted(total, share * total[-1])
    return float(values[order][min(at, len(values) - 1)])


def _raw_sd(
    density: np.ndarray, copies: np.ndarray, copies_weight: float, floor: float
) -> np.ndarray:
    return np.asarray(
        np.sqrt(
            np.square(density)
            + np.square(copies_weight * np.asarray(copies))
            + floor**2
        )
    )


def _fit_shape(
    errors: np.ndarray, density: np.ndarray, copies: np.ndarray, weights: np.ndarray
) -> tuple[float, float]:
    """Weight of the copies and floor under which unflipped errors are likeliest."""
    ahead = errors < 90
    best, chosen = np.inf, (1.0, 3.0)
    for copies_weight in (0.0, 0.5, 1.0, 2.0):
        for floor in (0.5, 1.0, 2.0, 3.0, 5.0):
            raw = _raw_sd(density, copies, copies_weight, floor)[ahead]
            ratio = errors[ahead] / raw
            # Laplace: errors of headings have heavier tails than a normal.
            width = np.average(ratio, weights=weights[ahead]) + _TINY
            cost = np.average(np.log(raw), weights=weights[ahead]) + np.log(width)
            if cost < best:
                best, chosen = cost, (copies_weight, floor)
    return chosen


def _fit_flips(
    flipped: np.ndarray, raw: np.ndarray, weights: np.ndarray
) -> tuple[float, float]:
    """Logistic regression, held near slope 1 and offset 0 by a prior worth few cars."""
    x = np.stack([_logit(raw), np.ones(len(raw))], 1)
    beta, prior = np.array([1.0, 0.0]), np.diag([4.0, 0.5])
    start = beta.copy()
    for _ in range(50):
        p = _sigmoid(x @ beta)
        slope = x.T @ (weights * (flipped - p)) - prior @ (beta - start)
        bend = (x * (weights * p * (1 - p))[:, None]).T @ x + prior
        step = np.linalg.solve(bend, slope)
        beta = beta + np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-9:
            break
    return float(max(beta[0], 0.05)), float(beta[1])


def _logit(p: np.ndarray) -> np.ndarray:
    p = np.clip(np.asarray(p, float), _TINY, 1 - _TINY)
    return np.asarray(np.log(p) - np.log1p(-p))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -40, 40))))
