"""The checker passes what is equivariant, and fails what is not."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from roteq_core.layers import FieldMaxPool, Magnitude, RotConv
from roteq_core.testing import assert_equivariant


def image(*shape: int) -> torch.Tensor:
    random = torch.Generator().manual_seed(0)
    return torch.randn(shape, generator=random, dtype=torch.float64)


def rot_conv(orientations: int = 8, **options) -> nn.Module:
    torch.manual_seed(0)
    return RotConv(1, 2, 5, orientations=orientations, **options).double()


@pytest.mark.parametrize(
    ("network", "x"),
    [
        (rot_conv(vector_input=False), image(1, 1, 9, 8)),
        (rot_conv(), image(1, 1, 2, 9, 8)),
        (Magnitude(), image(1, 1, 2, 9, 8)),
        (nn.Sequential(rot_conv(vector_input=False), Magnitude()), image(1, 1, 9, 8)),
    ],
    ids=["image to field", "field to field", "field to map", "image to map"],
)
def test_equivariant_networks_pass(network, x):
    assert assert_equivariant(network, x) == []


@pytest.mark.parametrize(
    ("network", "x"),
    [
        (nn.Conv2d(1, 2, 3, padding=1).double(), image(1, 1, 9, 9)),
        (rot_conv(17, vector_input=False), image(1, 1, 9, 9)),
        (lambda field: field.flip(2), image(1, 1, 2, 9, 9)),
        (lambda x: x[..., :-1, :-1].cumsum(-1), image(1, 1, 9, 9)),
    ],
    ids=["plain convolution", "17 orientations", "components swapped", "one-sided"],
)
def test_other_networks_fail(network, x):
    with pytest.raises(AssertionError, match=r"turned by 90°: the largest error is"):
        assert_equivariant(network, x)


def test_a_network_that_turns_by_half_turns_only_fails_at_a_quarter():
    def row_sums(x: torch.Tensor) -> torch.Tensor:
        return x.sum(-1, keepdim=True).expand_as(x)

    with pytest.raises(AssertionError, match="turned by 90°"):
        assert_equivariant(row_sums, image(1, 1, 6, 6))


def test_maps_taken_for_a_field_fail():
    """Components that do not turn: the places are right, the vectors are not."""

    def stacked(x: torch.Tensor) -> torch.Tensor:
        return torch.stack([x, x.square()], 2)

    with pytest.raises(AssertionError, match="turned by 90°"):
        assert_equivariant(stacked, image(1, 1, 6, 6))


def test_output_of_another_shape_fails():
    def first_rows(x: torch.Tensor) -> torch.Tensor:
        return x[..., :2, :]

    with pytest.raises(AssertionError, match=r"got shape \(1, 1, 2, 6\) instead of"):
        assert_equivariant(first_rows, image(1, 1, 6, 6))


def test_output_that_is_no_number_fails():
    with pytest.raises(AssertionError, match="not finite"):
        assert_equivariant(lambda x: x * math.nan, image(1, 1, 6, 6))


def test_output_that_is_zero_everywhere_tests_nothing():
    silent = rot_conv(17, vector_input=False)
    nn.init.constant_(silent.bias, -100)
    with pytest.raises(AssertionError, match="nothing was tested: the output is zero"):
        assert_equivariant(silent, image(1, 1, 9, 9))


def test_empty_output_tests_nothing():
    network = nn.Conv2d(1, 2, 3).double()
    with pytest.raises(AssertionError, match=r"is empty, \(0, 2, 7, 7\)"):
        assert_equivariant(network, image(0, 1, 9, 9))


def test_tolerance_is_relative_to_the_largest_value():
    def slightly_off(x: torch.Tensor) -> torch.Tensor:
        return x + 1e-3 * x.abs().max() * torch.eye(6)[0].double()

    x = 1e6 * image(1, 1, 6, 6)
    assert_equivariant(slightly_off, x, tolerance=1e-2)
    with pytest.raises(AssertionError, match=r"exceed the tolerance 0\.0001"):
        assert_equivariant(slightly_off, x, tolerance=1e-4)


def test_outputs_of_other_kinds_turn_as_they_are_told():
    def total(x: torch.Tensor) -> torch.Tensor:
        return x.sum((1, 2, 3))

    assert_equivariant(total, image(2, 1, 6, 6), turn_output=lambda y, angle: y)


def test_other_angles_are_measured_and_not_asserted():
    network = nn.Sequential(rot_conv(16, vector_input=False), FieldMaxPool(1))
    smooth = nn.functional.avg_pool2d(image(1, 1, 44, 44), 5, 1)
    near, far = assert_equivariant(network, smooth, angles=[0.2, 2.5])
    assert math.radians(near.turned_deg) == pytest.approx(0.2)
    assert 0 < near.angle_median_deg < 15
    assert 0 < far.angle_median_deg < 15
