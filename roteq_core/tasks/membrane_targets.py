"""What the membrane network should say: three classes, center lines and directions.

The paper turns the two-class problem into three (section "Equivariance: ISBI 2012"):
the inside of cells, the center line of a membrane, and the strip of cell beside it,
which can then be weighed more. Membrane pixels in neither are not asked about.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage
from skimage.morphology import skeletonize

from roteq_core.membranes.direction import membrane_direction
from roteq_core.membranes.label_meaning import Meaning, read_labels

INSIDE, CENTER, BESIDE, IGNORED = 0, 1, 2, 3

# Pixels from the center line that still belong to it, and from the membrane outwards
# that are "beside" it.
CENTER_RADIUS = 2.0
BESIDE_WIDTH = 4.0


@dataclass(frozen=True)
class MembraneTargets:
    """What the network should say about one slice.

    Parameters
    ----------
    classes : uint8 array of shape (H, W)
        0 inside, 1 center line, 2 beside, 3 ignored.
    skeleton : float32 array of shape (H, W)
        The center line itself, one pixel wide.
    axes : float32 array of shape (2, H, W)
        Weight · (cos 2θ, sin 2θ) of the membrane's direction, zero elsewhere.
    """

    classes: np.ndarray
    skeleton: np.ndarray
    axes: np.ndarray

    def maps(self) -> np.ndarray:
        """All as float32 maps (4, H, W): classes, skeleton, axes."""
        return np.concatenate(
            [self.classes[None].astype(np.float32), self.skeleton[None], self.axes]
        )


def membrane_targets(
    membranes: np.ndarray, known: np.ndarray | None = None
) -> MembraneTargets:
    """Make three-class targets and directions from binary membranes.

    Parameters
    ----------
    membranes : bool array of shape (H, W)
    known : bool array of shape (H, W), optional
        Where there are labels; the rest is ignored, and so is the rim of what is
        known: whether a membrane goes on or lies beside it is not known there.
    """
    membranes = np.asarray(membranes, dtype=bool)
    skeleton = skeletonize(membranes)  # type: ignore[no-untyped-call]
    from_center = ndimage.distance_transform_edt(~skeleton)
    from_membrane = ndimage.distance_transform_edt(~membranes)
    classes = np.full(membranes.shape, INSIDE, np.uint8)
    classes[membranes] = IGNORED
    classes[membranes & (from_center <= CENTER_RADIUS)] = CENTER
    classes[~membranes & (from_membrane <= BESIDE_WIDTH)] = BESIDE
    if not skeleton.any():  # nothing is near a membrane that is not there
        classes[...] = INSIDE
    angle, weight = membrane_direction(membranes)
    weight = np.where(classes == CENTER, weight, 0)
    axes = np.stack([weight * np.cos(2 * angle), weight * np.sin(2 * angle)])
    if known is not None and not known.all():
        known = _without_rim(known)
        classes[~known] = IGNORED
        skeleton = skeleton & known
        axes = axes * known
    return MembraneTargets(
        classes, skeleton.astype(np.float32), axes.astype(np.float32)
    )


def _without_rim(known: np.ndarray) -> np.ndarray:
    """Take the rim from known areas; strokes too narrow to have an inside stay."""
    inner = ndimage.distance_transform_edt(known) > BESIDE_WIDTH
    if not inner.any():
        return known
    is_wide = ndimage.distance_transform_edt(~inner) <= 1.5 * BESIDE_WIDTH  # corners
    return np.asarray(inner | (known & ~is_wide))


def membranes_from_labels(
    labels: np.ndarray, kind: Meaning | None = None, *, ignore: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Read membranes and what is known from labels; see `read_labels`.

    Parameters
    ----------
    labels : array of shape (H, W) or (Z, H, W)
        Binary membranes or cells, or numbered cells with 0 between them.
    kind : {"labels", "membranes", "cells", "painted"}, optional
        What values above 0 are; decided by a stated rule if not given.
    ignore : int, optional
        The value of pixels that nobody labelled.

    Returns
    -------
    (membranes, known) : bool arrays of the same shape
    """
    stack = labels if labels.ndim == 3 else labels[None]
    found = read_labels(stack, kind, ignore=ignore)
    return found.membranes.reshape(labels.shape), found.known.reshape(labels.shape)
