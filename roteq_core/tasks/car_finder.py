"""Learning to find cars: scenes, targets, the loss, and validation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from roteq_core import angles
from roteq_core.config import TrainConfig
from roteq_core.net_config import CarFinderNetConfig
from roteq_core.networks import CarMaps
from roteq_core.tables import Car
from roteq_core.tasks import headings
from roteq_core.tasks.car_augment import random_color, random_gray, random_look
from roteq_core.tasks.car_crops import (
    LUMINANCE,
    image_maps,
    make_pyramid,
    read_crops,
)
from roteq_core.tasks.car_detections import detections_from_maps, match_cars

FINDER_LENGTH = 20.0  # pixels of a usual car in what the finder sees
CELL = 4
HEAT_SIGMA = 0.8  # cells
LENGTH_WEIGHT, HEADING_WEIGHT = 0.5, 0.2
# What a car is thought to need to be seen at all, and what is left undecided.
LEAST_VISIBLE = 0.5


@dataclass(frozen=True)
class CarScene:
    """An image and its cars at the finder's scale.

    Parameters
    ----------
    image : uint8 array of shape (4, H, W)
        Red, green, blue, and 255 where something is known.
    cars : float array of shape (n, 4)
        x, y, length in pixels, and angle in radians.
    doubtful : float array of shape (m, 3)
        x, y and length of what is neither a car nor none: not learnt from.
    domain : str
    """

    image: np.ndarray
    cars: np.ndarray
    doubtful: np.ndarray
    domain: str = "real"


def scene_from_cars(
    image: np.ndarray,
    cars: Sequence[Car],
    doubtful: Sequence[Car] = (),
    *,
    length: float | None = None,
    domain: str = "real",
) -> CarScene:
    """Bring an image and its cars to the finder's scale, by their median length.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 3) or (H, W, 4)
    cars, doubtful : sequences of Car
        Those to find, and those that count neither for nor against.
    length : float, optional
        Of cars in pixels, for an image without any.
    domain : str
        Where the scene comes from.
    """
    lengths = [car.length for car in cars if car.length is not None]
    if len(lengths) < len(cars) or not (lengths or length):
        raise ValueError(
            f"cars to learn from need lengths, got {len(lengths)} for {len(cars)} cars"
        )
    usual = np.median(lengths) if lengths else length
    factor = FINDER_LENGTH / float(usual or 1)
    small = scale_image(image_maps(image, 3), factor)
    rows = np.array([_row(car, factor) for car in cars]).reshape(-1, 4)
    blurred = np.array([_row(car, factor)[:3] for car in doubtful]).reshape(-1, 3)
    pixels = (small.clip(0, 1) * 255).round().astype(np.uint8)
    return CarScene(pixels, rows, blurred, domain)


def _row(car: Car, factor: float) -> tuple[float, float, float, float]:
    angle = float(angles.angle_from_heading(car.drawn_cw_from_up_deg or 0.0))
    x, y = (car.cx + 0.5) * factor - 0.5, (car.cy + 0.5) * factor - 0.5
    return x, y, (car.length or FINDER_LENGTH / factor) * factor, angle


def scale_image(maps: np.ndarray, factor: float) -> np.ndarray:
    """Resize maps (C, H, W) by a factor, without aliasing."""
    height, width = maps.shape[-2:]
    size = (max(1, round(height * factor)), max(1, round(width * factor)))
    if size == (height, width):
        return maps
    small = F.interpolate(
        torch.from_numpy(maps)[None],
        size=size,
        mode="bilinear",
        antialias=factor < 1,
        align_corners=False,
    )
    return np.asarray(small[0])


def normalize_scene(maps: Tensor) -> Tensor:
    """Bring maps (B, C + 1, H, W) to mean 0 and spread 1 where they are known."""
    values, known = maps[:, :-1], maps[:, -1:]
    total = known.sum((-2, -1), keepdim=True).clamp(min=1)
    mean = (values * known).sum((-2, -1), keepdim=True) / total
    gap = (values - mean) * known
    spread = (gap.square().sum((-2, -1), keepdim=True) / total).mean(1, True).sqrt()
    return (gap / spread.clamp(min=1e-3)).clamp(-4, 4)


class CarFinderTask:
    """Training data, loss and validation of a car finder.

    Parameters
    ----------
    train, held_out : sequence of CarScene
    network : CarFinderNetConfig, optional
    shares : mapping of str to float, optional
        How much of a batch comes from each domain.
    """

    def __init__(
        self,
        train: Sequence[CarScene],
        held_out: Sequence[CarScene] = (),
        *,
        network: CarFinderNetConfig | None = None,
        shares: dict[str, float] | None = None,
    ):
        if not train:
            raise ValueError("there must be a scene to learn from, got none")
        self.network = network or CarFinderNetConfig()
        self.scenes, self.held_out = list(train), list(held_out)
        domains = np.array([scene.domain for scene in train])
        self.chances = np.ones(len(train)) / len(train)
        for name, share in (shares or {}).items():
            here = domains == name
            if here.any():
                self.chances[here] = share / here.sum()
        self.chances /= self.chances.sum()
        self.pyramids = [
            make_pyramid(torch.from_numpy(s.image).float() / 255, 1.0) for s in train
        ]

    def batch(self, config: TrainConfig, rng: np.random.Generator) -> dict[str, Tensor]:
        """Draw turned, scaled windows and what should be found in them."""
        windows, targets = [], []
        for _ in range(config.batch):
            index = int(rng.choice(len(self.scenes), p=self.chances))
            window, target = self._window(index, config, rng)
            windows.append(window)
            targets.append(target)
        colors = torch.cat(windows)
        mix = random_color if self.network.in_maps == 3 else random_gray
        maps = random_look(mix(colors, rng), config.intensity, rng)
        stacked = {k: torch.stack([t[k] for t in targets]) for k in targets[0]}
        return {"image": normalize_scene(maps), **stacked}

    def _window(
        self, index: int, config: TrainConfig, rng: np.random.Generator
    ) -> tuple[Tensor, dict[str, Tensor]]:
        scene = self.scenes[index]
        turn = rng.uniform(0, 2 * math.pi) if config.rotate else 0.0
        mirrored = bool(config.flip and rng.random() < 0.5)
        zoom = math.exp(rng.uniform(-1, 1) * math.log1p(config.scale))
        center = self._center(scene, rng)
        # `read_crops` brings cars of 28 pixels to 28: a length says how much to shrink.
        window = read_crops(
            self.pyramids[index],
            center[None],
            np.array([28.0 * zoom]),
            turn,
            mirrored=mirrored,
            crop=config.crop,
        )
        cars = _moved(scene.cars, center, turn, mirrored, zoom, config.crop)
        doubtful = np.pad(scene.doubtful, [(0, 0), (0, 1)])
        doubtful = _moved(doubtful, center, turn, mirrored, zoom, config.crop)
        return window, finder_targets(cars, doubtful, config.crop // CELL)

    def _center(self, scene: CarScene, rng: np.random.Generator) -> np.ndarray:
        """Look around a car two times out of three, else anywhere."""
        height, width = scene.image.shape[-2:]
        if len(scene.cars) and rng.random() < 0.67:
            chosen = scene.cars[rng.integers(len(scene.cars)), :2]
            return np.asarray(chosen + rng.uniform(-30, 30, 2))
        return rng.uniform(0, 1, 2) * (width, height)

    def loss(
        self, network: nn.Module, batch: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, float]]:
        """Give the loss of a batch, and its parts for the log."""
        return finder_loss(network(batch["image"]), batch)

    def validate(self, network: nn.Module, device: torch.device) -> dict[str, Any]:
        """Score the held-out scenes: average precision, and the best F1."""
        if not self.held_out:
            return {}
        by_domain: dict[str, list[tuple[np.ndarray, np.ndarray, int]]] = {}
        for scene in self.held_out:
            found = find_in_scene(network, scene, device)
            hits = match_cars(found, scene.cars, scene.doubtful)
            row = (found.scores[hits >= 0], hits[hits >= 0], len(scene.cars))
            by_domain.setdefault(scene.domain, []).append(row)
        scores = {name: best_f1(rows) for name, rows in by_domain.items()}
        return {
            "score": float(np.mean([f1 for f1, _ in scores.values()])),
            **{f"{name}_f1": float(f1) for name, (f1, _) in scores.items()},
            **{f"{name}_threshold": float(t) for name, (_, t) in scores.items()},
        }


def _moved(
    cars: np.ndarray,
    center: np.ndarray,
    turn: float,
    mirrored: bool,
    zoom: float,
    size: int,
) -> np.ndarray:
    """Cars (n, 4) as they stand in a window around `center`."""
    gap = (cars[:, :2] - center) / zoom
    cos, sin = math.cos(turn), math.sin(turn)
    x, y = cos * gap[:, 0] + sin * gap[:, 1], cos * gap[:, 1] - sin * gap[:, 0]
    angle = cars[:, 3] - turn
    if mirrored:
        x, angle = -x, np.pi - angle
    middle = (size - 1) / 2
    return np.stack([x + middle, y + middle, cars[:, 2] / zoom, angle], 1)


def finder_targets(
    cars: np.ndarray, doubtful: np.ndarray, cells: int
) -> dict[str, Tensor]:
    """Maps (cells, cells) of what the finder should say.

    `heat` is 1 at the cell of a car's center and falls off around it; `weight` is 0
    where nothing can be learnt; `at_car` marks cells with a car's length and angle.
    """
    line = np.arange(cells) * CELL + (CELL - 1) / 2
    y, x = np.meshgrid(line, line, indexing="ij")
    maps = {n: np.zeros((cells, cells)) for n in ("heat", "at_car", "length", "angle")}
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
        weight[near] = 1
    return {
        name: torch.from_numpy(value.astype(np.float32))
        for name, value in {**maps, "weight": weight}.items()
    }


def finder_loss(
    maps: CarMaps, batch: dict[str, Tensor]
) -> tuple[Tensor, dict[str, float]]:
    """Weigh the heat map, and at cars the length and the heading.

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
    else:
        gap = heading = heat.sum() * 0
    loss = heat_loss + LENGTH_WEIGHT * gap + HEADING_WEIGHT * heading
    return loss, {
        "heat": heat_loss.item(),
        "length": gap.item(),
        "heading": heading.item(),
    }


def find_in_scene(network: nn.Module, scene: CarScene, device: torch.device) -> Any:
    """Find the cars of one scene at once."""
    maps = torch.from_numpy(scene.image).float()[None] / 255
    in_maps = int(network.config.in_maps)  # type: ignore[union-attr,arg-type]
    if in_maps == 1:
        gray = (maps[:, :3] * torch.tensor(LUMINANCE)[:, None, None]).sum(1)
        maps = torch.stack([gray, maps[:, 3]], 1)
    image = normalize_scene(maps)
    height, width = image.shape[-2:]
    image = F.pad(image, (0, -width % CELL, 0, -height % CELL))
    with torch.inference_mode():
        found = network(image.to(device))
    return detections_from_maps(finder_planes(found)[0], threshold=0.02)


def finder_planes(maps: CarMaps) -> np.ndarray:
    """Give score, length and mean heading vector (B, 4, h, w) of each cell."""
    score = maps.heat.sigmoid()
    length = FINDER_LENGTH * maps.log_length.clamp(-1.5, 1.5).exp()
    log_p = headings.log_density(maps.responses.movedim(1, -1).flatten(0, -2), 72)
    vector = headings.mean_vector(log_p).unflatten(0, score.shape)  # (B, h, w, 2)
    planes = torch.stack([score, length, vector[..., 0], vector[..., 1]], 1)
    return np.asarray(planes.float().cpu())


def best_f1(rows: Sequence[tuple[np.ndarray, np.ndarray, int]]) -> tuple[float, float]:
    """Give the highest F1 over thresholds, and that threshold.

    Parameters
    ----------
    rows : sequence of (scores, hits, cars)
        For each image: scores of what was found, 1 where it is a car and 0 where not,
        and how many cars there are.
    """
    scores = np.concatenate([row[0] for row in rows])
    hits = np.concatenate([row[1] for row in rows])
    total = sum(row[2] for row in rows)
    if not scores.size or not total:
        return 0.0, 1.0
    order = np.argsort(-scores)
    right = np.cumsum(hits[order])
    f1 = 2 * right / (np.arange(1, len(order) + 1) + total)
    best = int(np.argmax(f1))
    return float(f1[best]), float(scores[order][best])
