"""Learning to find cars: batches of windows from scenes, and validation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from roteq_core.config import TrainConfig
from roteq_core.net_config import CarFinderNetConfig
from roteq_core.tasks.car_augment import random_color, random_gray, random_look
from roteq_core.tasks.car_crops import LUMINANCE, make_pyramid, read_crops
from roteq_core.tasks.car_detections import CELL, detections_from_maps, match_cars
from roteq_core.tasks.car_finder_maps import finder_loss, finder_planes, finder_targets
from roteq_core.tasks.car_scenes import CarScene, normalize_scene


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
            "threshold": best_threshold(list(by_domain.values())),
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


# Of each image: scores of what was found, 1 where it is a car and 0 where not, and how
# many cars there are.
Found = tuple[np.ndarray, np.ndarray, int]


def best_f1(rows: Sequence[Found]) -> tuple[float, float]:
    """Give the highest F1 over thresholds, and that threshold."""
    scores = np.sort(np.concatenate([row[0] for row in rows]))[::-1]
    if not scores.size or not sum(row[2] for row in rows):
        return 0.0, 1.0
    f1 = f1_at(rows, scores)
    best = int(np.argmax(f1))
    return float(f1[best]), float(scores[best])


def f1_at(rows: Sequence[Found], thresholds: np.ndarray) -> np.ndarray:
    """Give F1 where finds of at least a score count, for each threshold."""
    scores = np.concatenate([row[0] for row in rows])
    hits = np.concatenate([row[1] for row in rows])
    counts = scores >= thresholds[:, None]
    right, found = (counts & (hits == 1)).sum(1), counts.sum(1)
    return np.asarray(2 * right / np.maximum(found + sum(row[2] for row in rows), 1))


def best_threshold(domains: Sequence[Sequence[Found]]) -> float:
    """Give the threshold at which the mean F1 of all domains is highest.

    Of equally good ones, the middle.
    """
    tried = np.linspace(0.05, 0.95, 181)
    f1 = np.mean([f1_at(rows, tried) for rows in domains], axis=0)
    return float(np.mean(tried[f1 >= f1.max() - 1e-9]))
