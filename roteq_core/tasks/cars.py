"""Learning headings: batches of turned crops, the loss, and validation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from roteq_core.angular import angular_error
from roteq_core.config import TrainConfig
from roteq_core.net_config import CarNetConfig, PlainCarNetConfig
from roteq_core.tasks import headings
from roteq_core.tasks.car_augment import (
    LOOKS,
    Look,
    random_color,
    random_gray,
    random_light,
    random_look,
    random_paint,
)
from roteq_core.tasks.car_crops import CAR_LENGTH, LUMINANCE, normalize_crops
from roteq_core.tasks.car_patches import CarPatches

LossKind = Literal["density", "vector", "squared"]
CENTER_JITTER = 0.06  # of a car's length: boxes are not exact
LABEL_DOUBT = 0.01  # share of labels that name the rear
VECTOR_WEIGHT = 0.3
VALIDATION_TURNS = (0.0, 2.2)  # radians; validation sees each car so often


class CarTask:
    """Training data, loss and validation of a heading network.

    Parameters
    ----------
    train, held_out : CarPatches
        To learn from, and to validate on (best of another domain).
    network : CarNetConfig or PlainCarNetConfig, optional
    loss : {"density", "vector", "squared"}
        The density of headings, 1 - cos of the unit vector, or the paper's squared
        error of tanh(cos), tanh(sin).
    shares : mapping of str to float, optional
        How much of a batch comes from each domain; by weight if not given.
    without : sequence of str
        Random changes of crops to leave out, of `car_augment.LOOKS`.
    """

    def __init__(
        self,
        train: CarPatches,
        held_out: CarPatches | None = None,
        *,
        network: CarNetConfig | PlainCarNetConfig | None = None,
        loss: LossKind = "density",
        shares: dict[str, float] | None = None,
        without: Sequence[Look] = (),
    ):
        if not len(train):
            raise ValueError("there must be a car to learn from, got none")
        if unknown := set(without) - set(LOOKS):
            raise ValueError(f"without must be of {LOOKS}, got {sorted(unknown)}")
        self.network = network or CarNetConfig()
        self.patches, self.held_out, self.kind = train, held_out, loss
        self.chances = _chances(train, shares)
        self.without = frozenset(without)

    def batch(self, config: TrainConfig, rng: np.random.Generator) -> dict[str, Tensor]:
        """Draw crops and their angles."""
        chosen = rng.choice(len(self.patches), config.batch, p=self.chances)
        drawn = self.patches[chosen]
        count = len(drawn)
        turns = rng.uniform(0, 2 * math.pi, count) if config.rotate else np.zeros(count)
        flips = rng.random(count) < 0.5 if config.flip else np.zeros(count, bool)
        zoom = np.exp(rng.uniform(-1, 1, count) * math.log1p(config.scale))
        shift = rng.normal(0, CENTER_JITTER, (count, 2)) * drawn.lengths[:, None]
        crops = read_patches(
            drawn, turns, flips, zoom=zoom, shift=shift, crop=self.network.crop
        )
        seen = angles_in_crops(drawn.angles, turns, flips)
        maps = self._looking_otherwise(
            crops, seen, CAR_LENGTH / zoom, config.intensity, rng
        )
        return {
            "image": normalize_crops(maps),
            "angle": torch.from_numpy(seen.astype(np.float32)),
        }

    def _looking_otherwise(
        self,
        crops: Tensor,
        angles: np.ndarray,
        lengths: np.ndarray,
        strength: float,
        rng: np.random.Generator,
    ) -> Tensor:
        """Make every change of looks but those left out: (n, in_maps + 1, s, s)."""
        if "paint" not in self.without:
            crops = random_paint(crops, angles, lengths, strength, rng)
        if "light" not in self.without:
            crops = random_light(crops, strength, rng)
        if "color" in self.without:
            maps = as_maps(crops, self.network.in_maps)
        else:
            mix = random_color if self.network.in_maps == 3 else random_gray
            maps = mix(crops, rng)
        return random_look(maps, strength, rng, self.without)

    def loss(
        self, network: nn.Module, batch: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, float]]:
        """Give the loss of a batch, and its parts for the log."""
        responses = network(batch["image"])
        return heading_objective(network, responses, batch["angle"], self.kind)

    def validate(self, network: nn.Module, device: torch.device) -> dict[str, Any]:
        """Score held-out cars, domain by domain: mean error in degrees."""
        if self.held_out is None or not len(self.held_out):
            return {}
        errors = validation_errors(
            network, self.held_out, device, self.kind, self.network
        )
        names = np.unique(self.held_out.domains)
        means = {n: float(errors[self.held_out.domains == n].mean()) for n in names}
        return {
            "score": -float(np.mean(list(means.values()))),
            "median_deg": float(np.median(errors)),
            "good": float((errors < 15).mean()),
            "flipped": float((errors > 150).mean()),
            **{f"{name}_deg": value for name, value in means.items()},
        }


def _chances(patches: CarPatches, shares: dict[str, float] | None) -> np.ndarray:
    chances = patches.weights / patches.weights.sum()
    for name, share in (shares or {}).items():
        here = patches.domains == name
        if here.any():
            chances[here] *= share / chances[here].sum()
    return np.asarray(chances / chances.sum())


def read_patches(
    patches: CarPatches,
    turns: np.ndarray,
    flips: np.ndarray,
    *,
    zoom: np.ndarray | float = 1.0,
    shift: np.ndarray | float = 0.0,
    crop: int,
) -> Tensor:
    """Read one crop from each patch: (n, 3 + 1, crop, crop), values 0…1."""
    side = patches.images.shape[-1]
    scale = patches.lengths * zoom / CAR_LENGTH
    line = (np.arange(2 * crop) - (2 * crop - 1) / 2) / 2
    y, x = np.meshgrid(line, line, indexing="ij")
    x = np.where(flips, -1.0, 1.0)[:, None, None] * x
    cos = (np.cos(turns) * scale)[:, None, None]
    sin = (np.sin(turns) * scale)[:, None, None]
    places = np.stack([cos * x - sin * y, sin * x + cos * y], -1)
    places += (patches.centers + shift)[:, None, None]
    grid = torch.from_numpy(((2 * places + 1) / side - 1).astype(np.float32))
    maps = torch.from_numpy(patches.images).float() / 255
    maps = torch.cat([maps[:, :3] * maps[:, 3:], maps[:, 3:]], 1)
    fine = torch.nn.functional.grid_sample(maps, grid, align_corners=False)
    small = torch.nn.functional.avg_pool2d(fine, 2)
    share = small[:, 3:]
    return torch.cat([small[:, :3] / share.clamp(min=1e-6), share], 1)


def angles_in_crops(
    angles: np.ndarray, turns: np.ndarray | float, flips: np.ndarray | bool
) -> np.ndarray:
    """Give the angles that cars have in crops that stand turned and mirrored."""
    turned = np.asarray(angles) - turns
    return np.where(flips, np.pi - turned, turned)


def heading_objective(
    network: Any, responses: Tensor, angles: Tensor, kind: LossKind
) -> tuple[Tensor, dict[str, float]]:
    """Weigh predictions against the true angles (n,)."""
    truth = torch.stack([angles.cos(), angles.sin()], 1)
    if kind == "density":
        vector = headings.mean_vector(headings.log_density(responses))
        density = headings.heading_loss(responses, angles, LABEL_DOUBT).mean()
        # The mean direction counts little: a swapped label would pull it far.
        loss = density + VECTOR_WEIGHT * (1 - (vector * truth).sum(1)).mean()
    else:
        vector = torch.tanh(network.direction(responses))
        unit = torch.nn.functional.normalize(vector, dim=1)
        apart = (
            1 - (unit * truth).sum(1)
            if kind == "vector"
            else (unit - truth).square().sum(1)
        )
        loss = apart.mean()
        vector = unit
    with torch.no_grad():
        gap = torch.atan2(vector[:, 1], vector[:, 0]) - angles
        error = torch.atan2(gap.sin(), gap.cos()).abs().rad2deg().mean()
    return loss, {"train_deg": error.item()}


def predict_angles(network: Any, images: Tensor, kind: LossKind) -> Tensor:
    """Predict the angle of normalized crops (n, C, s, s), radians (n,)."""
    with torch.inference_mode():
        responses = network(images)
        if kind == "density":
            return headings.read_density(headings.log_density(responses)).angle
        vector = network.direction(responses)
        return torch.atan2(vector[:, 1], vector[:, 0])


def validation_errors(
    network: nn.Module,
    patches: CarPatches,
    device: torch.device,
    kind: LossKind,
    config: CarNetConfig | PlainCarNetConfig,
    turns: Sequence[float] = VALIDATION_TURNS,
) -> np.ndarray:
    """Errors in degrees (n,), the mean over turned readings of each patch."""
    errors = np.zeros(len(patches))
    for turn in turns:
        for first in range(0, len(patches), 256):
            part = patches[slice(first, first + 256)]
            count = len(part)
            crops = read_patches(
                part, np.full(count, turn), np.zeros(count, bool), crop=config.crop
            )
            images = normalize_crops(as_maps(crops, config.in_maps)).to(device)
            found = predict_angles(network, images, kind).cpu().numpy()
            wrong = angular_error(found, part.angles - turn)
            errors[first : first + count] += wrong / len(turns)
    return errors


def as_maps(colors: Tensor, maps: int) -> Tensor:
    """Crops (n, 3 + 1, s, s) as gray or color crops (n, maps + 1, s, s)."""
    if maps == 3:
        return colors
    gray = torch.einsum("nchw,c->nhw", colors[:, :3], torch.tensor(LUMINANCE))
    return torch.stack([gray, colors[:, 3]], 1)
