"""Maps of cells: what a car finder should say, how far off it is, and what it says."""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from roteq_core.networks import CarMaps
from roteq_core.tasks import headings
from roteq_core.tasks.car_detections import CELL
from roteq_core.tasks.car_scenes import FINDER_LENGTH

HEAT_SIGMA = 0.8  # cells
LENGTH_WEIGHT, HEADING_WEIGHT, OFFSET_WEIGHT = 0.5, 0.2, 1.0


def finder_targets(
    cars: np.ndarray, doubtful: np.ndarray, cells: int
) -> dict[str, Tensor]:
    """Maps (cells, cells) of what the finder should say.

    `heat` is 1 at the cell of a car's center and falls off around it; `weight` is 0
    where nothing can be learnt; `at_car` marks cells with a car's length, angle and
    the way `right` and `down` to its center, in cells.
    """
    line = np.arange(cells) * CELL + (CELL - 1) / 2
    y, x = np.meshgrid(line, line, indexing="ij")
    names = ("heat", "at_car", "length", "angle", "right", "down")
    maps = {name: np.zeros((cells, cells)) for name in names}
    weight = np.ones((cells, cells))
    for cx, cy, length, _ in doubtful:
        weight[np.hypot(x - cx, y - cy) < max(length / 2, CELL)] = 0
    for cx, cy, length, angle in cars:
        distance = np.hypot(x - cx, y - cy) / CELL
        maps["heat"] = np.maximum(
            maps["heat"], np.exp(-((distance / HEAT_SIGMA) ** 2) / 2)
        )
        near = distance < 0.9
        maps["at_car"][near] = 1
        maps["length"][near] = math.log(length / FINDER_LENGTH)
        maps["angle"][near] = angle
        maps["right"][near] = (cx - x[near]) / CELL
        maps["down"][near] = (cy - y[near]) / CELL
        weight[near] = 1
    return {
        name: torch.from_numpy(value.astype(np.float32))
        for name, value in {**maps, "weight": weight}.items()
    }


def finder_loss(
    maps: CarMaps, batch: dict[str, Tensor]
) -> tuple[Tensor, dict[str, float]]:
    """Weigh the heat map, and at cars the length, the heading and the center.

    The heat map is compared by cross-entropy with the soft target, each cell weighted
    by how wrong it is (focal), so that the many easy cells of the ground count little.
    """
    heat, target = maps.heat, batch["heat"]
    cross = F.binary_cross_entropy_with_logits(heat, target, reduction="none")
    entropy = F.binary_cross_entropy(target, target, reduction="none")
    wrong = (heat.sigmoid() - target).abs().detach()
    cars = batch["at_car"].sum().clamp(min=1)
    heat_loss = ((cross - entropy) * wrong * batch["weight"]).sum() / cars
    at = batch["at_car"] > 0
    if at.any():
        gap = F.smooth_l1_loss(maps.log_length[at], batch["length"][at], beta=0.1)
        turned = maps.responses.movedim(1, -1)[at]
        heading = headings.heading_loss(turned, batch["angle"][at]).mean()
        offset = _offset_loss(maps, batch, at)
    else:
        gap = heading = offset = heat.sum() * 0
    loss = heat_loss + LENGTH_WEIGHT * gap + HEADING_WEIGHT * heading
    return loss + OFFSET_WEIGHT * offset, {
        "heat": heat_loss.item(),
        "length": gap.item(),
        "heading": heading.item(),
        "offset": offset.item(),
    }


def _offset_loss(maps: CarMaps, batch: dict[str, Tensor], at: Tensor) -> Tensor:
    """How far, in cells, the centers are off that are told at cars."""
    if maps.offset is None:
        return maps.heat.sum() * 0
    asked = torch.stack([batch["right"], batch["down"]], -1)[at]
    return F.smooth_l1_loss(maps.offset.movedim(1, -1)[at], asked, beta=0.1)


def finder_planes(maps: CarMaps) -> np.ndarray:
    """Give score, length and mean heading vector of each cell, (B, 4, h, w).

    Networks that tell centers give the way there, in cells, besides: (B, 6, h, w).
    """
    score = maps.heat.sigmoid()
    length = FINDER_LENGTH * maps.log_length.clamp(-1.5, 1.5).exp()
    log_p = headings.log_density(maps.responses.movedim(1, -1).flatten(0, -2), 72)
    vector = headings.mean_vector(log_p).unflatten(0, score.shape)  # (B, h, w, 2)
    planes = torch.stack([score, length, vector[..., 0], vector[..., 1]], 1)
    if maps.offset is not None:
        planes = torch.cat([planes, maps.offset], 1)
    return np.asarray(planes.float().cpu())
