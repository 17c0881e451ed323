"""Trainings of headings that a viewer asks for; see `serving.training`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from roteq_core.cars.drawn import learnt_families, synthetic_patches
from roteq_core.cars.examples import (
    PLACES,
    CarFrame,
    describe_frames,
    places_of_frames,
)
from roteq_core.cars.heading_scores import calibrated
from roteq_core.cars.orient import read_image
from roteq_core.jobs import Job, drain
from roteq_core.model import Model, make_model
from roteq_core.serving.worker import inbox
from roteq_core.tasks.car_crops import normalize_crops
from roteq_core.tasks.car_patches import CarPatches, join_patches, patches_from_cars
from roteq_core.tasks.cars import (
    CarTask,
    as_maps,
    heading_objective,
    predict_angles,
    read_patches,
)
from roteq_core.training.request import TrainRequest
from roteq_core.training.run_data import DATA, read_npz, write_npz
from roteq_core.training.run_folder import fingerprint, note_data
from roteq_core.training.train import Trained

LEFT_OUT = "winter"  # the family of synthetic styles that is only validated on
SYNTHETIC_CHECKS = 120
FEWEST_TO_CALIBRATE = 20
_PATCHES = ("images", "angles", "centers", "lengths", "weights", "domains")


@dataclass(frozen=True)
class KeptCars:
    """Patches of cars, which are held out, where they came from, where they are."""

    patches: CarPatches
    held: np.ndarray
    about: dict[str, Any]
    places: list[dict[str, Any]]

    @property
    def train(self) -> CarPatches:
        """What is learnt from."""
        return self.patches[~self.held]

    @property
    def checks(self) -> CarPatches:
        """What is validated on."""
        return self.patches[self.held]


class FreshCars(CarTask):
    """Cars that are cut out anew when boxes arrive while the training runs."""

    def __init__(
        self,
        kept: KeptCars,
        drawn: CarPatches | None,
        drawn_checks: CarPatches | None,
        request: TrainRequest,
        folder: Path,
    ):
        self._drawn, self._drawn_checks = drawn, drawn_checks
        self._request, self._folder = request, folder
        self._take(kept)

    def _take(self, kept: KeptCars) -> None:
        parts = [kept.train, *([self._drawn] if self._drawn else [])]
        checks = [kept.checks] if len(kept.checks) else []
        if self._drawn_checks:
            checks.append(self._drawn_checks)
        shares = {"real": 0.5, "synthetic": 0.5} if self._drawn else None
        network: Any = self._request.network
        super().__init__(
            join_patches(parts),
            join_patches(checks) if checks else None,
            network=network,
            shares=shares,
        )

    def refresh(self) -> bool:
        """Take the newest boxes that were sent, if there are any."""
        sent = inbox()
        if not sent:
            return False
        kept = CarKind().prepare(sent[-1])
        self._take(kept)
        CarKind().save(self._folder / DATA, kept)
        note_data(self._folder, kept.about)
        return True

    def validate(self, network: nn.Module, device: torch.device) -> dict[str, Any]:
        """Score held-out cars; `error_deg` is what matters, with the loss beside."""
        row = super().validate(network, device)
        if not row or self.held_out is None:
            return row
        loss, angles = self._look(network, device)
        row["validation_loss"] = loss
        row["preview_angles"] = angles[self.held_out.domains == "real"]
        mine = row.get("real_deg", -row["score"])
        return {**row, "error_deg": mine, "score": -mine}

    def _look(
        self, network: nn.Module, device: torch.device
    ) -> tuple[float, np.ndarray]:
        """Give the loss of the held-out cars, and where they seem to point, (n,)."""
        assert self.held_out is not None
        cars = self.held_out
        still = np.zeros(len(cars))
        crops = read_patches(cars, still, still > 0, crop=self.network.crop)
        images = normalize_crops(as_maps(crops, self.network.in_maps)).to(device)
        angles = torch.from_numpy(cars.angles.astype(np.float32)).to(device)
        with torch.inference_mode():
            loss, _ = heading_objective(network, network(images), angles, self.kind)
        found = predict_angles(network, images, self.kind).cpu().numpy()
        return float(loss), found.astype(np.float32)


class CarKind:
    """See `serving.training.Kind`."""

    def prepare(self, data: Sequence[CarFrame]) -> KeptCars:
        """Cut the patches out of their images."""
        parts: list[CarPatches] = []
        held: list[bool] = []
        for frame in data:
            if not frame.cars:
                continue
            image = frame.image
            pixels = image if isinstance(image, np.ndarray) else read_image(image)
            parts.append(patches_from_cars(pixels, frame.cars, domain="real"))
            held += frame.held
        patches = join_patches(parts)
        about = describe_frames(data)
        about["fingerprint"] = fingerprint(
            patches.images, patches.angles, np.array(held)
        )
        places = places_of_frames(data)
        return KeptCars(patches, np.array(held, bool), about, places)

    def describe(self, kept: KeptCars) -> dict[str, Any]:
        """Give sources, counts and fingerprint."""
        return kept.about

    def save(self, path: Path, kept: KeptCars) -> None:
        """Write the patches, and where the cars are in their images."""
        arrays = {name: getattr(kept.patches, name) for name in _PATCHES}
        about = {**kept.about, PLACES: kept.places}
        write_npz(path, {**arrays, "held": kept.held}, about)

    def load(self, path: Path) -> KeptCars:
        """Read the patches."""
        arrays, about = read_npz(path)
        patches = CarPatches(*(arrays[name] for name in _PATCHES))
        places = about.pop(PLACES, [])  # older runs have none
        return KeptCars(patches, arrays["held"], about, places)

    def task(self, kept: KeptCars, request: TrainRequest, folder: Path) -> Job[CarTask]:
        """Draw the synthetic cars, the same for the same number."""
        drawn = checks = None
        if request.synthetic:
            families = learnt_families([LEFT_OUT])
            drawn = yield from synthetic_patches(
                request.synthetic, 1, families, "synthetic"
            )
            if not kept.held.any():  # nothing else to validate on
                checks = yield from synthetic_patches(
                    SYNTHETIC_CHECKS, 2, [LEFT_OUT], "left-out"
                )
        return FreshCars(kept, drawn, checks, request, folder)

    def model(self, kept: KeptCars, asked: dict[str, Any], trained: Trained) -> Model:
        """Make a model, its error bars fitted to what was held out."""
        text, row = asked["card"], trained.log[-1]
        count = asked["data"]["cars"]
        model = make_model(
            [trained.network.cpu()],
            name=text["name"],
            task="cars",
            summary=text["summary"]
            or f"Headings of cars, trained on {count} reviewed cars.",
            pixel_unit="px",
            data=text["data"]
            or f"{count} cars of {asked['data']['images']}, "
            f"{asked['synthetic']} synthetic",
            terms=text["terms"],
            limits=text["limits"],
            scores={k: round(v, 5) for k, v in row.items() if k.endswith("_deg")},
            settings={"reading": "density"},
        )
        checks = kept.checks
        if len(checks) < FEWEST_TO_CALIBRATE:
            drawn = drain(
                synthetic_patches(SYNTHETIC_CHECKS, 2, [LEFT_OUT], "left-out")
            )
            checks = join_patches([checks, drawn]) if len(checks) else drawn
        return calibrated(model, checks)
