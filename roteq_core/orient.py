"""Which way cars point: headings with error bars for a table of cars.

`iter_headings` predicts, `iter_orient` also reads and fills in tables. Every car is
read at several angles, mirrored too; the answers are turned back and averaged. How far
they differ may be part of the error bar, as the model's calibration says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from roteq_core import angles
from roteq_core.calibration import HeadingCalibration, calibration_from
from roteq_core.car_pictures import read_image as read_image
from roteq_core.card import file_hash, find_model
from roteq_core.config import OrientOptions
from roteq_core.device import choose_device
from roteq_core.filled_cars import (
    NO_CONTRAST,
    OUTSIDE,
    Answer,
    notes_now,
    with_answer,
)
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

TYPICAL_CAR_M = 4.5
DEFAULT_LENGTH_PX = 36.0


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


def reading_turns(copies: int) -> list[tuple[int, bool]]:
    """Turns, in steps of 1/144 of a circle, and mirrorings of the copies of a car.

    They differ modulo a quarter turn, since quarter turns of a crop give the same
    answer anyway.
    """
    if copies < 1:
        raise ValueError(f"copies must be at least 1, got {copies}")
    quarter = headings.BINS // 4
    return [
        (round(i * quarter / copies) + (i % 4) * quarter, i % 2 == 1)
        for i in range(copies)
    ]


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
        log_p = turned_back(_responses(model, images), shift, mirrored)
        total = total + log_p
        own_angles.append(headings.read_density(log_p.log_softmax(-1)).angle)
    assert isinstance(total, Tensor)
    assert known is not None
    assert flat is not None
    found = headings.read_density((total / copies).log_softmax(-1))
    spread = headings.spread_of(_axial_gaps(torch.stack(own_angles, 1), found.angle))
    angle = np.where(flat, np.nan, angles.wrap_directed(found.angle.numpy() + turn))
    return (
        angle,
        np.rad2deg(found.sd.numpy()),
        np.rad2deg(spread.numpy()),
        found.flip.numpy(),
        known.numpy(),
    )


def _responses(model: Model, images: Tensor) -> Tensor:
    """Log densities (n, BINS) before normalization, averaged over an ensemble."""
    read = _from_vector if model.card.settings.get("reading") == "vector" else _as_log
    total: Tensor | float = 0.0
    for network in model.networks:
        network.eval()
        with torch.inference_mode():
            responses = network(images.to(next(network.parameters())))
            total = total + read(network, responses).double().cpu()
    assert isinstance(total, Tensor)
    return total / len(model.networks)


def _as_log(_network: Any, responses: Tensor) -> Tensor:
    return headings.SHARPNESS * headings.resample(responses.float())


def _from_vector(network: Any, responses: Tensor) -> Tensor:
    """Make a density around the vector of networks that were taught nothing more."""
    unit = torch.nn.functional.normalize(network.direction(responses), dim=1)
    theta = headings.bin_angles(headings.BINS).to(unit)
    table = torch.stack([theta.cos(), theta.sin()])
    return 2 * headings.SHARPNESS * (unit @ table)


def turned_back(log_p: Tensor, shift: int, mirrored: bool) -> Tensor:
    """Bring densities (n, bins) of crops into the frame they were read from.

    A car at angle θ stands at θ - shift in its crop, mirrored at π - (θ - shift).
    """
    bins = log_p.shape[-1]
    theta = torch.arange(bins) - shift
    theta = bins // 2 - theta if mirrored else theta
    return log_p[..., theta % bins]


def _axial_gaps(copies: Tensor, angle: Tensor) -> Tensor:
    """Differences (n, copies) from the angle; a flipped copy counts as its axis."""
    gap = copies - angle[:, None]
    gap = torch.atan2(gap.sin(), gap.cos())
    return torch.where(gap.cos() < 0, gap - torch.pi, gap)


def iter_orient(
    image: np.ndarray | Path | str,
    cars: CarTable | Path | str,
    options: OrientOptions | None = None,
) -> Job[CarTable]:
    """Fill in the headings of a table of cars.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 3) or (H, W, 4), or path
    cars : CarTable or path
        Centers in pixels; lengths where known. Rows that name another image than the
        file are left as they are; where all do, that is an error.
    options : OrientOptions, optional

    Returns
    -------
    CarTable
        The same rows in the same order. Cars outside the image (status "outside
        image") and cars in crops without any contrast ("no contrast") get no heading.
        What a person accepted, edited or rejected is kept; the model's answer goes to
        `machine_heading_cw_from_up_deg`.
    """
    options = options or OrientOptions()
    name = Path(image).name if isinstance(image, (str, Path)) else ""
    pixels = read_image(image) if isinstance(image, (str, Path)) else np.asarray(image)
    if isinstance(cars, CarTable):
        table = cars
    else:
        table = read_cars(cars, image_size=(pixels.shape[0], pixels.shape[1]))
    own = table.is_of(name) if name else (True,) * len(table)
    cars_here = [car for car, is_own in zip(table.cars, own, strict=True) if is_own]
    lengths, note = car_lengths(cars_here, options)
    answers, source = yield from _iter_answers(pixels, cars_here, lengths, options)
    filled = iter(
        with_answer(car, answer, source, redo=options.redo_reviewed)
        for car, answer in zip(cars_here, answers, strict=True)
    )
    cars_now = [
        next(filled) if is_own else car
        for car, is_own in zip(table.cars, own, strict=True)
    ]
    notes = notes_now(table.notes, note, _others_note(own))
    return replace(table.with_cars(cars_now), notes=notes)


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
    centers = np.array([(c.cx, c.cy) for c in cars]).reshape(len(cars), 2)
    inside = inside_image(centers, pyramid.shape)
    found = yield from iter_headings(
        model, pyramid, centers[inside], lengths[inside], options
    )
    places = np.full(len(cars), -1)
    places[inside] = np.arange(int(inside.sum()))
    return [_answer(found, place) for place in places.tolist()], source


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


def car_lengths(cars: Sequence[Car], options: OrientOptions) -> tuple[np.ndarray, str]:
    """Lengths in pixels (n,), and a note if some had to be assumed.

    A car's own length comes first, then the option, then a typical car at the given
    pixel size, then the median of the other cars, then 36 pixels.
    """
    own = np.array([car.length or np.nan for car in cars], float)
    missing = np.isnan(own)
    if not missing.any():
        return own, ""
    if options.car_length_px is not None:
        assumed, why = options.car_length_px, "as given"
    elif options.pixel_size_m is not None:
        assumed, why = TYPICAL_CAR_M / options.pixel_size_m, "from the pixel size"
    elif not missing.all():
        assumed, why = float(np.nanmedian(own)), "the median of the other cars"
    else:
        assumed = DEFAULT_LENGTH_PX
        why = "assumed: give the car length or the pixel size for better headings"
    note = f"{int(missing.sum())} cars without length: {assumed:.1f} px, {why}"
    return np.where(missing, assumed, own), note
