"""Turn an image through all angles and see how far a model's answer turns with it.

An equivariant model gives the same answer, turned. The answer is turned back and
compared with that to the upright image: a map on the disc that every turned copy shows,
a heading in degrees, or a vector of numbers.

Angles that are no quarter turns read the image between its pixels, which changes every
model's answer. How much is measured apart: the image is turned forth and back, so that
it is upright but was read between pixels, and the answer to it is compared. It was then
read twice, where a turned image is read once, and its answer once. Headings have no
such measure: crops of cars are read between pixels at any angle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from roteq_core import angles
from roteq_core.areas import Area
from roteq_core.card import shipped_models
from roteq_core.cars.orient import iter_headings
from roteq_core.cars.sizes import DEFAULT_LENGTH_PX
from roteq_core.config import FieldOptions, OrientOptions
from roteq_core.device import choose_device
from roteq_core.fields.compute import network_input, read_part
from roteq_core.fields.turn_curve import BASELINES, TurnCurve
from roteq_core.image_turning import central_disc, turn_image
from roteq_core.jobs import Job, Report, drain
from roteq_core.model import Model, warm_model
from roteq_core.normalize import Normalization
from roteq_core.resample import resample
from roteq_core.tasks.car_crops import image_maps, make_pyramid
from roteq_core.tasks.membranes import membrane_maps
from roteq_core.tiles import round_up

LARGEST_CROP = 256  # pixels, as the model sees them
MOST_CARS = 64
_SHARE = 0.9  # of the radius of the disc inside the crop: its rim is not compared
_VECTOR_SIDES = {"digits": 28, "patches": 64}
_QUANTITIES = {
    "membranes": "change of probability (RMS)",
    "car-finder": "change of car score (RMS)",
    "cars": "median change of heading (degrees)",
}

# Gives the change at an angle in radians, from the upright image, and that by reading
# the image between its pixels alone, where it can be told.
Change = Callable[[float], tuple[float, float | None]]


def iter_turn_image(
    given: tuple[np.ndarray, Normalization],
    options: FieldOptions,
    *,
    cars: np.ndarray | None = None,
    steps: int = 36,
    baseline: str | None = "auto",
) -> Job[TurnCurve]:
    """Turn a crop through 0…360° and measure how the answer changes.

    Parameters
    ----------
    given : array of shape (H, W) or (H, W, 3), Normalization
        A raw crop, and how its image is normalized; colors for models of cars only.
        Maps are made of at most the central `LARGEST_CROP` pixels, as the model sees
        them.
    options : FieldOptions
        The model and how it sees the image; all members of an ensemble answer.
    cars : array of shape (n, 3), optional
        x, y and length of cars, for models that give headings; one car in the middle
        if not given. The median over cars counts: a few may swap front and rear.
    steps : int
        How many angles.
    baseline : str, optional
        A model to compare with; "auto" is the shipped one for the task, if any.

    Yields
    ------
    Report
        One for each angle; `values` has "angle" (degrees), "changes" (of each model),
        "reading" (the same by reading between pixels alone) and "quantity".

    Returns
    -------
    TurnCurve
        What is known so far, also after a stop.
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    plane, _ = given
    if plane.ndim not in (2, 3) or plane.size == 0:
        raise ValueError(f"a crop must have shape (H, W), got {plane.shape}")
    yield Report(0, steps, "loading the models")
    models = _models(options, baseline)
    task = next(iter(models.values())).card.task
    curve = TurnCurve(_QUANTITIES.get(task, "relative change of the answer"))
    try:
        yield Report(0, steps, "looking at the upright image")
        changes = {
            name: _change_of(model, given, options, cars)
            for name, model in models.items()
        }
        for step in range(steps + 1):
            angle = 360 * step / steps
            both = {name: at(math.radians(angle)) for name, at in changes.items()}
            found = {name: change for name, (change, _) in both.items()}
            reading = {name: r for name, (_, r) in both.items() if r is not None}
            curve.add(angle, found, reading)
            values = {"angle": angle, "changes": found, "reading": reading}
            values["quantity"] = curve.quantity
            yield Report(step, steps, f"turned by {angle:g}°", values)
    except GeneratorExit:
        return curve
    return curve


def iter_turn_part(
    source: Path | str,
    options: FieldOptions,
    *,
    plane: int = 0,
    area: Area | None = None,
    cars: Sequence[Sequence[float]] | None = None,
    steps: int = 36,
    baseline: str | None = "auto",
) -> Job[TurnCurve]:
    """Turn a plane of a file, or a part of it; see `iter_turn_image`.

    Parameters
    ----------
    source : path
        A file or folder that `open_volume` reads.
    options : FieldOptions
    plane : int
        Which plane, counted from 0 through all leading axes.
    area : (int, int, int, int), optional
        Top, left, bottom and right of the part.
    cars, steps, baseline
        See `iter_turn_image`.
    """
    given = read_part(source, options, plane=plane, area=area)
    places = None if cars is None else np.asarray(cars, float)
    return (
        yield from iter_turn_image(
            given, options, cars=places, steps=steps, baseline=baseline
        )
    )


def _models(options: FieldOptions, baseline: str | None) -> dict[str, Model]:
    """Name our model and the one that it is compared with."""
    ours = warm_model(options.model)
    if baseline == "auto":
        baseline = BASELINES.get(ours.card.task)
        baseline = baseline if baseline in shipped_models() else None
    if baseline is None or ours.card.is_baseline:
        return {ours.card.name: ours}
    return {ours.card.name: ours, "plain CNN": warm_model(baseline, ours.card.task)}


def _change_of(
    model: Model,
    given: tuple[np.ndarray, Normalization],
    options: FieldOptions,
    cars: np.ndarray | None,
) -> Change:
    """Look at the upright image, and give what measures the change at an angle."""
    task = model.card.task
    if task == "cars":
        return _heading_change(model, given[0], options, cars)
    device = choose_device(options.device)
    model.to(device)
    if task in _VECTOR_SIDES:
        side = _VECTOR_SIDES[task]
        plane, normalization = given
        small = resample(normalization.apply(plane), (side, side))
        return _vector_change(model, small, device)
    seen = network_input(model.card, model.networks[0], given, options)
    return _map_change(model, _central_square(seen), device)


def _central_square(image: np.ndarray) -> np.ndarray:
    """Cut the middle (C, s, s) out of an image: s is even, for exact quarter turns."""
    side = min(*image.shape[1:], LARGEST_CROP) // 2 * 2
    if side < 16:
        raise ValueError(
            "the crop must be at least 16 pixels wide and high, as the model sees it, "
            f"got {image.shape[1:]}: show more of the image"
        )
    top, left = ((n - side) // 2 for n in image.shape[1:])
    return image[:, top : top + side, left : left + side]


def _map_change(model: Model, square: np.ndarray, device: torch.device) -> Change:
    """RMS change of a map within a disc; the image is turned on a larger canvas."""
    side = square.shape[-1]
    canvas = round_up(math.ceil(side * math.sqrt(2)), 16)
    edge = (canvas - side) // 2
    edges = [(0, 0), (edge, edge), (edge, edge)]
    image = torch.from_numpy(np.pad(square, edges)).to(device)

    def answer(seen: Tensor) -> Tensor:
        with torch.inference_mode():
            found = [
                share * _map_of(network, seen[None])
                for network, share in zip(model.networks, model.shares, strict=True)
            ]
        return torch.stack(found).sum(0)

    upright = answer(image)
    inside = central_disc(upright.shape, _SHARE * side / canvas).to(device)

    def gap(found: Tensor) -> float:
        return float((found - upright)[inside].square().mean().sqrt())

    reading = _reading_of(image, lambda again: gap(answer(again)))

    def change(angle: float) -> tuple[float, float]:
        turned = answer(turn_image(image, angle, mode="bicubic"))
        return gap(turn_image(turned, -angle, mode="bicubic")), reading(angle)

    return change


def _reading_of(
    image: Tensor, gap: Callable[[Tensor], float]
) -> Callable[[float], float]:
    """Measure what reading between pixels does: the image turned forth and back.

    Angles a quarter turn apart read at the same places, so each is computed once; none
    is at quarter turns themselves.
    """
    known: dict[float, float] = {0.0: 0.0}

    def reading(angle: float) -> float:
        rest = round(math.degrees(angle) % 90, 6) % 90
        if rest not in known:
            turned = turn_image(image, math.radians(rest), mode="bicubic")
            back = turn_image(turned, -math.radians(rest), mode="bicubic")
            known[rest] = gap(back)
        return known[rest]

    return reading


def _map_of(network: nn.Module, image: Tensor) -> Tensor:
    """Give the map (h, w) that a network is asked for."""
    network.eval()
    if hasattr(network, "decide"):
        heat: Tensor = network(image).heat[0].sigmoid()
        return heat
    return membrane_maps(network, image)[0]


def _vector_change(model: Model, square: np.ndarray, device: torch.device) -> Change:
    """Length of the change of a vector of numbers over the length of the vector."""
    disc = central_disc(square.shape)
    image = torch.where(disc, torch.from_numpy(square), 0.0).to(device)

    def answer(seen: Tensor) -> Tensor:
        given = seen[None, None]
        with torch.inference_mode():
            found = [network.eval()(given).flatten() for network in model.networks]
        return torch.stack(found).mean(0)

    upright = answer(image)
    size = float(upright.norm()) or 1.0

    def gap(seen: Tensor) -> float:
        return float((answer(seen) - upright).norm()) / size

    reading = _reading_of(image, gap)
    return lambda angle: (
        gap(turn_image(image, angle, mode="bicubic")),
        reading(angle),
    )


def _heading_change(
    model: Model, plane: np.ndarray, options: FieldOptions, cars: np.ndarray | None
) -> Change:
    """Median change of the heading of cars, in degrees; each is read once, turned."""
    if cars is None or not len(cars):
        length = options.car_length_px or DEFAULT_LENGTH_PX
        height, width = plane.shape[:2]
        cars = np.array([[(width - 1) / 2, (height - 1) / 2, length]])
    chosen = np.asarray(cars, float)[:MOST_CARS]
    maps = int(getattr(model.networks[0].config, "in_maps", 1))
    pyramid = make_pyramid(image_maps(plane, maps), chosen[:, 2].max())
    one = OrientOptions(copies=1, device=options.device)

    def answer(turn: float) -> np.ndarray:
        job: Job[Any] = iter_headings(
            model, pyramid, chosen[:, :2], chosen[:, 2], one, turn=turn
        )
        return np.asarray(drain(job).angle)

    upright = answer(0.0)
    if np.isnan(upright).all():
        raise ValueError(
            "there must be a car with some contrast in the middle of the view, got a "
            "flat crop: center the view on a car"
        )

    def change(angle: float) -> tuple[float, None]:
        gap = np.abs(angles.difference(answer(angle), upright))
        return float(np.rad2deg(np.nanmedian(gap))), None

    return change
