"""The direction of membranes: from labels, for training and scoring; from raw images.

A membrane has an axis, not a direction: angles are axial, in [0, π), in radians from
right towards down (`angles`). Each comes with a weight in [0, 1] that says how much of
a line there is: high along a membrane, low where membranes meet, end or swell.
No torch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage
from skimage.feature import structure_tensor

from roteq_core.angles import wrap_axial
from roteq_core.angular import angular_error

# In pixels of the challenge's stack, where membranes are 6 to 12 wide.
_EDGE_SCALE = 1.5
_TANGENT_SCALE = 4.0
_LARGEST_HALF_WIDTH = 10.0


@dataclass(frozen=True)
class DirectionError:
    """Axial error of directions in degrees, in [0, 90].

    Parameters
    ----------
    mean, median : float
        Weighted over the pixels.
    share_good : float
        Weighted share of errors below 15°.
    pixels : int
        How many pixels have any weight.
    """

    mean: float
    median: float
    share_good: float
    pixels: int


def membrane_direction(
    membranes: np.ndarray,
    *,
    scale: float = _TANGENT_SCALE,
    largest_half_width: float = _LARGEST_HALF_WIDTH,
) -> tuple[np.ndarray, np.ndarray]:
    """Give the direction of labelled membranes.

    The two edges of a membrane are lines along it. Their squared gradients, averaged
    with a Gaussian of `scale` pixels about a pixel, make a structure tensor with
    eigenvalues λ₁ ≥ λ₂; the membrane runs along the second eigenvector and the weight
    is the coherence (λ₁ - λ₂) / (λ₁ + λ₂). Nothing beyond the image's border counts.

    Parameters
    ----------
    membranes : bool array of shape (H, W)
        True on membranes.
    scale : float
        How far, in pixels, the direction is averaged along the membrane.
    largest_half_width : float
        Membrane pixels farther than this from an edge have no weight.

    Returns
    -------
    angle : float array of shape (H, W)
        Axial radians in [0, π).
    weight : float array of shape (H, W)
        In [0, 1]; 0 off the membranes.
    """
    membranes = _checked_plane(membranes, "membranes")
    if membranes.dtype != bool:
        raise ValueError(f"membranes must be bool, got {membranes.dtype}")
    soft = membranes.astype(float)
    down, right = (
        ndimage.gaussian_filter(soft, _EDGE_SCALE, order=order, mode="nearest")
        for order in ((1, 0), (0, 1))
    )
    inside = _inside(membranes.shape, margin=round(_EDGE_SCALE))
    tensor = [
        ndimage.gaussian_filter(product * inside, scale, mode="constant")
        for product in (right * right, right * down, down * down)
    ]
    angle, coherence = _axis_of(*tensor)
    thin = ndimage.distance_transform_edt(membranes) <= largest_half_width
    return angle, np.where(membranes & thin, coherence, 0.0)


def structure_tensor_direction(
    image: np.ndarray, sigma: float = _TANGENT_SCALE, *, smoothing: float = _EDGE_SCALE
) -> tuple[np.ndarray, np.ndarray]:
    """Give the direction of lines in a raw image, by scikit-image's structure tensor.

    The customary way to get orientations without training; our baseline.

    Parameters
    ----------
    image : array of shape (H, W)
        Gray values; dark or bright lines alike.
    sigma : float
        Standard deviation in pixels of the Gaussian that averages the tensor.
    smoothing : float
        Standard deviation of the Gaussian applied to the image first; 0 for none.

    Returns
    -------
    angle : float array of shape (H, W)
        Axial radians in [0, π).
    coherence : float array of shape (H, W)
        In [0, 1]; 0 where the image is flat.
    """
    image = _checked_plane(image, "an image").astype(float)
    smooth = ndimage.gaussian_filter(image, smoothing) if smoothing else image
    rows, mixed, columns = structure_tensor(  # type: ignore[no-untyped-call]
        smooth, sigma, mode="nearest", order="rc"
    )
    return _axis_of(columns, mixed, rows)


def direction_error(
    predicted: npt.ArrayLike, truth: npt.ArrayLike, weight: npt.ArrayLike | None = None
) -> DirectionError:
    """Measure how far axes are from the true ones.

    Parameters
    ----------
    predicted, truth : arrays of axial radians, of the same shape
        Directions.
    weight : array of the same shape, optional
        How much each pixel counts, 0 for not at all; all alike if not given.
    """
    error = angular_error(predicted, truth, axial=True)
    weights = np.ones(error.shape) if weight is None else np.asarray(weight, float)
    if weights.shape != error.shape:
        raise ValueError(
            f"weight must have the shape of the angles {error.shape}, "
            f"got {weights.shape}"
        )
    counted = weights > 0
    if not counted.any():
        raise ValueError("weight must be above 0 somewhere, got 0 everywhere")
    error, weights = error[counted], weights[counted]
    return DirectionError(
        mean=float(np.average(error, weights=weights)),
        median=_weighted_median(error, weights),
        share_good=float(np.average(error < 15.0, weights=weights)),
        pixels=int(counted.sum()),
    )


def _axis_of(
    uu: np.ndarray, uv: np.ndarray, vv: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Give the axis across the steepest gradients of a tensor, and its coherence."""
    steepest = 0.5 * np.arctan2(2 * uv, uu - vv)
    energy = uu + vv
    difference = np.hypot(uu - vv, 2 * uv)
    has_edge = energy > 1e-9 * energy.max(initial=0.0)
    coherence = np.zeros_like(energy)
    np.divide(difference, energy, out=coherence, where=has_edge)
    return wrap_axial(steepest + np.pi / 2), np.clip(coherence, 0.0, 1.0)


def _inside(shape: tuple[int, ...], margin: int) -> np.ndarray:
    """Mark the pixels at least `margin` from the border of an image."""
    inside = np.zeros(shape, bool)
    inside[margin : shape[0] - margin, margin : shape[1] - margin] = True
    return inside


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values)
    behind = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(behind, behind[-1] / 2)])


def _checked_plane(plane: np.ndarray, name: str) -> np.ndarray:
    plane = np.asarray(plane)
    if plane.ndim != 2:
        raise ValueError(f"{name} must have shape (H, W), got {plane.shape}")
    return plane
