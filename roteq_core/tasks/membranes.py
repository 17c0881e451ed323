"""Membranes: data, loss and validation for training the membrane network.

What the network is asked for is in `membrane_targets`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from roteq_core.augment import as_batch, random_intensity, random_warp
from roteq_core.config import MembraneNetConfig, TrainConfig
from roteq_core.direction import direction_error, membrane_direction
from roteq_core.jobs import drain
from roteq_core.metrics import MembraneScore, score_stack
from roteq_core.networks import MembraneMaps
from roteq_core.normalize import fit_normalization
from roteq_core.predict import iter_predict_maps
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
    "predict_plane",
]

# How much a pixel of each class counts.
CLASS_WEIGHTS = (0.5, 2.0, 1.5)
GAP_WEIGHT = 0.5
DIRECTION_WEIGHT = 0.5
# What pixels without a label are called while scoring.
UNKNOWN = 255


class MembraneTask:
    """Training data, loss and validation of a membrane network.

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
        self.network = network or MembraneNetConfig()
        self.normalization = fit_normalization(images)
        self.images = self.normalization.apply(images)
        held = sorted(set(held_out))
        if held and not 0 <= held[0] <= held[-1] < len(images):
            raise ValueError(
                f"held_out slices must lie in 0…{len(images) - 1}, got {held}"
            )
        if held and held[-1] - held[0] + 1 != len(held):
            raise ValueError(
                "held_out slices must be one block, since neighbors resemble each "
                f"other, got {held}"
            )
        self.train_slices = [z for z in range(len(images)) if z not in held]
        if not self.train_slices:
            raise ValueError(
                f"no slice is left to train on: all {len(images)} held out"
            )
        self.held_out = held
        self.truth = np.asarray(membranes, bool)
        self.known = np.ones(self.truth.shape, bool) if known is None else known
        self.targets = {
            z: membrane_targets(self.truth[z], self.known[z]).maps()
            for z in self.train_slices
            if self.known[z].any()
        }
        if not self.targets:
            raise ValueError("no pixel of the training slices is labelled")
        has_cell = self.known[held] & ~self.truth[held]
        if held and not has_cell.any():
            raise ValueError(f"the held-out slices {held} show no labelled cell")

    def batch(self, config: TrainConfig, rng: np.random.Generator) -> dict[str, Tensor]:
        """Draw crops and their targets."""
        images, classes, skeletons, axes = [], [], [], []
        slices = list(self.targets)
        for _ in range(config.batch):
            z = slices[rng.integers(len(slices))]
            image, targets = self.images[z], self.targets[z]
            warp = random_warp(image.shape, config.crop, config, rng)
            crop = random_intensity(warp.read(image[None]), config.intensity, rng)
            exact = warp.read(targets[:1], nearest=True)
            soft = warp.read(targets[1:])
            exact[0][~warp.inside(*image.shape)] = IGNORED
            images.append(crop)
            classes.append(exact)
            skeletons.append(soft[:1])
            axes.append(warp.turn_axes(soft[1:]))
        return {
            "image": as_batch(images),
            "classes": as_batch(classes)[:, 0].long(),
            "skeleton": as_batch(skeletons),
            "axes": as_batch(axes),
        }

    def loss(
        self, network: nn.Module, batch: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, float]]:
        """Give the loss of a batch, and its parts for the log."""
        return membrane_loss(network(batch["image"]), batch)

    def validate(self, network: nn.Module, device: torch.device) -> dict[str, Any]:
        """Score the held-out slices quickly; ``score`` is V-Rand."""
        if not self.held_out:
            return {}
        maps = [predict_plane(network, self.images[z], device) for z in self.held_out]
        result, direction = self.score(maps, [i / 10 for i in range(1, 10)])
        row = {
            "score": result.v_rand,
            "v_rand": result.v_rand,
            "v_info": result.v_info,
            "preview": maps[0][0],
        }
        return row if direction is None else {**row, "direction_deg": direction}

    def score(
        self,
        maps: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
        thresholds: Sequence[float] | None = None,
    ) -> tuple[MembraneScore, float | None]:
        """Score predictions of the held-out slices, unlabelled pixels left out.

        Parameters
        ----------
        maps : sequence of (probability, angle, strength)
            As `predict_plane` gives them, one for each held-out slice.
        thresholds : sequence of float, optional
            Those of `roteq score` if not given.

        Returns
        -------
        (MembraneScore, float or None)
            The scores, and the mean axial error in degrees where there are membranes.
        """
        truth, known = self.truth[self.held_out], self.known[self.held_out]
        result = score_stack(
            np.stack([m[0] for m in maps]),
            np.where(known, truth, UNKNOWN).astype(np.uint8),
            thresholds=thresholds,
            polarity="membranes",
            truth_kind="membranes",
            ignore=UNKNOWN,
        )
        errors = [
            plane_direction_error(angle, membranes, where)
            for (_, angle, _), membranes, where in zip(maps, truth, known, strict=True)
        ]
        found = [error for error in errors if error is not None]
        return result, float(np.mean(found)) if found else None


def plane_direction_error(
    angle: np.ndarray, membranes: np.ndarray, known: np.ndarray
) -> float | None:
    """Mean axial error in degrees along the true membranes; None without any."""
    true_angle, weight = membrane_direction(membranes)
    weight = weight * known
    if not weight.any():
        return None
    return direction_error(angle, true_angle, weight).mean


def membrane_loss(
    maps: MembraneMaps, batch: dict[str, Tensor]
) -> tuple[Tensor, dict[str, float]]:
    """Weigh classes, gaps in center lines, and directions.

    The class term is a weighted cross-entropy. The gap term asks each point of a center
    line for a strong response within a pixel, the more the weaker it is: one broken
    membrane joins two cells. The direction term is the squared error of the axis on
    center lines, and of its strength inside cells.
    """
    weights = torch.tensor([*CLASS_WEIGHTS, 0.0], device=maps.scores.device)
    classes = batch["classes"]
    scores = maps.scores.float()
    pixel_weights = weights[classes]
    asked = classes.clamp(max=scores.shape[1] - 1)
    cross = F.cross_entropy(scores, asked, reduction="none")
    total = pixel_weights.sum().clamp(min=1)
    class_loss = (cross * pixel_weights).sum() / total

    log_center = scores.log_softmax(1)[:, CENTER : CENTER + 1]
    near = F.max_pool2d(log_center, 3, stride=1, padding=1)
    line = batch["skeleton"] * (classes != IGNORED)[:, None]
    gaps = -near * (1 - near.exp().detach())
    gap_loss = (gaps * line).sum() / line.sum().clamp(min=1)

    axes = batch["axes"]
    on_line = (classes == CENTER).float()[:, None]
    off_line = (classes == INSIDE).float()[:, None]
    error = (maps.direction.float() - axes).square().sum(1, keepdim=True)
    direction_loss = (error * (on_line + 0.1 * off_line)).sum() / (
        on_line + 0.1 * off_line
    ).sum().clamp(min=1)

    loss = class_loss + GAP_WEIGHT * gap_loss + DIRECTION_WEIGHT * direction_loss
    parts = {
        "class": class_loss.item(),
        "gap": gap_loss.item(),
        "direction": direction_loss.item(),
    }
    return loss, parts


def membrane_maps(network: nn.Module, image: Tensor) -> Tensor:
    """Run the network on (1, C, H, W): maps (3, H, W), probability and direction."""
    maps = network(image)
    probability = maps.scores[0].softmax(0)[CENTER : CENTER + 1]
    return torch.cat([probability, maps.direction[0]])


def predict_plane(
    network: nn.Module, image: np.ndarray, device: torch.device
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predict a normalized plane (H, W): probability, axial angle and strength."""
    job = iter_predict_maps(network, image[None], membrane_maps, device=device)
    probability, cos2, sin2 = drain(job)
    return probability, axis_angle(cos2, sin2), np.hypot(cos2, sin2)


def axis_angle(cos2: np.ndarray, sin2: np.ndarray) -> np.ndarray:
    """Give the axial angle in [0, π) as float32, from (cos 2θ, sin 2θ)."""
    angle = np.mod(np.arctan2(sin2, cos2) / 2, np.pi).astype(np.float32)
    return np.where(angle < np.pi, angle, np.float32(0))  # π itself by rounding up


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
