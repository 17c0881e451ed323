"""Small networks, models and stacks for the tests of the core."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from imageio import v3 as imageio

from roteq_core.model import Model, make_model
from roteq_core.net_config import MembraneNetConfig, TurningConfig
from roteq_core.networks import build_network
from roteq_core.synthetic import EMStack, aerial_scene, em_stack
from roteq_core.tables import Car, CarTable, read_cars, write_cars

TINY = MembraneNetConfig(
    width=1, kernel_size=5, turning=TurningConfig(orientations=8, frequencies=2)
)


@pytest.fixture(scope="session")
def tiny_config() -> MembraneNetConfig:
    """Give the config of a network that is quick to run."""
    return TINY


@pytest.fixture(scope="session")
def em() -> EMStack:
    """Give a small stack with known membranes; not to be changed."""
    return em_stack(5, 64, seed=3)


@pytest.fixture
def tiny_model() -> Model:
    """Give a membrane model with random weights and random biases."""
    torch.manual_seed(0)
    network = build_network(TINY)
    network.train()
    with torch.no_grad():
        network(torch.randn(2, 1, 64, 64))  # running spreads
        for name, value in network.named_parameters():
            if name.endswith("bias"):
                value.normal_(0, 0.1)
    network.eval()
    return make_model(
        [network], name="tiny", task="membranes", pixel_size=4.0, pixel_unit="nm"
    )


@pytest.fixture
def tiny_file(tiny_model: Model, tmp_path: Path) -> Path:
    """Give the file of a membrane model with random weights."""
    path = tmp_path / "tiny.safetensors"
    tiny_model.save(path)
    return path


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Compute with one thread, for results that must agree to the last bit."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., CarTable]:
    """Give a function that reads a text as a table of cars, from a file of a name."""

    def read_text(text: str, name: str, **options: Any) -> CarTable:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return read_cars(path, **options)

    return read_text


@pytest.fixture(scope="session")
def drawn_frames(tmp_path_factory: Any) -> Callable[[tuple[int, int]], Path]:
    """Give a function that draws three frames of a size, with their cars, as files."""

    def draw(size: tuple[int, int]) -> Path:
        path: Path = tmp_path_factory.mktemp("frames")
        rows: list[Car] = []
        for index in range(3):
            scene = aerial_scene(
                size, seed=index + 20, style="carpark", car_length_px=(28, 32)
            )
            name = f"frame_{index}.png"
            imageio.imwrite(path / name, scene.image)
            rows += [
                Car(c.cx, c.cy, c.length, c.width, c.heading_cw_from_up_deg, file=name)
                for c in scene.cars
            ]
        write_cars(CarTable(tuple(rows)), path / "cars.csv")
        return path

    return draw


@pytest.fixture(scope="session")
def split_frames(tmp_path_factory: Any) -> Path:
    """Five drawn frames, four to learn from; the first car of each is parked."""
    path: Path = tmp_path_factory.mktemp("cars_aerial")
    (path / "frames").mkdir()
    with (path / "cars.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        columns = "file cx cy length_px width_px heading_cw_from_up_deg"
        rows.writerow([*columns.split(), "stationary_id", "split"])
        for number in (118, 119, 120, 122, 140):
            scene = aerial_scene(
                (160, 160), seed=number, style="carpark", car_length_px=(28, 32)
            )
            name = f"frame_{number}.png"
            imageio.imwrite(path / "frames" / name, scene.image)
            split = "test" if number == 140 else "train"
            for index, c in enumerate(scene.cars):
                box = (c.cx, c.cy, c.length, c.width, c.heading_cw_from_up_deg)
                rows.writerow((name, *box, -1 if index else 7, split))
    return path
