"""Images with the cars that are known in them: read, split and cut into patches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from roteq_core.cars.examples import read_tables
from roteq_core.cars.pictures import read_image
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
    doubtful : list of list of Car, optional
        For each image what may be a car and cannot be learnt from.
    """

    images: list[Path]
    cars: list[list[Car]]
    doubtful: list[list[Car]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.doubtful:
            object.__setattr__(self, "doubtful", [[] for _ in self.images])

    def take(self, index: Iterable[int]) -> CarFrames:
        """Give some of the images."""
        index = list(index)
        return CarFrames(
            [self.images[i] for i in index],
            [self.cars[i] for i in index],
            [self.doubtful[i] for i in index],
        )

    @property
    def count(self) -> int:
        """How many cars there are in all."""
        return sum(len(cars) for cars in self.cars)


def frames_from_files(
    images: Sequence[Path], cars: Path | CarTable, *, every_image: bool = False
) -> CarFrames:
    """Pair images with their cars: those with a heading that nobody rejected.

    Other cars are doubtful.

    Parameters
    ----------
    images : sequence of path
        Files, or folders of images.
    cars : path or CarTable
        One table for all images, or a folder of tables.
    every_image : bool
        Keep images without cars too: there is nothing but ground to learn.
    """
    listed = _listed(images)
    table = cars if isinstance(cars, CarTable) else read_tables(cars, listed)
    by_stem: dict[str, list[Car]] = {}
    for car in table.cars:
        by_stem.setdefault(stem_of(car.file), []).append(car)
    if list(by_stem) == [""] and len(listed) == 1:
        by_stem = {listed[0].stem: by_stem[""]}
    rows = [by_stem.get(path.stem, []) for path in listed]
    frames = CarFrames(
        listed,
        [[car for car in row if _is_learnt(car)] for row in rows],
        [[car for car in row if not _is_learnt(car)] for row in rows],
    )
    if not frames.count:
        raise ValueError(_why_none(frames) or _why_apart(frames, by_stem))
    if every_image:
        return frames
    return frames.take(i for i, row in enumerate(frames.cars) if row)


def _why_none(frames: CarFrames) -> str:
    """Say what the cars of the images lack; empty if there are no cars."""
    cars = [car for row in frames.doubtful for car in row]
    counts = {
        "without heading (heading_cw_from_up_deg)": sum(
            car.heading_cw_from_up_deg is None for car in cars
        ),
        "without length (length_px)": sum(car.length is None for car in cars),
        "rejected": sum(car.status == REJECTED for car in cars),
    }
    found = ", ".join(f"{count} {why}" for why, count in counts.items() if count)
    rule = "cars to learn from must have a heading and a length and not be rejected"
    return f"{rule}, got {len(cars)} cars: {found}" if cars else ""


def _why_apart(frames: CarFrames, by_stem: Mapping[str, object]) -> str:
    return (
        f"no car with a heading and a length is in any of the {len(frames.images)} "
        f"images; the table names {sorted(by_stem)[:5]}"
    )


def _is_learnt(car: Car) -> bool:
    is_known = car.heading_cw_from_up_deg is not None and car.length is not None
    return is_known and car.status != REJECTED


def _listed(images: Sequence[Path]) -> list[Path]:
    kinds = {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp"}
    listed: list[Path] = []
    for path in map(Path, images):
        if not path.exists():
            raise ValueError(f"there is no image or folder {path}")
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        listed += [p for p in inside if p.suffix.lower() in kinds or p == path]
    if not listed:
        raise ValueError(f"there is no image in {', '.join(map(str, images))}")
    return listed


def hold_out_last(frames: CarFrames, share: float = 0.2) -> tuple[CarFrames, CarFrames]:
    """Part the last frames from the others, with all of their cars.

    Of frames without cars, too, the last are held out.
    """
    held: set[int] = set()
    for has_cars in (True, False):
        alike = [i for i, row in enumerate(frames.cars) if bool(row) == has_cars]
        count = min(len(alike) - 1, max(1, round(share * len(alike)))) if share else 0
        held.update(alike[len(alike) - max(count, 0) :])
    every = range(len(frames.images))
    return frames.take(i for i in every if i not in held), frames.take(sorted(held))


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
