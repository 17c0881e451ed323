"""What a membrane network says of one plane: probability, axial angle, strength."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from roteq_core.membranes.direction import direction_error, membrane_direction
from roteq_core.membranes.walls import mend_membranes
from roteq_core.tasks.membrane_targets import CENTER

Maps = tuple[np.ndarray, np.ndarray, np.ndarray]  # probability, angle, strength


def plane_direction_error(
    angle: np.ndarray, membranes: np.ndarray, known: np.ndarray
) -> float | None:
    """Mean axial error in degrees along the true membranes; None without any."""
    true_angle, weight = membrane_direction(membranes)
    weight = weight * known
    if not weight.any():
        return None
    return direction_error(angle, true_angle, weight).mean


def raw_maps(network: nn.Module, image: Tensor) -> Tensor:
    """Run the network on (1, C, H, W): maps (classes + 2, H, W), scores, direction."""
    maps = network(image)
    return torch.cat([maps.scores[0], maps.direction[0]])


def plane_maps(raw: np.ndarray) -> Maps:
    """Give probability, axial angle and strength (H, W) from `raw_maps`.

    Membranes are mended, as `roteq segment` does.
    """
    scores, (cos2, sin2) = raw[:-2], raw[-2:]
    powers = np.exp(scores - scores.max(0))
    probability = mend_membranes(powers[CENTER] / powers.sum(0), cos2, sin2)
    return probability, axis_angle(cos2, sin2), np.hypot(cos2, sin2)


def axis_angle(cos2: np.ndarray, sin2: np.ndarray) -> np.ndarray:
    """Give the axial angle in [0, π) as float32, from (cos 2θ, sin 2θ)."""
    angle = np.mod(np.arctan2(sin2, cos2) / 2, np.pi).astype(np.float32)
    return np.where(angle < np.pi, angle, np.float32(0))  # π itself by rounding up
