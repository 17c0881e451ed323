"""Find the cars of an image, and let the heading model look at each.

The image is brought to the scale at which the finder learnt. Where nobody says how long
cars are, several scales are tried, the cars found there tell how long cars are, and the
image is looked at once more at that scale alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from roteq_core import angles
from roteq_core.card import file_hash, find_model
from roteq_core.cars.orient import iter_orient
from roteq_core.cars.pictures import load_picture
from roteq_core.cars.sizes import TYPICAL_CAR_M
from roteq_core.cars.units import check_given_length, given_notes
from roteq_core.config import FindOptions, OrientOptions
from roteq_core.device import choose_device
from roteq_core.jobs import Job, Report
from roteq_core.model import Model, load_model
from roteq_core.predict import iter_predict_maps
from roteq_core.tables import CarTable
from roteq_core.tables.car import MACHINE, Car
from roteq_core.tasks.car_crops import image_maps
from roteq_core.tasks.car_detections import (
    CELL,
    WIDTH_RATIO,
    Detections,
    detections_from_maps,
    suppress,
)
from roteq_core.tasks.car_finder_maps import finder_planes
from roteq_core.tasks.car_scenes import FINDER_LENGTH, normalize_scene, scale_image
from roteq_core.tiles import symmetric_padding

# Lengths in pixels that are tried where none is given.
TRIED_LENGTHS = (20.0, 33.0, 55.0, 91.0)
# A car is believed if its own length is about the one that was looked for.
AT_HOME = 1.35
# Lengths that differ by this much (in their logarithm) speak for each other.
LENGTH_SPREAD = 0.15
SAME_LENGTH = 1.06
DEFAULT_THRESHOLD = 0.35  # of models whose card says none


def iter_find_cars(
    image: np.ndarray | Path | str, options: FindOptions | None = None
) -> Job[CarTable]:
    """Find cars, with lengths, headings and scores.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 3) or (H, W, 4), or path
    options : FindOptions, optional

    Returns
    -------
    CarTable
        Best first. An image without cars gives an empty table.
    """
    options = options or FindOptions()
    name, pixels, turned = load_picture(image)
    check_given_length(options, pixels.shape)
    model = load_model(options.model, task="car-finder")
    found = yield from iter_detections(model, pixels, options)
    source = f"{model.card.name} {file_hash(find_model(options.model))}"
    height, width = pixels.shape[:2]
    table = CarTable(
        tuple(_car(found, i, source, name) for i in range(len(found.scores))),
        image_size=(height, width),
        notes=(*turned, *given_notes(options)),
    )
    if not options.orient or not len(table):
        return table
    pointing = OrientOptions(model=options.orient_model, device=options.device)
    return (yield from iter_orient(pixels, table, pointing))


def _car(found: Detections, i: int, source: str, file: str) -> Car:
    length = float(found.lengths[i])
    return Car(
        round(float(found.centers[i, 0]), 2),
        round(float(found.centers[i, 1]), 2),
        length=round(length, 2),
        width=round(length * WIDTH_RATIO, 2),
        heading_cw_from_up_deg=round(
            float(angles.heading_from_angle(found.angles[i])), 2
        ),
        score=round(float(found.scores[i]), 4),
        status=MACHINE,
        source=source,
        label="car",
        file=file,
        extra={"found_by": source},
    )


def working_lengths(options: FindOptions) -> tuple[float, ...]:
    """Car lengths in pixels to look for."""
    if options.car_length_px is not None:
        return (options.car_length_px,)
    if options.pixel_size_m is not None:
        return (TYPICAL_CAR_M / options.pixel_size_m,)
    return TRIED_LENGTHS


def threshold_for(model: Model, options: FindOptions) -> float:
    """Give the least score of a car: as given, else as the model's card says."""
    if options.threshold is not None:
        return options.threshold
    return float(model.card.settings.get("threshold", DEFAULT_THRESHOLD))


def iter_detections(
    model: Model, pixels: np.ndarray, options: FindOptions
) -> Job[Detections]:
    """Find cars in pixels, of a given length or of the one that is most likely."""
    device = choose_device(options.device)
    network = model.to(device).networks[0]
    in_maps = int(network.config.in_maps)  # type: ignore[union-attr,arg-type]
    maps = image_maps(pixels, in_maps)
    options = replace(options, threshold=threshold_for(model, options))
    lengths = list(working_lengths(options))
    passes = len(lengths) + (len(lengths) > 1)
    parts: list[Detections] = []
    for part, length in enumerate(lengths):
        job = _iter_one_scale(network, maps, length, options, device)
        parts.append((yield from _as_part(job, part, passes)))
    if len(parts) == 1:
        return join_detections(parts, options.most)
    likely = likely_length(parts, lengths)
    for found, length in zip(parts, lengths, strict=True):
        if max(likely / length, length / likely) < SAME_LENGTH:
            return join_detections([found], options.most)
    job = _iter_one_scale(network, maps, likely, options, device)
    last = yield from _as_part(job, len(lengths), passes)
    return join_detections([last], options.most)


def likely_length(parts: Sequence[Detections], lengths: Sequence[float]) -> float:
    """Say how long cars are, from what was found while looking for several lengths.

    Each counts whose own length is about the one that was looked for, by the fourth
    power of its score: sure cars decide, not the many things that look a little like
    one. There is more room for those the shorter cars are, hence the root of the
    length.

    Parameters
    ----------
    parts : sequence of Detections
    lengths : sequence of float
        What was looked for in each, pixels.
    """
    found, weights = [], []
    for part, length in zip(parts, lengths, strict=True):
        ratio = part.lengths / length
        home = (ratio < AT_HOME) & (ratio > 1 / AT_HOME)
        found.append(np.log(part.lengths[home]))
        weights.append(part.scores[home] ** 4 * part.lengths[home] ** 0.5)
    logs, weight = np.concatenate(found), np.concatenate(weights)
    if not logs.size:
        return float(lengths[0])
    tried = np.linspace(logs.min(), logs.max(), 200)
    gaps = (tried[:, None] - logs) / LENGTH_SPREAD
    votes = np.exp(-np.square(gaps) / 2) @ weight
    return float(np.exp(tried[int(np.argmax(votes))]))


def _as_part(job: Job[Detections], part: int, parts: int) -> Job[Detections]:
    """Report the progress of one scale as that of all."""
    while True:
        try:
            report = next(job)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        total = max(report.total, 1) * parts
        done = part * max(report.total, 1) + report.done
        yield Report(done, total, f"scale {part + 1} of {parts}, {report.text}")


def _iter_one_scale(
    network: nn.Module,
    maps: np.ndarray,
    length: float,
    options: FindOptions,
    device: torch.device,
) -> Job[Detections]:
    factor = FINDER_LENGTH / length
    # Even sides: else a grid of cells cannot lie symmetrically on the image.
    small = scale_image(maps, factor, multiple=2)
    image = normalize_scene(torch.from_numpy(small)[None])[0].numpy()
    height, width = image.shape[-2:]
    pads = [symmetric_padding(side, CELL) for side in (height, width)]
    padded = np.pad(image, [(0, 0), *pads])
    planes = yield from iter_predict_maps(
        network, padded, _cell_maps, tile=options.tile, device=device
    )
    assert options.threshold is not None
    found = detections_from_maps(planes[:, ::CELL, ::CELL], threshold=options.threshold)
    # Where the scaled sides are rounded, factors differ a little by axis.
    sides = np.array([maps.shape[-1] / width, maps.shape[-2] / height])
    (top, _), (left, _) = pads
    centers = (found.centers - (left, top) + 0.5) * sides - 0.5
    inside = (centers > -0.5).all(1)
    inside &= (centers < np.array(maps.shape[:0:-1]) - 0.5).all(1)
    return Detections(centers, found.lengths / factor, found.angles, found.scores).take(
        np.flatnonzero(inside)
    )


def _cell_maps(network: nn.Module, image: Tensor) -> Tensor:
    """Maps (4 or 6, h, w) of pixels: each cell repeated."""
    planes = torch.from_numpy(finder_planes(network(image))[0])
    return planes.repeat_interleave(CELL, 1).repeat_interleave(CELL, 2)


def join_detections(parts: Sequence[Detections], most: int) -> Detections:
    """Put the cars of several scales together, best first, each car once."""
    joined = Detections(
        *(np.concatenate(column) for column in zip(*parts, strict=True))
    )
    order = np.lexsort((joined.centers[:, 0], joined.centers[:, 1], -joined.scores))
    return suppress(joined.take(order[:most]))
