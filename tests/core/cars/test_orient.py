"""Headings for tables of cars: every kind of row, image and size."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from imageio import v3 as imageio

from roteq_core import angles
from roteq_core.cars.filled import NO_CONTRAST, OUTSIDE
from roteq_core.cars.orient import iter_orient
from roteq_core.config import OrientOptions
from roteq_core.jobs import drain
from roteq_core.model import make_model
from roteq_core.net_config import CarNetConfig, TurningConfig
from roteq_core.networks import build_network
from roteq_core.tables import Car, CarTable

NETWORK = CarNetConfig(
    filters=(3, 3),
    kernel_size=7,
    crop=47,
    first_stride=2,
    turning=TurningConfig(8, frequencies=2),
)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    """A small network with random weights, sure enough of itself to be tested."""
    torch.manual_seed(0)
    network = build_network(NETWORK).eval()
    with torch.no_grad():
        network.whole.weight *= 10
    path = tmp_path_factory.mktemp("models") / "tiny.safetensors"
    make_model([network], name="tiny", task="cars").save(path)
    return str(path)


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    rng = np.random.default_rng(0)
    coarse = torch.from_numpy(rng.random((1, 1, 16, 20)))
    smooth = torch.nn.functional.interpolate(coarse, size=(160, 200), mode="bicubic")
    return (smooth[0, 0].clamp(0, 1).numpy() * 255).astype(np.uint8)


CARS = (Car(60, 70, 30, 12), Car(130.5, 90.25, 42, 15), Car(100, 40, 25, 11))


def oriented(image, cars, model, **options) -> CarTable:
    table = cars if isinstance(cars, CarTable) else CarTable(tuple(cars))
    return drain(iter_orient(image, table, OrientOptions(model=model, **options)))


def heading_list(table) -> np.ndarray:
    return np.array([car.heading_cw_from_up_deg for car in table], float)


def apart(a, b) -> np.ndarray:
    return np.abs(np.rad2deg(angles.difference(np.deg2rad(a), np.deg2rad(b))))


def test_every_car_gets_a_heading_an_error_bar_and_its_source(image, model):
    for car in oriented(image, CARS, model):
        assert 0 <= car.heading_cw_from_up_deg < 360
        assert car.heading_sd_deg > 0
        assert 0 <= car.p_flip <= 1
        assert car.status == "machine"
        assert car.source.startswith("tiny ")


def test_a_quarter_turn_of_the_image_turns_the_headings(image, model):
    upright = oriented(image, CARS, model)
    turned_cars = [Car(159 - c.cy, c.cx, c.length, c.width) for c in CARS]
    turned = oriented(np.rot90(image, -1), turned_cars, model)
    gap = apart(heading_list(turned), heading_list(upright) + 90)
    assert gap.max() < 0.1
    for a, b in zip(turned, upright, strict=True):
        assert a.p_flip == pytest.approx(b.p_flip, abs=1e-3)
        assert a.heading_sd_deg == pytest.approx(b.heading_sd_deg, rel=0.02)


def test_mirroring_the_image_mirrors_the_headings(image, model):
    upright = oriented(image, CARS, model, copies=16)
    mirrored_cars = [Car(199 - c.cx, c.cy, c.length, c.width) for c in CARS]
    mirrored = oriented(image[:, ::-1], mirrored_cars, model, copies=16)
    assert np.median(apart(heading_list(mirrored), -heading_list(upright))) < 25


def test_batches_change_nothing(image, model):
    one = heading_list(oriented(image, CARS, model, batch=1))
    all_at_once = heading_list(oriented(image, CARS, model, batch=64))
    assert apart(one, all_at_once).max() < 0.02


def test_16_bit_and_rgba_images_give_the_same_headings(image, model):
    gray = heading_list(oriented(image, CARS, model))
    wide = heading_list(oriented(image.astype(np.uint16) * 257, CARS, model))
    rgba = np.stack([image] * 3 + [np.full_like(image, 255)], -1)
    colored = heading_list(oriented(rgba, CARS, model))
    assert apart(gray, wide).max() < 0.05
    assert apart(gray, colored).max() < 0.05


def test_a_larger_picture_gives_the_same_headings(image, model):
    double = np.kron(image, np.ones((2, 2), np.uint8))
    cars = [Car(2 * c.cx + 0.5, 2 * c.cy + 0.5, 2 * c.length) for c in CARS]
    gap = apart(
        heading_list(oriented(double, cars, model)),
        heading_list(oriented(image, CARS, model)),
    )
    assert np.median(gap) < 6


def test_an_empty_table_stays_empty(image, model):
    assert len(oriented(image, [], model)) == 0


def test_rows_outside_the_image_say_so_and_keep_their_place(image, model):
    cars = [CARS[0], Car(500, 20, 30), Car(20, -30, 30), CARS[1]]
    table = oriented(image, cars, model)
    assert [c.status for c in table] == ["machine", OUTSIDE, OUTSIDE, "machine"]
    assert table.cars[1].heading_cw_from_up_deg is None
    expected = heading_list(oriented(image, CARS[:2], model))
    found = heading_list([table.cars[0], table.cars[3]])
    assert apart(found, expected).max() < 0.02


def test_a_car_at_the_border_gets_a_heading(image, model):
    car = oriented(image, [Car(0, 0, 30)], model).cars[0]
    assert car.status == "machine"
    assert car.heading_cw_from_up_deg is not None


def test_a_flat_image_has_no_headings(model):
    table = oriented(np.full((80, 80), 7, np.uint8), [Car(40, 40, 30)], model)
    assert table.cars[0].status == NO_CONTRAST
    assert table.cars[0].heading_cw_from_up_deg is None


def test_what_a_person_decided_is_kept(image, model):
    decided = Car(60, 70, 30, 12, 123.0, status="edited", source="ann")
    kept = oriented(image, [decided], model).cars[0]
    assert (kept.heading_cw_from_up_deg, kept.status) == (123.0, "edited")
    assert kept.machine_heading_cw_from_up_deg is not None
    redone = oriented(image, [decided], model, redo_reviewed=True).cars[0]
    assert redone.status == "machine"


@pytest.fixture
def image_file(image, tmp_path):
    imageio.imwrite(tmp_path / "b.png", image)
    return tmp_path / "b.png"


def test_cars_of_other_images_stay_as_they_were(image_file, model):
    other = Car(9000, 70, 300, 12, 33.0, file="a.png", extra={"note": "x"})
    here = [replace(car, file="b.png") for car in CARS]
    table = oriented(image_file, [here[0], other, *here[1:]], model)
    assert [car.status for car in table] == ["machine", "", "machine", "machine"]
    assert table.cars[1] == other
    assert table.notes == ("1 of 4 cars are of other images and stay as they were",)
    alone = oriented(image_file, here, model)
    assert [*alone.cars[:1], other, *alone.cars[1:]] == list(table.cars)
    assert alone.notes == ()


def test_a_table_of_other_images_alone_is_refused(image_file, model):
    with pytest.raises(ValueError, match=r"have cars of b\.png, got cars of a\.png"):
        oriented(image_file, [replace(CARS[0], file="a.png")], model)


def test_cars_that_name_no_image_are_of_any(image_file, model):
    table = oriented(image_file, [CARS[0], replace(CARS[1], file="a.png")], model)
    assert [car.status for car in table] == ["machine", ""]


def test_the_job_reports_each_batch_and_can_be_pickled(image, model):
    table = CarTable(CARS)
    job = iter_orient(image, table, OrientOptions(model=model, batch=2))
    done = [report.done for report in job]
    assert done == [0, 2, 3]
    pickle.loads(pickle.dumps(oriented(image, CARS, model)))


def test_a_table_is_checked_as_it_will_be_before_a_model_is_loaded(image):
    cars = (Car(60, 70, 30, 12), Car(500, 70, 30, 12), Car(60, 70, file="b.png"))
    reviewed = Car(60, 70, 30, 12, 77.0, status="accepted")
    seen = []

    def check(table):
        seen.extend(table)
        raise ValueError("not like this")

    options = OrientOptions(model="no-such-model")
    job = iter_orient(image, CarTable((*cars, reviewed)), options, check=check)
    with pytest.raises(ValueError, match="not like this"):
        drain(job)
    assert [car.heading_cw_from_up_deg for car in seen] == [0.0, None, 0.0, 77.0]
    assert [car.status for car in seen[:2]] == ["machine", OUTSIDE]
