"""Membranes: a stack and its labels as a training, and prediction of a slice.

What the network is asked for is in `membrane_targets`, what it pays in `membrane_loss`,
how it learns from labels of any extent in `membrane_pieces`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from roteq_core.jobs import drain
from roteq_core.membranes.labelled_stack import Piece
from roteq_core.membranes.walls import mend_membranes
from roteq_core.net_config import MembraneNetConfig
from roteq_core.normalize import fit_normalization
from roteq_core.predict import iter_predict_maps
from roteq_core.tasks.membrane_loss import membrane_loss
from roteq_core.tasks.membrane_pieces import MembranePieces
from roteq_core.tasks.membrane_planes import axis_angle, plane_direction_error
from roteq_core.tasks.membrane_targets import (
    CENTER,
    IGNORED,
    INSIDE,
    MembraneTargets,
    membrane_targets,
    membranes_from_labels,
)

__all__ = [
    "CENTER",
    "IGNORED",
    "INSIDE",
    "MembraneTargets",
    "MembraneTask",
    "axis_angle",
    "membrane_loss",
    "membrane_maps",
    "membrane_targets",
    "membranes_from_labels",
    "plane_direction_error",
    "predict_plane",
]


class MembraneTask(MembranePieces):
    """Training data, loss and validation of a membrane network, from one stack.

    Each slice is a piece.

    Parameters
    ----------
    images : array of shape (Z, H, W)
        Raw slices.
    membranes : bool array of shape (Z, H, W)
    known : bool array of shape (Z, H, W), optional
        Where labels exist.
    held_out : sequence of int
        Slices for validation, a contiguous block: neighbors resemble each other.
    network : MembraneNetConfig
    """

    def __init__(
        self,
        images: np.ndarray,
        membranes: np.ndarray,
        known: np.ndarray | None = None,
        *,
        held_out: Sequence[int] = (),
        network: MembraneNetConfig | None = None,
    ):
        _check_pair(images, membranes, known)
        held = sorted(set(held_out))
        _check_held_out(held, len(images))
        self.normalization = fit_normalization(images)
        truth = np.asarray(membranes, bool)
        known = np.ones(truth.shape, bool) if known is None else known
        normal = self.normalization.apply(images)
        self.train_slices = [z for z in range(len(images)) if z not in held]
        super().__init__(
            [
                Piece(normal[z], truth[z], known[z], is_held_out=z in held, plane=z)
                for z in range(len(images))
            ],
            network=network,
        )
        if held and not (known[held] & ~truth[held]).any():
            raise ValueError(f"the held-out slices {held} show no labelled cell")


def membrane_maps(network: nn.Module, image: Tensor) -> Tensor:
    """Run the network on (1, C, H, W): maps (3, H, W), probability and direction."""
    maps = network(image)
    probability = maps.scores[0].softmax(0)[CENTER : CENTER + 1]
    return torch.cat([probability, maps.direction[0]])


def predict_plane(
    network: nn.Module, image: np.ndarray, device: torch.device
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predict a normalized plane (H, W): probability, axial angle and strength.

    Membranes are mended, as `roteq segment` does.
    """
    job = iter_predict_maps(network, image[None], membrane_maps, device=device)
    probability, cos2, sin2 = drain(job)
    return (
        mend_membranes(probability, cos2, sin2),
        axis_angle(cos2, sin2),
        np.hypot(cos2, sin2),
    )


def _check_pair(
    images: np.ndarray, membranes: np.ndarray, known: np.ndarray | None
) -> None:
    if images.ndim != 3:
        raise ValueError(f"images must have shape (Z, H, W), got {images.shape}")
    for name, labels in (("membranes", membranes), ("known", known)):
        if labels is not None and labels.shape != images.shape:
            raise ValueError(
                f"images and {name} must have the same shape, got {images.shape} "
                f"and {labels.shape}"
            )


def _check_held_out(held: list[int], count: int) -> None:
    if held and not 0 <= held[0] <= held[-1] < count:
        raise ValueError(f"held_out slices must lie in 0…{count - 1}, got {held}")
    if held and held[-1] - held[0] + 1 != len(held):
        raise ValueError(
            "held_out slices must be one block, since neighbors resemble each "
            f"other, got {held}"
        )
    if len(held) == count:
        raise ValueError(f"no slice is left to train on: all {count} held out")
