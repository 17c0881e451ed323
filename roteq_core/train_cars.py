"""Train a heading model on one's own images: from files to a model with error bars."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from roteq_core.angular import angular_error, summarize_headings
from roteq_core.calibration import HeadingCalibration, fit_calibration
from roteq_core.config import CAR_NETS, CarNetConfig, OrientOptions, TrainConfig
from roteq_core.fine_tuning import weights_of
from roteq_core.jobs import Job, Report, drain
from roteq_core.model import Model, make_model, with_card
from roteq_core.orient import HeadingPrediction, iter_headings, read_image
from roteq_core.synthetic import FAMILIES, car_crops
from roteq_core.tables import CarTable, read_car_folder, read_cars
from roteq_core.tables.car import REJECTED, Car
from roteq_core.tables.table import stem_of
from roteq_core.tasks.car_crops import image_maps, make_pyramid
from roteq_core.tasks.car_patches import (
    PATCH,
    CarPatches,
    join_patches,
    parked_weights,
    patches_from_cars,
    patches_from_crops,
)
from roteq_core.tasks.cars import CarTask, LossKind
from roteq_core.train import iter_train

GLARE = 0.2  # share of drawn cars from whose windscreen the sun shines back

TRAIN_CARS = TrainConfig(
    steps=1500,
    batch=48,
    crop=48,
    learning_rate=6e-3,
    warmup=0.05,
    epoch_steps=100,
    average=0.2,
    scale=0.3,
    elastic=0.0,
    intensity=0.7,
)
# The paper's: 80 epochs of 409 cars, weights averaged over the last 30.
TRAIN_CARS_PAPER = TrainConfig(
    steps=80 * 13,
    batch=32,
    crop=48,
    learning_rate=5e-3,
    warmup=0.0,
    weight_decay=1e-2,
    epoch_steps=13,
    average=30 / 80,
    scale=0.0,
    elastic=0.0,
    intensity=0.0,
)


@dataclass(frozen=True)
class CarFrames:
    """Images with the cars that are known in them.

    Parameters
    ----------
    images : list of path
    cars : list of list of Car
        For each image.
    """

    images: list[Path]
    cars: list[list[Car]]

    def take(self, index: Sequence[int]) -> CarFrames:
        """Give some of the images."""
        return CarFrames([self.images[i] for i in index], [self.cars[i] for i in index])

    @property
    def count(self) -> int:
        """How many cars there are in all."""
        return sum(len(cars) for cars in self.cars)


def frames_from_files(images: Sequence[Path], cars: Path | CarTable) -> CarFrames:
    """Pair images with their cars: those with a heading that nobody rejected.

    Parameters
    ----------
    images : sequence of path
        Files, or folders of images.
    cars : path or CarTable
        One table for all images, or a folder of tables.
    """
    listed = _listed(images)
    if not isinstance(cars, CarTable):
        cars = read_car_folder(cars) if Path(cars).is_dir() else read_cars(cars)
    by_stem: dict[str, list[Car]] = {}
    for car in cars.cars:
        usable = car.heading_cw_from_up_deg is not None and car.length is not None
        if usable and car.status != REJECTED:
            by_stem.setdefault(stem_of(car.file), []).append(car)
    if list(by_stem) == [""] and len(listed) == 1:
        by_stem = {listed[0].stem: by_stem[""]}
    pairs = [(path, by_stem[path.stem]) for path in listed if path.stem in by_stem]
    if not pairs:
        raise ValueError(
            f"no car with a heading and a length is in any of the {len(listed)} "
            f"images; the table names {sorted(by_stem)[:5]}"
        )
    return CarFrames([path for path, _ in pairs], [rows for _, rows in pairs])


def _listed(images: Sequence[Path]) -> list[Path]:
    kinds = {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp"}
    listed: list[Path] = []
    for path in map(Path, images):
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        listed += [p for p in inside if p.suffix.lower() in kinds or p == path]
    if not listed:
        raise ValueError(f"there must be an image to learn from, got {list(images)}")
    return listed


def split_frames(frames: CarFrames, share: float = 0.2) -> tuple[CarFrames, CarFrames]:
    """Hold out the last frames, and of them only cars that were not parked before."""
    count = len(frames.images)
    held = min(count - 1, max(1, round(share * count))) if share else 0
    train = frames.take(range(count - held))
    last = frames.take(range(count - held, count))
    seen = [car for cars in train.cars for car in cars]
    kept = []
    for cars in last.cars:
        weights = parked_weights([*seen, *cars])[len(seen) :]
        kept.append([c for c, w in zip(cars, weights, strict=True) if w == 1])
    return train, CarFrames(last.images, kept)


def frame_patches(frames: CarFrames, domain: str) -> CarPatches:
    """Cut patches from every frame, parked cars counted once."""
    together = [car for cars in frames.cars for car in cars]
    weights = parked_weights(together)
    parts, first = [], 0
    for path, cars in zip(frames.images, frames.cars, strict=True):
        own = weights[first : first + len(cars)]
        first += len(cars)
        parts.append(
            patches_from_cars(read_image(path), cars, weights=list(own), domain=domain)
        )
    return join_patches(parts)


def synthetic_patches(
    count: int, seed: int, families: Sequence[str], domain: str
) -> Job[CarPatches]:
    """Draw synthetic cars, the same number from each family of styles."""
    each = max(1, round(count / len(families)))
    parts = []
    for index, family in enumerate(families):
        crops = car_crops(
            each,
            PATCH,
            seed=1000 * seed + index,  # other cars for each family
            car_length_px=(30, 40),
            styles=family,
            glare=GLARE,
        )
        parts.append(patches_from_crops(crops, domain))
        yield Report(index + 1, len(families), f"drawing synthetic cars: {family}")
    return join_patches(parts)


def iter_train_cars(
    frames: CarFrames,
    *,
    network: CarNetConfig | None = None,
    config: TrainConfig = TRAIN_CARS,
    synthetic: int = 1200,
    left_out: Sequence[str] = ("winter",),
    loss: LossKind = "density",
    name: str = "my-cars",
    folder: Path | None = None,
    resume: bool = False,
    start_from: str | None = None,
) -> Job[Model]:
    """Train on frames and synthetic cars, then calibrate on what was held out.

    Parameters
    ----------
    frames : CarFrames
        The last fifth is held out; a single one is learnt from and not held out.
    network : CarNetConfig, optional
        `CAR_NETS["wide"]` if not given.
    config : TrainConfig
    synthetic : int
        How many synthetic cars to learn from besides.
    left_out : sequence of str
        Families of synthetic styles to validate on instead of learning from them.
    loss : str
        See `CarTask`.
    name : str
        Of the model.
    folder, resume
        See `iter_train`.
    start_from : str, optional
        Name or file of a model to start from; its network is taken.
    """
    network = network or CAR_NETS["wide"]
    start: dict[str, Tensor] | None = None
    if start_from is not None:
        network, start = weights_of(start_from, "cars")
    train, held = split_frames(frames)
    parts = [frame_patches(train, "real")]
    checks = [frame_patches(held, "real")] if held.count else []
    if synthetic:
        kept = [family for family in FAMILIES if family not in left_out]
        parts.append((yield from synthetic_patches(synthetic, 1, kept, "synthetic")))
        checks.append(
            (yield from synthetic_patches(120, 2, list(left_out), "left-out"))
        )
    task = CarTask(
        join_patches(parts),
        join_patches(checks) if checks else None,
        network=network,
        loss=loss,
        shares={"real": 0.4, "synthetic": 0.6} if synthetic else None,
    )
    trained = yield from iter_train(
        task, config, folder=folder, resume=resume, start=start
    )
    model = make_model(
        [trained.network],
        name=name,
        task="cars",
        summary="Headings of cars seen from above, 0-360 degrees, with error bars.",
        pixel_unit="px",
        data=f"{train.count} cars of {len(train.images)} images, {synthetic} synthetic",
        training=dataclasses.asdict(config),
        scores=trained.log[-1] if trained.log else {},
        settings={"reading": "density" if loss == "density" else "vector"},
    )
    if task.held_out is None or len(task.held_out) < 20:
        return model
    yield Report(config.steps, config.steps, "fitting the error bars")
    return calibrated(model, task.held_out)


def calibrated(model: Model, cars: CarPatches, copies: int = 8) -> Model:
    """Fit a model's error bars to cars with known headings, each domain alike."""
    found = predict_patches(model, cars, copies)
    errors = angular_error(found.angle, cars.angles)
    counts = {name: int((cars.domains == name).sum()) for name in set(cars.domains)}
    weights = np.array([1 / counts[name] for name in cars.domains])
    fitted: HeadingCalibration = fit_calibration(
        errors, found.density_deg, found.copies_deg, found.raw_flip, weights=weights
    )
    settings = {**model.card.settings, "calibration": fitted.as_dict()}
    return with_card(model, settings=settings)


def predict_patches(
    model: Model, cars: CarPatches, copies: int = 8, turn: float = 0.0
) -> HeadingPrediction:
    """Predict the headings of patches, laid out side by side in one image."""
    maps = int(model.networks[0].config.in_maps)  # type: ignore[union-attr,arg-type]
    image, corners = mosaic(cars.images)
    pyramid = make_pyramid(image_maps(image, maps), cars.lengths.max(initial=1.0))
    options = OrientOptions(copies=copies, batch=64)
    centers = cars.centers + corners
    return drain(
        iter_headings(model, pyramid, centers, cars.lengths, options, turn=turn)
    )


def mosaic(images: np.ndarray, columns: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """Lay patches (n, 4, s, s) out in one RGBA image; give it and their corners.

    Patches are wider than what is read of them, so that none sees its neighbors.
    """
    count, _, side, _ = images.shape
    rows = max(1, -(-count // columns))
    image = np.zeros((rows * side, columns * side, 4), images.dtype)
    corners = np.zeros((count, 2))
    for index, patch in enumerate(images):
        top, left = side * (index // columns), side * (index % columns)
        image[top : top + side, left : left + side] = np.moveaxis(patch, 0, -1)
        corners[index] = left, top
    return image, corners


def summary_of(found: HeadingPrediction, truth: np.ndarray) -> dict[str, Any]:
    """Give the figures of a table: errors, flips, and what the error bars hold."""
    seen = ~np.isnan(found.angle)
    summary = summarize_headings(found.angle[seen], truth[seen])
    errors = angular_error(found.angle[seen], truth[seen])
    return {
        "cars": summary.count,
        "mean_deg": summary.mean,
        "median_deg": summary.median,
        "share_under_15": summary.share_good,
        "share_above_150": summary.share_flipped,
        "interval_90_holds": float((errors <= 1.6449 * found.sd_deg[seen]).mean()),
        "mean_p_flip": float(found.p_flip[seen].mean()),
        "histogram_5_deg": list(summary.histogram),
        "by_heading": [dataclasses.asdict(b) for b in summary.bins],
    }
