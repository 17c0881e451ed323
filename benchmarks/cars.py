"""Headings of many cars, beside a plain CNN, and a large scene from file to cars."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tifffile
import torch

from benchmarks.measure import Effort, interleaved_minima, memory_in_fresh_process
from benchmarks.results import Results
from benchmarks.rivals.cnn import car_cnn
from benchmarks.workloads import CNN, OURS
from roteq_core.cars.find_cars import iter_find_cars
from roteq_core.cars.orient import iter_headings
from roteq_core.config import FindOptions, OrientOptions
from roteq_core.jobs import drain
from roteq_core.model import Model, load_model
from roteq_core.synthetic import aerial_scene
from roteq_core.tasks.car_crops import (
    Pyramid,
    image_maps,
    make_pyramid,
    normalize_crops,
    read_crops,
)

SECTION = "cars"
Cars = tuple[Pyramid, np.ndarray, np.ndarray]  # where to read, centers, lengths
LENGTH = 36.0
BATCH = 64
CROP = 48


def some_cars(count: int, side: int = 1024) -> Cars:
    """A scene, and places in it to look at."""
    image = aerial_scene((side, side), seed=0).image
    random = np.random.default_rng(0)
    centers = random.uniform(CROP, side - CROP, (count, 2))
    pyramid = make_pyramid(image_maps(image, 3), LENGTH)
    return pyramid, centers, np.full(count, LENGTH)


def orient_by_us(model: Model, cars: Cars) -> None:
    """Read each car once, by every network of the shipped model."""
    options = OrientOptions(device="cpu", copies=1, batch=BATCH)
    drain(iter_headings(model, *cars, options))


def orient_by_cnn(network: torch.nn.Module, cars: Cars) -> None:
    pyramid, centers, lengths = cars
    with torch.inference_mode():
        for first in range(0, len(centers), BATCH):
            here = slice(first, first + BATCH)
            crops = read_crops(pyramid, centers[here], lengths[here], 0.0, crop=CROP)
            network(normalize_crops(crops)[:, :1])


def measure_headings(results: Results, counts: tuple[int, ...], effort: Effort) -> None:
    model, network = load_model("cars", task="cars"), car_cnn().eval()
    for count in counts:
        cars = some_cars(count)
        runs: dict[str, Callable[[], object]] = {
            OURS: functools.partial(orient_by_us, model, cars),
            CNN: functools.partial(orient_by_cnn, network, cars),
        }
        seconds = interleaved_minima(runs, effort)
        for who, value in seconds.items():
            name = f"headings of {count} cars"
            results.put(SECTION, name, who, seconds=value, cars_per_s=count / value)
    for count in counts:
        figure = memory_in_fresh_process("benchmarks.memory", ["cars", str(count)])
        results.put(SECTION, "memory of headings", str(count), peak_mb=figure)


def prepare_memory(count: str) -> Callable[[], object]:
    """For `benchmarks.memory`: everything loaded, a few cars done."""
    model = load_model("cars", task="cars")
    orient_by_us(model, some_cars(BATCH))
    return functools.partial(orient_by_us, model, some_cars(int(count)))


def measure_scene(results: Results, side: int) -> None:
    """A large scene, made of smaller ones, from file to found and oriented cars."""
    part = aerial_scene((1024, 1024), seed=0).image
    image = np.tile(part, (side // 1024, side // 1024, 1)[: part.ndim])
    options = FindOptions(device="cpu", car_length_px=LENGTH)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.tif"
        tifffile.imwrite(path, image)
        found: list[int] = []

        def run() -> None:
            found.append(len(drain(iter_find_cars(path, options))))

        seconds = interleaved_minima({OURS: run}, Effort(rounds=1, least=1))[OURS]
    results.put(SECTION, f"scene of {side}", OURS, seconds=seconds, cars=found[-1])
