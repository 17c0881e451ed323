"""What a membrane network pays for its mistakes."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from roteq_core.networks import MembraneMaps
from roteq_core.tasks.membrane_targets import CENTER, IGNORED, INSIDE
from roteq_core.tasks.membrane_topology import critical_pixels

# How much a pixel of each class counts, and how much more one that joins or cuts cells.
CLASS_WEIGHTS = (0.5, 2.0, 1.5)
CRITICAL_WEIGHT = 2.0
GAP_WEIGHT = 0.5
DIRECTION_WEIGHT = 0.5


def membrane_loss(
    maps: MembraneMaps, batch: dict[str, Tensor]
) -> tuple[Tensor, dict[str, float]]:
    """Weigh classes, gaps in center lines, and directions.

    The class term is a cross-entropy, in which pixels that join two cells or cut one
    (`critical_pixels`) count more. The gap term asks each point of a center line for a
    strong response within a pixel, the more the weaker it is. The direction term is the
    squared error of the axis on center lines, and of its strength inside cells.
    """
    weights = torch.tensor([*CLASS_WEIGHTS, 0.0], device=maps.scores.device)
    classes = batch["classes"]
    scores = maps.scores.float()
    pixel_weights = weights[classes]
    asked = classes.clamp(max=scores.shape[1] - 1)
    cross = F.cross_entropy(scores, asked, reduction="none")
    log_center = scores.log_softmax(1)[:, CENTER : CENTER + 1]
    critical = _critical(log_center.detach().exp()[:, 0], classes)
    total = pixel_weights.sum().clamp(min=1)
    counted = pixel_weights * (1 + CRITICAL_WEIGHT * critical)
    class_loss = (cross * counted).sum() / total

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
        "critical": critical.sum().item() / len(critical),
        "direction": direction_loss.item(),
    }
    return loss, parts


def _critical(probability: Tensor, classes: Tensor) -> Tensor:
    """(B, H, W): 1 where the prediction joins cells or cuts one, else 0."""
    planes = zip(probability.cpu().numpy(), classes.cpu().numpy(), strict=True)
    found = np.stack([critical_pixels(p, c) for p, c in planes])
    return torch.from_numpy(found).to(probability)
