from __future__ import annotations

import pytest

from roteq_core.cars.train import TRAIN_CARS
from roteq_core.training.presets import (
    CAR_PRESETS,
    MEMBRANE_PRESETS,
    car_preset,
    membrane_preset,
)


@pytest.mark.parametrize("name", MEMBRANE_PRESETS)
def test_presets_are_given_as_they_stand(name):
    preset = MEMBRANE_PRESETS[name]
    assert membrane_preset(name) == (preset.network, preset.train)


def test_presets_grow_in_cost():
    costs = [
        p.network.width**2 * p.train.steps * p.train.batch * p.train.crop**2
        for p in MEMBRANE_PRESETS.values()
    ]
    assert costs == sorted(costs)


def test_options_change_a_preset():
    network, train = membrane_preset("quick", width=3, steps=7, seed=None)
    assert network.width == 3
    assert (train.steps, train.epoch_steps) == (7, 7)
    assert train.seed == MEMBRANE_PRESETS["quick"].train.seed


def test_unknown_preset_is_refused():
    with pytest.raises(ValueError, match=r"must be one of \['quick', .*got 'slow'"):
        membrane_preset("slow")
    with pytest.raises(ValueError, match=r"must be one of \['quick', .*got 'slow'"):
        car_preset("slow", TRAIN_CARS)


def test_a_car_preset_is_given_with_changes_or_another_training_without_a_name():
    best = car_preset("best", TRAIN_CARS, seed=3, batch=None)
    assert best.synthetic == CAR_PRESETS["best"].synthetic
    assert (best.train.seed, best.train.batch) == (3, 32)
    plain = car_preset(None, TRAIN_CARS, steps=7)
    assert (plain.train.steps, plain.train.epoch_steps) == (7, 7)
    assert plain.train.learning_rate == TRAIN_CARS.learning_rate
