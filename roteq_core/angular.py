"""Score angles: errors on a circle, summaries of headings, tests of uniformity.

Errors are in degrees, because people read them; the angles themselves are radians as
everywhere inside (`angles`). A *directed* error lies in [0, 180], an *axial* one in
[0, 90].
No torch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roteq_core.angles import TURN, circular_mean, difference, heading_from_angle

#: Errors below this many degrees are good, above `FLIPPED` front and rear are swapped.
GOOD = 15.0
FLIPPED = 150.0


@dataclass(frozen=True)
class HeadingBin:
    """Errors of the headings whose truth falls into one bin, in degrees.

    The bin holds `heading_cw_from_up_deg` in [low, high); the first may start below 0.
    Mean and median are NaN where `count` is 0.
    """

    low: float
    high: float
    count: int
    mean: float
    median: float
    share_flipped: float


@dataclass(frozen=True)
class HeadingSummary:
    """How far predicted headings are from the true ones.

    Parameters
    ----------
    count : int
        How many headings.
    mean, median : float
        Error in degrees.
    share_good, share_flipped : float
        Share of errors below 15° and above 150°.
    histogram : tuple of int
        Errors counted in steps of `histogram_step` degrees from 0 to 180.
    bias : float
        Circular mean of the signed error in degrees, clockwise on the screen positive.
    bins : tuple of HeadingBin
        By true heading; the first bin is centered on up.
    """

    count: int
    mean: float
    median: float
    share_good: float
    share_flipped: float
    histogram: tuple[int, ...]
    histogram_step: float
    bias: float
    bins: tuple[HeadingBin, ...]


def angular_error(
    predicted: npt.ArrayLike, truth: npt.ArrayLike, *, axial: bool = False
) -> np.ndarray:
    """Give the angle between predictions and truth, in degrees.

    Parameters
    ----------
    predicted, truth : arrays of radians that broadcast
        Angles.
    axial : bool
        Whether they are axes, equal after half a turn.

    Returns
    -------
    float array
        In [0, 180], or [0, 90] for axes.
    """
    period = np.pi if axial else TURN
    error: np.ndarray = np.rad2deg(np.abs(difference(predicted, truth, period)))
    return error


def summarize_headings(
    predicted: npt.ArrayLike,
    truth: npt.ArrayLike,
    *,
    bins: int = 8,
    histogram_step: float = 5.0,
) -> HeadingSummary:
    """Summarize the errors of headings, as a whole and by true heading.

    Parameters
    ----------
    predicted, truth : arrays of radians of the same shape
        Directed angles.
    bins : int
        Number of bins of the true heading.
    histogram_step : float
        Degrees; must divide 180.
    """
    predicted, truth = np.ravel(predicted), np.ravel(truth)
    if predicted.shape != truth.shape or truth.size == 0:
        raise ValueError(
            "predicted and true headings must be as many and at least one, "
            f"got {predicted.size} and {truth.size}"
        )
    steps = round(180 / histogram_step)
    if steps < 1 or not np.isclose(steps * histogram_step, 180):
        raise ValueError(f"histogram_step must divide 180, got {histogram_step}")
    error = angular_error(predicted, truth)
    signed, _ = circular_mean(difference(predicted, truth))
    return HeadingSummary(
        count=int(error.size),
        mean=float(error.mean()),
        median=float(np.median(error)),
        share_good=float((error < GOOD).mean()),
        share_flipped=float((error > FLIPPED).mean()),
        histogram=tuple(np.histogram(error, steps, (0, 180))[0].tolist()),
        histogram_step=histogram_step,
        bias=float(np.rad2deg(difference(signed, 0.0))),
        bins=_bin_by_heading(error, heading_from_angle(truth), bins),
    )


def _bin_by_heading(
    error: np.ndarray, heading: np.ndarray, bins: int
) -> tuple[HeadingBin, ...]:
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    width = 360 / bins
    index = np.floor((heading + width / 2) / width).astype(int) % bins
    table = []
    for n in range(bins):
        own = error[index == n]
        nothing = np.full(1, np.nan)
        table.append(
            HeadingBin(
                low=(n - 0.5) * width,
                high=(n + 0.5) * width,
                count=int(own.size),
                mean=float((own if own.size else nothing).mean()),
                median=float(np.median(own if own.size else nothing)),
                share_flipped=float(
                    (own > FLIPPED).mean() if own.size else np.nan,
                ),
            )
        )
    return tuple(table)


def rayleigh_test(angle: npt.ArrayLike, *, period: float = TURN) -> tuple[float, float]:
    """Test whether angles prefer a direction.

    With n angles of resultant length R, the chance that uniform angles give at least
    R (Zar, Biostatistical Analysis, 27.4):

        p = exp(√(1 + 4n + 4(n² - n²R²)) - (1 + 2n))

    Parameters
    ----------
    angle : array of radians
        The sample.
    period : float
        2π for directed angles, π for axes.

    Returns
    -------
    (resultant, p_value) : float, float
        Both NaN without angles.
    """
    angle = np.ravel(angle)
    if angle.size == 0:
        return float("nan"), float("nan")
    _, resultant = circular_mean(angle, period=period)
    n = angle.size
    spread = 1 + 4 * n + 4 * n**2 * (1 - resultant**2)
    p_value = float(np.exp(np.sqrt(max(spread, 0.0)) - (1 + 2 * n)))
    return resultant, min(1.0, p_value)
