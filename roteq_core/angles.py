"""Angles: the project's conventions, and the only place that converts between them.

Inside, an angle is in radians from +u (right, along columns) towards +v (down, along
rows): clockwise on the screen. Outside, the name always carries the convention:
`heading_cw_from_up_deg` is the compass (0 up, 90 right), `angle_ccw_from_right_deg` the
mathematician's (0 right, 90 up). A *directed* angle repeats after 360°, an *axial* one
(a membrane, a road) after 180°. No torch here, so that the viewer may import it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

TURN = 2 * np.pi
Degrees = npt.ArrayLike
Radians = npt.ArrayLike


def wrap_directed(angle: Radians) -> np.ndarray:
    """Bring radians into [0, 2π)."""
    return _wrap(angle, TURN)


def wrap_axial(angle: Radians) -> np.ndarray:
    """Bring the radians of an axis into [0, π)."""
    return _wrap(angle, np.pi)


def _wrap(angle: npt.ArrayLike, period: float) -> np.ndarray:
    wrapped = np.mod(np.asarray(angle, dtype=float), period)
    # A tiny negative angle rounds up to the period itself.
    return np.where(wrapped >= period, 0.0, wrapped)


def angle_from_vector(u: npt.ArrayLike, v: npt.ArrayLike) -> np.ndarray:
    """Give the angle of the vector (u right, v down), in [0, 2π)."""
    return wrap_directed(np.arctan2(v, u))


def vector_from_angle(angle: Radians) -> np.ndarray:
    """Give the unit vectors (..., 2), u then v, of angles (...)."""
    angle = np.asarray(angle, dtype=float)
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def heading_from_angle(angle: Radians) -> np.ndarray:
    """Convert our radians to `heading_cw_from_up_deg` in [0, 360)."""
    return _wrap(np.rad2deg(angle) + 90.0, 360.0)


def angle_from_heading(heading_cw_from_up_deg: Degrees) -> np.ndarray:
    """Convert `heading_cw_from_up_deg` to our radians in [0, 2π)."""
    return wrap_directed(np.deg2rad(np.asarray(heading_cw_from_up_deg, float) - 90.0))


def ccw_from_angle(angle: Radians) -> np.ndarray:
    """Convert our radians to `angle_ccw_from_right_deg` in [0, 360)."""
    return _wrap(-np.rad2deg(angle), 360.0)


def angle_from_ccw(angle_ccw_from_right_deg: Degrees) -> np.ndarray:
    """Convert `angle_ccw_from_right_deg` to our radians in [0, 2π)."""
    return wrap_directed(-np.deg2rad(angle_ccw_from_right_deg))


def ccw_from_heading(heading_cw_from_up_deg: Degrees) -> np.ndarray:
    """Convert `heading_cw_from_up_deg` to `angle_ccw_from_right_deg`, in [0, 360)."""
    return _wrap(90.0 - np.asarray(heading_cw_from_up_deg, float), 360.0)


def heading_from_ccw(angle_ccw_from_right_deg: Degrees) -> np.ndarray:
    """Convert `angle_ccw_from_right_deg` to `heading_cw_from_up_deg`, in [0, 360)."""
    return _wrap(90.0 - np.asarray(angle_ccw_from_right_deg, float), 360.0)


def difference(a: npt.ArrayLike, b: npt.ArrayLike, period: float = TURN) -> np.ndarray:
    """Signed smallest a - b on a circle of `period`, in [-period/2, period/2)."""
    gap = np.asarray(a, float) - np.asarray(b, float)
    return _wrap(gap + period / 2, period) - period / 2


def circular_mean(
    angle: Radians, weights: npt.ArrayLike | None = None, *, period: float = TURN
) -> tuple[float, float]:
    """Mean angle on a circle and the resultant length in [0, 1].

    Parameters
    ----------
    angle : array of radians
    weights : array of the same shape, optional
    period : float
        2π for directed angles, π for axial ones.

    Returns
    -------
    (mean, resultant) : float, float
        `mean` lies in [0, period); it is NaN where there are no angles. A resultant of
        1 says that all angles agree, 0 that no direction is preferred.
    """
    angle = np.asarray(angle, dtype=float).ravel()
    weights = np.ones_like(angle) if weights is None else np.ravel(weights)
    total = float(np.sum(weights))
    if angle.size == 0 or total <= 0:
        return float("nan"), 0.0
    mean = np.sum(weights * np.exp(1j * angle * TURN / period)) / total
    return float(_wrap(np.angle(mean) * period / TURN, period)), float(np.abs(mean))
