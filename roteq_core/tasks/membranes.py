"""Membranes: targets, loss and validation for training the membrane network.

The paper turns the two-class problem into three (section "Equivariance: ISBI 2012"):
the inside of cells, the center line of a membrane, and the strip of cell beside it,
which can then be weighed more. Membrane pixels in neither are not asked about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy import ndimage
from skimage.morphology import skeletonize
from torch import Tensor, nn

from roteq_core.augment import as_batch, random_intensity, random_warp
from roteq_core.config import MembraneNetConfig, TrainConfig
from roteq_core.direction import direction_error, membrane_direction
from roteq_core.metrics import score_stack
from roteq_core.networks import MembraneMaps
from roteq_core.normalize import fit_normalization
from roteq_core.polarity import TruthKind, decide_truth

INSIDE, CENTER, BESIDE, IGNORED = 0, 1, 2, 3

# Pixels from the center line that still belong to it, and from the membrane outwards
# that are "beside" it.
CENTER_RADIUS = 2.0
BESIDE_WIDTH = 4.0
# How much a pixel of each class counts.
CLASS_WEIGHTS = (0.5, 2.0, 1.5)
GAP_WEIGHT = 0.5
DIRECTION_WEIGHT = 0.5


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
        Where the labels may be trusted; the rest is ignored.
    """
    membranes = np.asarray(membranes, dtype=bool)
    skeleton = skeletonize(membranes)
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
    if known is not None:
        classes[~known] = IGNORED
        skeleton = skeleton & known
        axes = axes * known
    return MembraneTargets(
        classes, skeleton.astype(np.float32), axes.astype(np.float32)
    )


def membranes_from_labels(
    labels: np.ndarray, kind: TruthKind | None = None, *, ignore: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Read membranes and what is known from binary or numbered labels.

    Parameters
    ----------
    labels : array of shape (..., H, W)
        Binary membranes or cells, or numbered cells with 0 between them.
    kind : {"labels", "membranes", "cells"}, optional
        What values above 0 are; decided by a stated rule if not given.
    ignore : int, optional
        The value of pixels that nobody labelled.

    Returns
    -------
    (membranes, known) : bool arrays of the same shape
    """
    known = np.ones(labels.shape, bool) if ignore is None else labels != ignore
    decided = decide_truth(labels, kind, ignore=ignore).value
    high = labels > 0
    membranes = high if decided == "membranes" else ~high
    return membranes & known, known


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
        """Score the held-out slices: V-Rand, V-Info and direction error."""
        if not self.held_out:
            return {}
        maps = [predict_plane(network, self.images[z], device) for z in self.held_out]
        probability = np.stack([m[0] for m in maps])
        truth = self.truth[self.held_out]
        result = score_stack(
            probability,
            truth.astype(np.uint8),
            thresholds=[i / 10 for i in range(1, 10)],
            polarity="membranes",
            truth_kind="membranes",
        )
        errors = []
        for (_, angle, _), membranes in zip(maps, truth, strict=True):
            true_angle, weight = membrane_direction(membranes)
            errors.append(direction_error(angle, true_angle, weight).mean)
        return {
            "score": result.v_rand,
            "v_rand": result.v_rand,
            "v_info": result.v_info,
            "direction_deg": float(np.mean(errors)),
            "preview": probability[0],
        }


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


def predict_plane(
    network: nn.Module, image: np.ndarray, device: torch.device
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predict a normalized plane (H, W) at once: probability, angle and strength."""
    height, width = image.shape
    padded = np.pad(image, [(0, -height % 8), (0, -width % 8)])
    with torch.inference_mode():
        maps = network(torch.from_numpy(padded)[None, None].to(device))
    return maps_to_planes(maps, height, width)


def maps_to_planes(
    maps: MembraneMaps, height: int, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probability, axial angle in [0, π) and strength of the first image of a batch."""
    probability = (
        maps.scores[0].softmax(0)[CENTER, :height, :width].float().cpu().numpy()
    )
    cos2, sin2 = maps.direction[0, :, :height, :width].float().cpu().numpy()
    angle = np.mod(np.arctan2(sin2, cos2) / 2, np.pi)
    return probability, angle, np.hypot(cos2, sin2)


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
