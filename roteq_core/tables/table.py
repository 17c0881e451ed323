"""A table of cars, with everything its file said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath, PureWindowsPath
from typing import Any, Literal

from roteq_core.tables.car import REJECTED, Car
from roteq_core.tables.files import summarize

Format = Literal[
    "csv", "geojson", "dota", "yolo-obb", "voc-labelimg2", "voc-rolabelimg"
]

CONVENTION = (
    "pixels, x right, y down; "
    "heading_cw_from_up_deg: degrees clockwise from up, 0..360; "
    "angle_ccw_from_right_deg: the same direction counter-clockwise from right; "
    "axis_cw_from_up_deg: 0..180, front unknown"
)


@dataclass(frozen=True)
class CarTable:
    """Cars in the order of their file.

    Parameters
    ----------
    cars : tuple of Car
    columns : tuple of str
        The columns of the file, in its order, known to us or not; what was read from
        them is in the cars.
    format : str, optional
        The format it was read from.
    convention : str
        How the file's angles were read, in words.
    header : mapping
        What the file says once for all cars: DOTA's `imagesource` and `gsd`, the VOC
        elements above the objects, GeoJSON's foreign members, a recipe.
    image_size : (int, int), optional
        Height and width of the image, as in `image.shape`.
    notes : tuple of str
        What a person should know: columns that were not understood, fronts that are
        not known.
    fingerprint : str
        Of the file as it was read; see `write_cars`.
    delimiter : str
        Between the cells of a CSV file.
    """

    cars: tuple[Car, ...] = ()
    columns: tuple[str, ...] = ()
    format: Format | None = None
    convention: str = CONVENTION
    header: Mapping[str, Any] = field(default_factory=dict)
    image_size: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()
    fingerprint: str = ""
    delimiter: str = ","

    def __post_init__(self) -> None:
        object.__setattr__(self, "cars", tuple(self.cars))

    def __len__(self) -> int:
        return len(self.cars)

    def __iter__(self) -> Iterator[Car]:
        return iter(self.cars)

    @property
    def files(self) -> tuple[str, ...]:
        """The images named in the table, in order of appearance."""
        return tuple(dict.fromkeys(car.file for car in self.cars if car.file))

    def with_cars(self, cars: Iterable[Car]) -> CarTable:
        """Give the same table with other cars."""
        return replace(self, cars=tuple(cars))

    def without_rejected(self) -> CarTable:
        """Leave out the cars that a reviewer has rejected."""
        return self.with_cars(car for car in self.cars if car.status != REJECTED)

    def for_image(self, name: str) -> CarTable:
        """Keep the cars of one image.

        Cars that name no image are of any. Names match as they are, else without
        folders, else without folders and endings; where two images of the table match
        equally well, that is an error.

        Parameters
        ----------
        name : str
            Of the image, with or without its folder.
        """
        if not self.files:
            return self
        match = self._file_like(name)
        own = self.with_cars(car for car in self.cars if car.file in ("", match))
        if match is not None:
            return own
        note = f"no car names {name}; the table names {summarize(self.files)}"
        return replace(own, notes=(*self.notes, note))

    def is_of(self, name: str) -> tuple[bool, ...]:
        """Tell for each car whether it is of an image; see `for_image`.

        Cars that name no image are of any. Where all cars are of other images, that
        is an error.
        """
        match = self._file_like(name)
        own = tuple(car.file in ("", match) for car in self.cars)
        if self.cars and not any(own):
            raise ValueError(
                f"the table must have cars of {name}, got cars of "
                f"{summarize(self.files)}"
            )
        return own

    def _file_like(self, name: str) -> str | None:
        for reduce in (str, _base_name, stem_of):
            matches = [file for file in self.files if reduce(file) == reduce(name)]
            if len(matches) > 1:
                raise ValueError(
                    f"the image name must be unambiguous, got {name!r} for "
                    f"{summarize(matches)}"
                )
            if matches:
                return matches[0]
        return None


def _base_name(name: str) -> str:
    return PureWindowsPath(name).name  # knows both slashes


def stem_of(name: str) -> str:
    """Give an image's name without folders and ending."""
    return PurePath(_base_name(name)).stem
