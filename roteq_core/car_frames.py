"""Images with the cars that are known in them: read, split and cut into patches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from roteq_core.car_examples import read_tables
from roteq_core.car_pictures import read_image
from roteq_core.tables import CarTable
from roteq_core.tables.car import REJECTED, Car
from roteq_core.tables.table import stem_of
from roteq_core.tasks.car_patches import (
    CarPatches,
    join_patches,
    parked_weights,
    patches_from_cars,
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
        cars = read_tables(cars, listed)
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


def hold_out_last(frames: CarFrames, share: float = 0.2) -> tuple[CarFrames, CarFrames]:
    """Part the last frames from the others, with all of their cars."""
    count = len(frames.images)
    held = min(count - 1, max(1, round(share * count))) if share else 0
    return (
        frames.take(range(count - held)),
        frames.take(range(count - held, count)),
    )


def split_frames(frames: CarFrames, share: float = 0.2) -> tuple[CarFrames, CarFrames]:
    """Hold out the last frames, and of them only cars that were not parked before."""
    train, last = hold_out_last(frames, share)
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
