"""Which way cars point: headings with error bars for a table of cars.

`iter_headings` predicts, `iter_orient` also reads and fills in tables. Every car is
read at several angles, mirrored too; the answers are turned back and averaged. How far
they differ may be part of the error bar, as the model's calibration says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from roteq_core import angles
from roteq_core.card import file_hash, find_model
from roteq_core.cars import units as car_units
from roteq_core.cars.calibration import HeadingCalibration, calibration_from
from roteq_core.cars.filled import (
    NO_CONTRAST,
    OUTSIDE,
    Answer,
    notes_now,
    status_notes,
    with_answer,
)
from roteq_core.cars.inputs import check_table_file
from roteq_core.cars.pictures import load_picture, read_image as read_image
from roteq_core.cars.readings import (
    axial_gaps,
    read_responses,
    reading_turns,
    turned_back,
)
from roteq_core.cars.sizes import car_lengths
from roteq_core.config import OrientOptions
from roteq_core.device import choose_device
from roteq_core.jobs import Job, Report
from roteq_core.model import Model, load_model
from roteq_core.tables import CarTable, read_cars
from roteq_core.tables.car import Car
from roteq_core.tasks import headings
from roteq_core.tasks.car_crops import (
    Pyramid,
    disc,
    image_maps,
    make_pyramid,
    normalize_crops,
    read_crops,
)


@dataclass(frozen=True)
class HeadingPrediction:
    """Headings of n cars.

    Parameters
    ----------
    angle : array of shape (n,)
        Radians from right towards down; NaN where there is nothing to see.
    sd_deg, p_flip : arrays of shape (n,)
        Standard deviation in degrees (were the front right), and the chance that front
        and rear are swapped.
    density_deg, copies_deg, raw_flip : arrays of shape (n,)
        What the calibration starts from.
    known : array of shape (n,)
        Share of the disc around the car that the image shows.
    """

    angle: np.ndarray
    sd_deg: np.ndarray
    p_flip: np.ndarray
    density_deg: np.ndarray
    copies_deg: np.ndarray
    raw_flip: np.ndarray
    known: np.ndarray


def iter_headings(
    model: Model,
    pyramid: Pyramid,
    centers: np.ndarray,
    lengths: np.ndarray,
    options: OrientOptions | None = None,
    *,
    turn: float = 0.0,
) -> Job[HeadingPrediction]:
    """Predict where cars point, a batch at a time.

    Parameters
    ----------
    model : Model
        For the task "cars".
    pyramid : Pyramid
        From `make_pyramid(image_maps(image, …))`.
    centers : array of shape (n, 2)
        x and y.
    lengths : array of shape (n,)
        In pixels.
    options : OrientOptions, optional
    turn : float
        Read every crop turned by this angle (radians): the answer should not change.
    """
    options = options or OrientOptions()
    device = choose_device(options.device)
    model.to(device)
    calibration = calibration_from(model.card.settings.get("calibration"))
    parts = []
    count = len(centers)
    for first in range(0, count, options.batch):
        here = slice(first, first + options.batch)
        parts.append(
            _predict_batch(
                model, pyramid, centers[here], lengths[here], options.copies, turn
            )
        )
        done = min(first + options.batch, count)
        yield Report(done, count, f"car {done} of {count}")
    raw = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return _calibrated(raw or [np.zeros(0)] * 5, calibration)


def _calibrated(
    raw: Sequence[np.ndarray], calibration: HeadingCalibration
) -> HeadingPrediction:
    angle, density, copies, flip, known = raw
    return HeadingPrediction(
        angle,
        calibration.sd(density, copies),
        calibration.p_flip(flip),
        density,
        copies,
        flip,
        known,
    )


def _predict_batch(
    model: Model,
    pyramid: Pyramid,
    centers: np.ndarray,
    lengths: np.ndarray,
    copies: int,
    turn: float,
) -> tuple[np.ndarray, ...]:
    """Angle, spread of the density, of the copies, flip chance and known share."""
    crop = int(model.networks[0].config.crop)  # type: ignore[union-attr,arg-type]
    step = 2 * np.pi / headings.BINS
    total: Tensor | float = 0.0
    own_angles = []
    known = flat = None
    for shift, mirrored in reading_turns(copies):
        crops = read_crops(
            pyramid, centers, lengths, turn + shift * step, mirrored=mirrored, crop=crop
        )
        images = normalize_crops(crops)
        if known is None:
            window = disc(crop)
            known = (crops[:, -1] * window).sum((1, 2)) / window.sum()
            flat = images.abs().amax((1, 2, 3)) == 0
        log_p = turned_back(read_responses(model, images), shift, mirrored)
        total = total + log_p
        own_angles.append(headings.read_density(log_p.log_softmax(-1)).angle)
    assert isinstance(total, Tensor)
    assert known is not None
    assert flat is not None
    found = headings.read_density((total / copies).log_softmax(-1))
    spread = headings.spread_of(axial_gaps(torch.stack(own_angles, 1), found.angle))
    angle = np.where(flat, np.nan, angles.wrap_directed(found.angle.numpy() + turn))
    return (
        angle,
        np.rad2deg(found.sd.numpy()),
        np.rad2deg(spread.numpy()),
        found.flip.numpy(),
        known.numpy(),
    )


def iter_orient(
    image: np.ndarray | Path | str,
    cars: CarTable | Path | str,
    options: OrientOptions | None = None,
    *,
    check: Callable[[CarTable], object] | None = None,
) -> Job[CarTable]:
    """Fill in the headings of a table of cars.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 3) or (H, W, 4), or path
    cars : CarTable or path
        Centers in pixels; lengths where known. Rows that name another image than the
        file are left as they are; where all do, that is an error.
    options : OrientOptions, optional
    check : callable, optional
        Gets the table before the model is loaded, with headings of 0° where there will
        be one, and may refuse it by an error.

    Returns
    -------
    CarTable
        The same rows in the same order. Cars outside the image (status "outside
        image") and cars in crops without any contrast ("no contrast") get no heading.
        What a person accepted, edited or rejected is kept; the model's answer goes to
        `machine_heading_cw_from_up_deg`.
    """
    options = options or OrientOptions()
    name, pixels, turned = load_picture(image)
    car_units.check_given_length(options, pixels.shape)
    file = "" if isinstance(cars, CarTable) else Path(cars).name
    if isinstance(cars, CarTable):
        table = cars
    else:
        check_table_file(cars)
        table = read_cars(cars, image_size=(pixels.shape[0], pixels.shape[1]))
    own = table.is_of(name) if name else (True,) * len(table)
    car_units.check_own_lengths(table.cars, pixels.shape, own, file)
    cars_here = [car for car, is_own in zip(table.cars, own, strict=True) if is_own]
    lengths, note = car_lengths(cars_here, options)
    redo = options.redo_reviewed
    if check is not None:
        inside = inside_image(_centers(cars_here), pixels.shape[:2])
        blank = [Answer(0.0, 0.0, 0.0) if here else OUTSIDE for here in inside]
        check(_filled(table, own, blank, "", redo=redo))
    answers, source = yield from _iter_answers(pixels, cars_here, lengths, options)
    filled = _filled(table, own, answers, source, redo=redo)
    units = *car_units.given_notes(options), *car_units.row_notes(cars_here)
    doubts = *turned, *status_notes(cars_here)
    notes = notes_now(table.notes, *doubts, *units, note, _others_note(own))
    return replace(filled, notes=notes)


def _filled(
    table: CarTable,
    own: Sequence[bool],
    answers: Sequence[Answer | str],
    source: str,
    *,
    redo: bool,
) -> CarTable:
    """Fill the answers into the rows that are of the image."""
    left = iter(answers)
    return table.with_cars(
        with_answer(car, next(left), source, redo=redo) if is_own else car
        for car, is_own in zip(table.cars, own, strict=True)
    )


def _others_note(own: Sequence[bool]) -> str:
    others = len(own) - sum(own)
    text = f"{others} of {len(own)} cars are of other images and stay as they were"
    return text if others else ""


def _iter_answers(
    pixels: np.ndarray, cars: Sequence[Car], lengths: np.ndarray, options: OrientOptions
) -> Job[tuple[list[Answer | str], str]]:
    """Ask the model about cars of one image; give its answers, and its name."""
    model = load_model(options.model, task="cars")
    source = f"{model.card.name} {file_hash(find_model(options.model))}"
    maps = int(model.networks[0].config.in_maps)  # type: ignore[union-attr,arg-type]
    yield Report(0, len(cars), "reading the image")
    pyramid = make_pyramid(image_maps(pixels, maps), lengths.max(initial=1.0))
    centers = _centers(cars)
    inside = inside_image(centers, pyramid.shape)
    found = yield from iter_headings(
        model, pyramid, centers[inside], lengths[inside], options
    )
    places = np.full(len(cars), -1)
    places[inside] = np.arange(int(inside.sum()))
    return [_answer(found, place) for place in places.tolist()], source


def _centers(cars: Sequence[Car]) -> np.ndarray:
    return np.array([(car.cx, car.cy) for car in cars]).reshape(len(cars), 2)


def _answer(found: HeadingPrediction, place: int) -> Answer | str:
    """Give what was found at a place, or the status of a car without heading."""
    if place < 0:
        return OUTSIDE
    if np.isnan(found.angle[place]):
        return NO_CONTRAST
    heading = float(angles.heading_from_angle(found.angle[place]))
    sd, p_flip = float(found.sd_deg[place]), float(found.p_flip[place])
    return Answer(round(heading, 2) % 360, round(sd, 2), round(p_flip, 4))


def inside_image(centers: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Which centers (n, 2), x and y, lie in an image of that many rows and columns."""
    height, width = shape
    x, y = centers[:, 0], centers[:, 1]
    return np.asarray(
        (x >= -0.5) & (x < width - 0.5) & (y >= -0.5) & (y < height - 0.5)
    )
