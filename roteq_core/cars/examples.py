"""Cars with known headings to learn from, image by image. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from roteq_core.cars.inputs import check_table_file
from roteq_core.tables import Car, CarTable, read_car_folder, read_cars
from roteq_core.tables.car import ACCEPTED, EDITED, REJECTED, REVIEWED
from roteq_core.tables.table import stem_of
from roteq_core.training.run_data import read_npz
from roteq_core.training.run_folder import fingerprint

IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")
PLACES = "places"  # the name under which a run's data tell where its cars are


@dataclass(frozen=True)
class CarFrame:
    """An image and the cars in it to learn from.

    Parameters
    ----------
    name, cars_name : str
        Of image and boxes, for people.
    image : array of shape (H, W), (H, W, 3) or (H, W, 4), or path
        Without pixels, (0, 0), where a run keeps only the places of cars.
    shape : (int, int)
        Rows and columns.
    cars : tuple of Car
        Each with heading and length.
    held : tuple of bool
        Which of them are validated on.
    region : (int, int, int, int), optional
        Top, left, bottom and right of what is held out.
    """

    name: str
    cars_name: str
    image: np.ndarray | Path
    shape: tuple[int, int]
    cars: tuple[Car, ...]
    held: tuple[bool, ...] = ()
    region: tuple[int, int, int, int] | None = None


@dataclass(frozen=True)
class Usable:
    """Cars that can be learnt from, and how many cannot, by reason."""

    cars: tuple[Car, ...]
    left_out: dict[str, int]


def usable_cars(
    cars: Sequence[Car], shape: tuple[int, int], *, reviewed_only: bool | None = None
) -> Usable:
    """Choose the cars whose heading may be learnt.

    Parameters
    ----------
    cars : sequence of Car
    shape : (int, int)
        Rows and columns of the image.
    reviewed_only : bool, optional
        Only cars that a person accepted or edited; if not given, so if anybody has
        reviewed any of them. Rejected cars are never learnt from.
    """
    if reviewed_only is None:
        reviewed_only = any(car.status in REVIEWED for car in cars)
    kept, left_out = [], dict.fromkeys(_REASONS, 0)
    for car in cars:
        reason = _reason_against(car, shape, reviewed_only)
        if reason is None:
            kept.append(car)
        else:
            left_out[reason] += 1
    return Usable(tuple(kept), {k: v for k, v in left_out.items() if v})


_REASONS = (
    "rejected",
    "not reviewed",
    "without a heading",
    "without a size",
    "outside the image",
)


def _reason_against(car: Car, shape: tuple[int, int], reviewed: bool) -> str | None:
    inside = -0.5 <= car.cy <= shape[0] - 0.5 and -0.5 <= car.cx <= shape[1] - 0.5
    checks = (
        car.status == REJECTED,
        reviewed and car.status not in (ACCEPTED, EDITED),
        car.heading_cw_from_up_deg is None,
        car.length is None,
        not inside,
    )
    return next((r for r, bad in zip(_REASONS, checks, strict=True) if bad), None)


def frames_from_folder(images: Path | str, cars: Path | str) -> list[CarFrame]:
    """Pair the images of a folder with the cars of a table or a folder of tables."""
    folder = Path(images)
    if not folder.exists():
        raise ValueError(f"there is no file or folder {folder}")
    listed = sorted(folder.iterdir()) if folder.is_dir() else [folder]
    listed = [path for path in listed if path.suffix.lower() in IMAGE_ENDINGS]
    if not listed:
        raise ValueError(f"there is no image in {folder}")
    by_stem = _by_stem(read_tables(cars, listed))
    if list(by_stem) == [""] and len(listed) == 1:
        by_stem = {listed[0].stem: by_stem[""]}
    frames = []
    for path in listed:
        if path.stem not in by_stem:
            continue
        shape = picture_shape(path)
        found = usable_cars(by_stem[path.stem], shape).cars
        frames.append(CarFrame(path.name, Path(cars).name, path, shape, found))
    frames = [frame for frame in frames if frame.cars]
    if not frames:
        raise ValueError(
            f"no car of {cars} with a heading and a length is in the {len(listed)} "
            f"images of {folder}; it names {sorted(by_stem)[:5]}"
        )
    return frames


def _by_stem(table: CarTable) -> dict[str, list[Car]]:
    by_stem: dict[str, list[Car]] = {}
    for car in table.cars:
        by_stem.setdefault(stem_of(car.file), []).append(car)
    return by_stem


def read_tables(cars: Path | str, images: Sequence[Path]) -> CarTable:
    """Read a table, or a folder of tables, of these images.

    Sizes are taken from the images where a table may hold fractions of them.
    """
    cars = Path(cars)
    if not cars.is_dir():
        check_table_file(cars)
        is_one = cars.suffix.lower() == ".txt" and len(images) == 1
        return read_cars(cars, image_size=picture_shape(images[0]) if is_one else None)
    own = [path for path in images if (cars / f"{path.stem}.txt").is_file()]
    return read_car_folder(cars, image_sizes={p.name: picture_shape(p) for p in own})


def picture_shape(path: Path) -> tuple[int, int]:
    """Give rows and columns of an image file from its header."""
    from roteq_core.files.volumes import open_volume

    height, width = open_volume(path).shape[-2:]
    return height, width


def describe_frames(frames: Sequence[CarFrame]) -> dict[str, Any]:
    """Give plain values for a run folder and a card: sources, counts, fingerprint."""
    held = sum(sum(frame.held) for frame in frames)
    return {
        "images": ", ".join(frame.name for frame in frames),
        "labels": ", ".join(dict.fromkeys(frame.cars_name for frame in frames)),
        "cars": sum(len(frame.cars) for frame in frames) - held,
        "held_out_cars": held,
        "held_out": {frame.name: frame.region for frame in frames},
        "fingerprint": fingerprint(*(_numbers(frame) for frame in frames)),
    }


def places_of_frames(frames: Sequence[CarFrame]) -> list[dict[str, Any]]:
    """Give all but the pixels as plain values; see `frames_from_places`."""
    return [
        {
            "name": frame.name,
            "cars_name": frame.cars_name,
            "shape": list(frame.shape),
            "region": None if frame.region is None else list(frame.region),
            "held": list(map(bool, frame.held)),
            "cars": [
                [car.cx, car.cy, car.length, car.width, car.heading_cw_from_up_deg]
                for car in frame.cars
            ],
        }
        for frame in frames
    ]


def frames_from_places(places: Sequence[Mapping[str, Any]]) -> list[CarFrame]:
    """Give frames without pixels from what `places_of_frames` gave."""
    return [
        CarFrame(
            place["name"],
            place["cars_name"],
            np.zeros((0, 0), np.uint8),
            tuple(place["shape"]),
            tuple(Car(*numbers) for numbers in place["cars"]),
            tuple(place["held"]),
            None if place["region"] is None else tuple(place["region"]),
        )
        for place in places
    ]


def load_frames(path: Path) -> list[CarFrame]:
    """Read which cars a run learns from; empty if it was kept before that was noted."""
    _, about = read_npz(path)
    return frames_from_places(about.get(PLACES, []))


def _numbers(frame: CarFrame) -> np.ndarray:
    rows = [
        (car.cx, car.cy, car.length, car.heading_cw_from_up_deg, held)
        for car, held in zip(frame.cars, frame.held, strict=True)
    ]
    return np.array(rows, float).reshape(len(rows), 5)
