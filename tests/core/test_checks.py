"""What is refused; each layer's own rules are in test_layers.py."""

import numpy as np
import pytest
import torch

from roteq_core.checks import (
    check_at_least_one,
    check_conv_input,
    check_field,
    check_filters,
    check_integers,
    check_responses,
)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, None, "1", (1, 1)], ids=repr)
def test_counts_are_integers_of_at_least_one(value):
    with pytest.raises(ValueError, match="maps must be an integer >= 1, got "):
        check_at_least_one(filters=2, maps=value)


def test_integers_may_start_elsewhere():
    check_integers(0, padding=0)
    with pytest.raises(ValueError, match="padding must be an integer >= 0, got -1"):
        check_integers(0, padding=-1)


@pytest.mark.parametrize(
    "check",
    [
        check_field,
        check_responses,
        lambda x: check_filters(x, 25),
        lambda x: check_conv_input(x, torch.zeros(3, 2, 2, 5, 5), 2),
    ],
)
@pytest.mark.parametrize("values", [np.zeros((1, 2, 2, 5, 5)), [0.0], None])
def test_only_tensors_are_taken(check, values):
    with pytest.raises(ValueError, match=rf"tensor .* got {type(values).__name__}$"):
        check(values)


def test_filters_have_the_taps_that_are_turned():
    check_filters(torch.zeros(3, 2, 2, 5, 5), 50)
    with pytest.raises(ValueError, match="must have the 25 taps"):
        check_filters(torch.zeros(3, 2, 2, 5, 5), 25)


@pytest.mark.parametrize("value", [np.int64(3), np.uint8(3)], ids=repr)
def test_integers_of_numpy_count_as_well(value):
    check_at_least_one(maps=value)


@pytest.mark.parametrize("value", [np.bool_(True), np.float64(3), torch.tensor(3)])
def test_other_numbers_of_numpy_and_torch_do_not_count(value):
    with pytest.raises(ValueError, match="maps must be an integer >= 1, got "):
        check_at_least_one(maps=value)
