"""Turning images and fields: which way, how exactly, and what of them."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings, strategies as st

from roteq_core.image_turning import (
    central_disc,
    turn_field,
    turn_image,
    turn_vectors,
)

QUARTER = math.pi / 2


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(-6, 6))
def test_quarter_turns_of_images_are_exact_and_swap_sides(height, width, quarters):
    image = torch.randn(2, height, width)
    turned = turn_image(image, quarters * QUARTER)
    torch.testing.assert_close(turned, image.rot90(-quarters, (1, 2)), rtol=0, atol=0)
    assert torch.equal(turn_image(turned, -quarters * QUARTER), image)


def test_images_turn_from_right_towards_down():
    image = torch.zeros(5, 5)
    image[2, 4] = 1  # right of the center
    assert turn_image(image, QUARTER)[4, 2] == 1  # below it
    assert turn_image(image, QUARTER + 1e-4)[4, 2] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("shape", [(41, 41), (40, 44)])
def test_turning_back_undoes_turning(shape):
    y = torch.linspace(-3, 3, shape[0])[:, None].double()
    x = torch.linspace(-3, 3, shape[1]).double()
    image = torch.sin(x + 0.4 * y) * torch.exp(-(x**2 + y**2))
    back = turn_image(turn_image(image, 0.7, mode="bicubic"), -0.7, mode="bicubic")
    assert (back - image).abs().max() < 0.05 * image.abs().max()


@pytest.mark.parametrize("angle", [0.3, QUARTER, 2.0, math.pi])
def test_turning_a_field_turns_its_vectors(angle):
    field = torch.zeros(1, 2, 9, 9).double()
    field[:, 0] = 1  # all point right
    turned = turn_field(field, angle)
    expected = [math.cos(angle), math.sin(angle)]
    assert turned[0, :, 4, 4].tolist() == pytest.approx(expected, abs=1e-12)


def test_four_quarter_turns_of_a_field_are_none():
    field = torch.randn(2, 3, 2, 6, 5)
    turned = field
    for _ in range(4):
        turned = turn_field(turned, QUARTER)
    assert torch.equal(turned, field)


def test_integer_images_turn_by_quarters_only():
    image = torch.arange(6).reshape(2, 3)
    assert turn_image(image, QUARTER).tolist() == [[3, 0], [4, 1], [5, 2]]
    with pytest.raises(ValueError, match=r"needs a float image, got torch\.int64"):
        turn_image(image, 0.5)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_turns_like_single(dtype, mode):
    image = torch.randn(2, 300, 310, generator=torch.Generator().manual_seed(0))
    image = image.to(dtype)
    found = turn_image(image, 0.3, mode=mode)
    assert found.dtype == dtype
    expected = turn_image(image.float(), 0.3, mode=mode).to(dtype)
    assert torch.equal(found, expected)
    turned = turn_field(image, 0.3, mode=mode)
    expected = turn_field(image.float(), 0.3, mode=mode)
    torch.testing.assert_close(turned.float(), expected, rtol=0, atol=0.05)


@pytest.mark.parametrize("angle", [0.3, math.pi])
@pytest.mark.parametrize("shape", [(2, 0, 5), (2, 4, 0), (0, 2, 4, 5)])
def test_empty_images_and_fields_stay_empty(shape, angle):
    assert turn_image(torch.zeros(shape), angle).shape == shape
    if len(shape) == 3:
        assert turn_field(torch.zeros(shape), angle).shape == shape


def test_what_is_no_image_or_field_is_refused():
    with pytest.raises(ValueError, match=r"image must have shape .* got \(3,\)"):
        turn_image(torch.zeros(3), QUARTER)
    with pytest.raises(ValueError, match=r"field must have shape .* got \(3, 4, 4\)"):
        turn_field(torch.zeros(3, 4, 4), QUARTER)


def test_vectors_turn_along_any_axis():
    vectors = torch.tensor([[1.0, 0.0], [0.0, 2.0]])  # u and v of two, as columns
    expected = torch.tensor([[0.0, -2.0], [1.0, 0.0]])
    torch.testing.assert_close(turn_vectors(vectors, QUARTER, dim=0), expected)
    torch.testing.assert_close(turn_vectors(vectors.T, QUARTER, dim=1), expected.T)


def test_vectors_turn_whatever_the_device_of_the_moment():
    vectors = torch.tensor([1.0, 0.0])
    with torch.device("meta"):
        turned = turn_vectors(vectors, QUARTER, dim=0)
    assert turned.tolist() == [0, 1]


@pytest.mark.parametrize(("height", "width"), [(9, 9), (8, 13), (1, 1), (2, 3)])
def test_central_disc_turns_onto_itself(height, width):
    disc = central_disc((height, width))
    assert disc.shape == (height, width)
    assert torch.equal(disc.rot90(), central_disc((width, height)))
    assert disc.any()
    assert central_disc((height, width), 0.3).sum() <= disc.sum()
