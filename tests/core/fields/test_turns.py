from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from roteq_core.config import FieldOptions
from roteq_core.fields.turns import iter_turn_image
from roteq_core.image_turning import turn_image
from roteq_core.jobs import drain
from roteq_core.model import make_model
from roteq_core.net_config import (
    CarFinderNetConfig,
    CarNetConfig,
    DigitNetConfig,
    PlainCarNetConfig,
    TurningConfig,
)
from roteq_core.networks.baselines import PlainNetConfig, build_any
from roteq_core.normalize import Normalization

TURNING = TurningConfig(orientations=8, frequencies=2)
CARS = CarNetConfig(filters=(2, 2), kernel_size=9, crop=40, turning=TURNING)
SAME = Normalization(0.0, 1.0)


def save(folder, name, task, config, **card):
    torch.manual_seed(0)
    network = build_any(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    path = folder / f"{name}.safetensors"
    make_model([network], name=name, task=task, **card).save(path)
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def image():
    noise = torch.randn(1, 1, 52, 48, generator=torch.Generator().manual_seed(0))
    smooth = torch.nn.functional.avg_pool2d(noise, 3, stride=1, padding=1) * 2
    return smooth[0, 0].numpy()


def curve(image, model, baseline=None, **options):
    job = iter_turn_image(
        (image, SAME), FieldOptions(model=model), baseline=baseline, steps=8, **options
    )
    return drain(job)


def test_quarter_turns_change_the_plain_network_only(folder, image, tiny_file):
    plain = save(folder, "plain", "membranes", PlainNetConfig(width=1, kernel_size=5))
    found = curve(image, str(tiny_file), plain)
    angles, lines = found.lines()
    np.testing.assert_allclose(angles, np.arange(0, 361, 45))
    quarters = angles % 90 == 0
    assert lines["tiny"][quarters].max() < 1e-4
    assert lines["plain CNN"][[0, -1]].max() < 1e-6
    assert lines["plain CNN"][[2, 4, 6]].min() > 1e-4
    assert lines["tiny"][~quarters].min() > 1e-4  # read between pixels
    assert found.quantity == "change of probability (RMS)"


def test_reading_between_pixels_is_measured_apart(folder, image, tiny_file):
    found = curve(image, str(tiny_file))
    angles, lines = found.reading_lines()
    quarters = angles % 90 == 0
    np.testing.assert_array_equal(lines["tiny"][quarters], 0)
    assert lines["tiny"][~quarters].min() > 1e-5
    soft = torch.from_numpy(image)[None, None]
    for _ in range(6):  # nothing is lost between the pixels of a soft image
        soft = torch.nn.functional.avg_pool2d(soft, 3, stride=1, padding=1) * 1.4
    _, softer = curve(soft[0, 0].numpy(), str(tiny_file)).reading_lines()
    assert softer["tiny"][~quarters].max() < lines["tiny"][~quarters].min() / 2


def test_a_further_quarter_turn_reads_at_the_same_places(image):
    square = torch.from_numpy(image[:48, :48].copy())[None]

    def forth_and_back(degrees):
        turned = turn_image(square, math.radians(degrees), mode="bicubic")
        return turn_image(turned, -math.radians(degrees), mode="bicubic")

    inside = (slice(None), slice(12, 36), slice(12, 36))
    for degrees in (120, 210, 300):
        torch.testing.assert_close(
            forth_and_back(degrees)[inside],
            forth_and_back(30)[inside],
            atol=1e-4,
            rtol=0,
        )
    assert (forth_and_back(30) - square)[inside].abs().max() > 1e-2


def test_headings_are_compared_in_degrees(folder, image):
    ours = save(folder, "cars", "cars", CARS)
    plain = save(
        folder,
        "plain-cars",
        "cars",
        PlainCarNetConfig(filters=(2, 2), kernel_size=9, crop=40),
        settings={"reading": "vector", "baseline": True},
    )
    found = curve(image, ours, plain)
    _, lines = found.lines()
    assert found.reading == {}  # crops are read between pixels at any angle
    assert lines["cars"][::2].max() < 1
    assert lines["plain CNN"][2:-1:2].max() > 20
    assert "degrees" in found.quantity


def test_median_over_cars_is_taken(folder, image):
    ours = save(folder, "cars", "cars", CARS)
    cars = np.array([[20.0, 20.0, 30.0], [30.0, 25.0, 25.0], [15.0, 30.0, 20.0]])
    alone = [curve(image, ours, cars=cars[i : i + 1]).lines()[1] for i in range(3)]
    together = curve(image, ours, cars=cars).lines()[1]
    median = np.median([lines["cars"] for lines in alone], axis=0)
    np.testing.assert_allclose(together["cars"], median, atol=1e-3)


def test_flat_crop_has_no_heading(folder):
    ours = save(folder, "cars", "cars", CARS)
    with pytest.raises(ValueError, match="center the view on a car"):
        curve(np.ones((48, 48), np.float32), ours)


@pytest.mark.parametrize(
    ("task", "config"),
    [
        ("car-finder", CarFinderNetConfig(filters=(2, 2), hidden=2, turning=TURNING)),
        ("digits", DigitNetConfig(filters=(2, 2, 2), hidden=4, turning=TURNING)),
    ],
)
def test_other_models_are_turned_too(folder, image, task, config):
    model = save(folder, task, task, config)
    larger = np.tile(image, (2, 2))
    _, lines = curve(larger, model, "auto").lines()
    assert list(lines) == [task]
    assert lines[task][::2].max() < 1e-3 * max(1, lines[task].max())


def test_stop_keeps_what_there_is(image, tiny_file):
    given, options = (image, SAME), FieldOptions(model=str(tiny_file))
    job = iter_turn_image(given, options, baseline=None, steps=8)
    reports = [next(job) for _ in range(4)]
    assert reports[-1].values["angle"] == 45
    assert set(reports[-1].values["changes"]) == {"tiny"}
    with pytest.raises(StopIteration) as end:
        job.throw(GeneratorExit)
    assert end.value.value.angles == [0, 45]


@pytest.mark.parametrize(
    ("shape", "steps", "message"),
    [
        ((10, 40), 8, "at least 16 pixels wide"),
        ((40, 40), 0, "steps must be at least 1"),
        ((40,), 8, r"a crop must have shape \(H, W\)"),
    ],
)
def test_mistakes_name_the_rule(tiny_file, shape, steps, message):
    given, options = (np.ones(shape), SAME), FieldOptions(model=str(tiny_file))
    with pytest.raises(ValueError, match=message):
        drain(iter_turn_image(given, options, steps=steps))
