"""Patches of cars to learn from, and the task that draws from them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from roteq_core.config import TrainConfig
from roteq_core.jobs import drain
from roteq_core.net_config import CarNetConfig, TurningConfig
from roteq_core.synthetic import car_crops
from roteq_core.tables import Car
from roteq_core.tasks import car_patches as cp
from roteq_core.tasks.car_scenes import scene_from_cars
from roteq_core.tasks.cars import CarTask, angles_in_crops, read_patches
from roteq_core.training.train import iter_train

SMALL = CarNetConfig(
    filters=(3, 4),
    kernel_size=7,
    crop=47,
    first_stride=2,
    turning=TurningConfig(8, frequencies=2),
)


def spot_patch(heading: float) -> cp.CarPatches:
    """A patch with one bright spot ahead of the car, which points along `heading`."""
    angle = np.deg2rad(heading)
    x, y = 100 + 12 * np.sin(angle), 90 - 12 * np.cos(angle)
    rows, columns = np.mgrid[:180, :200]
    spot = np.exp(-((rows - y) ** 2 + (columns - x) ** 2) / 18)
    image = (spot * 255).astype(np.uint8)
    return cp.patches_from_cars(image, [Car(100, 90, 36, 15, heading)])


@pytest.mark.parametrize("heading", [0.0, 75.0, 200.0])
@pytest.mark.parametrize("mirrored", [False, True])
def test_the_angle_of_a_car_follows_its_crop(heading, mirrored):
    patch = spot_patch(heading)
    turn, flips = np.array([0.8]), np.array([mirrored])
    crop = read_patches(patch, turn, flips, crop=47)[0, 0].numpy()
    rows, columns = np.mgrid[:47, :47] - 23
    found = np.arctan2((crop * rows).sum(), (crop * columns).sum())
    expected = angles_in_crops(patch.angles, turn, flips)[0]
    assert abs(np.angle(np.exp(1j * (found - expected)))) < 0.03


def test_cars_without_a_heading_cannot_be_learnt_from():
    with pytest.raises(ValueError, match="need a heading and a length"):
        cp.patches_from_cars(np.zeros((50, 50)), [Car(20, 20, 30)])


@pytest.mark.parametrize(
    "other",
    [
        lambda x: x.astype(np.uint16) * 16,
        lambda x: x.astype(np.float32),
        lambda x: x.astype(np.int32),
    ],
)
def test_patches_and_scenes_keep_the_gray_levels_of_any_image(other):
    image = np.random.default_rng(0).integers(0, 256, (90, 90), dtype=np.uint8)
    cars = [Car(45, 45, 36, 15, 20)]
    for cut in (cp.patches_from_cars, scene_from_cars):
        plain = cut(image, cars)
        wide = cut(other(image), cars)
        color = np.asarray(wide.image if cut is scene_from_cars else wide.images[0])
        first = np.asarray(plain.image if cut is scene_from_cars else plain.images[0])
        assert np.abs(color.astype(int) - first).max() <= 2


def test_a_car_parked_over_four_frames_counts_once():
    parked = [
        Car(10, 10, 30, 12, 90, file=f"{k}.png", extra={"stationary_id": "3"})
        for k in range(4)
    ]
    moving = [Car(50, 10, 30, 12, 90, file="0.png", extra={"stationary_id": "-1"})]
    weights = cp.parked_weights([*parked, *moving])
    np.testing.assert_allclose(weights, [0.25] * 4 + [1])


def test_parked_cars_are_known_by_their_place_where_no_column_says_so():
    cars = [Car(10 + k / 5, 10, 30, 12, 90 + k, file=f"{k}.png") for k in range(3)]
    cars += [Car(10 + 20 * k, 80, 30, 12, 90, file=f"{k}.png") for k in range(3)]
    weights = cp.parked_weights(cars)
    np.testing.assert_allclose(weights, [1 / 3] * 3 + [1] * 3)


def test_synthetic_crops_must_have_the_size_of_a_patch():
    with pytest.raises(ValueError, match="80 pixels wide, got 64"):
        cp.patches_from_crops(car_crops(1, 64, seed=0), "synthetic")


def small_set(count: int = 12) -> cp.CarPatches:
    crops = car_crops(count, 80, seed=3, car_length_px=(30, 40))
    return cp.patches_from_crops(crops, "synthetic")


def test_the_same_seed_draws_the_same_batch():
    task = CarTask(small_set(6), network=SMALL)
    config = TrainConfig(batch=4)
    first = task.batch(config, np.random.default_rng(5))
    again = task.batch(config, np.random.default_rng(5))
    other = task.batch(config, np.random.default_rng(6))
    torch.testing.assert_close(first, again)
    assert not torch.equal(first["image"], other["image"])
    assert first["image"].shape == (4, 1, 47, 47)


def test_shares_say_how_often_a_domain_is_drawn():
    real = cp.join_patches([spot_patch(0.0), spot_patch(90.0)])
    both = cp.join_patches([real, small_set(6)])
    task = CarTask(both, network=SMALL, shares={"real": 0.5, "synthetic": 0.5})
    assert task.chances[:2].sum() == pytest.approx(0.5)


@pytest.mark.parametrize("loss", ["density", "vector", "squared"])
def test_a_few_steps_on_a_few_cars_lower_the_loss(loss):
    patches = cp.join_patches([spot_patch(h) for h in (0.0, 120.0, 240.0)])
    task = CarTask(patches, patches, network=SMALL, loss=loss)
    config = TrainConfig(
        steps=30, batch=12, epoch_steps=30, learning_rate=0.02, intensity=0, scale=0
    )
    trained = drain(iter_train(task, config))
    assert trained.log[-1]["real_deg"] < 45


def test_nothing_to_learn_from_is_refused():
    with pytest.raises(ValueError, match="must be a car"):
        CarTask(small_set(0), network=SMALL)
