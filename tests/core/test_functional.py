"""The paper's equations as functions, each against a plain reading of it."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings, strategies as st

from roteq_core import functional as rf
from roteq_core.geometry import BASES, turning_operator
from roteq_core.image_turning import turn_field

BLOCKS = ["image", "field"]


def draw(kind: str, maps: int = 2) -> tuple[torch.Tensor, torch.Tensor, bool]:
    """Random input, canonical filters (3, maps, P, 5, 5), and whether it is a field."""
    random = torch.Generator().manual_seed(1)
    parts = 2 if kind == "field" else 1
    shape = (2, maps, 2, 9, 8) if kind == "field" else (2, maps, 9, 8)
    x = torch.randn(shape, generator=random, dtype=torch.float64)
    weight = torch.randn(3, maps, parts, 5, 5, generator=random, dtype=torch.float64)
    return x, weight, kind == "field"


# rotating convolution


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
def test_rotating_conv_is_a_convolution_with_each_turned_filter(kind, basis):
    x, weight, vector = draw(kind)
    operator = turning_operator(5, 6, basis=basis, vector=vector)
    bias = torch.tensor([0.5, -1.0, 2.0]).double()
    found = rf.rotating_conv(x, weight, operator, bias=bias, stride=2, padding=1)
    for r, matrix in enumerate(operator.matrices()):
        turned = (weight.flatten(2) @ matrix.T).reshape(weight.shape)
        # Components are convolved one by one and added.
        parts = x.unbind(2) if vector else [x]
        expected = sum(
            F.conv2d(part, turned[:, :, n], stride=2, padding=1)
            for n, part in enumerate(parts)
        )
        torch.testing.assert_close(found[:, :, r], expected + bias[:, None, None])


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
def test_gradient_of_the_filter_is_the_sum_of_aligned_gradients(kind, basis):
    x, weight, vector = draw(kind)
    operator = turning_operator(5, 8, basis=basis, vector=vector)
    matrices = operator.matrices()
    turned = torch.einsum("rpq,fcq->rfcp", matrices, weight.flatten(2))
    turned.requires_grad_()
    weight.requires_grad_()
    responses = rf.rotating_conv(x, weight, operator, padding=2)
    maps = x.flatten(1, 2) if vector else x
    apart = torch.stack(
        [
            F.conv2d(maps, w.reshape(3, -1, 5, 5), padding=2)
            for w in turned.unflatten(-1, (-1, 5, 5)).unbind(0)
        ],
        2,
    )
    torch.testing.assert_close(apart, responses)
    pull = torch.randn_like(responses)
    (to_weight,) = torch.autograd.grad(responses, weight, pull)
    (to_turned,) = torch.autograd.grad(apart, turned, pull)
    # Each gradient goes back through its own turning.
    aligned = torch.einsum("rpq,rfcp->fcq", matrices, to_turned)
    torch.testing.assert_close(to_weight.flatten(2), aligned)


def test_aligned_gradients_are_turned_back_exactly_at_quarter_turns():
    basis = BASES["bilinear"]
    matrices = turning_operator(7, 4, basis=basis, vector=True).matrices()
    gradient = torch.randn(2 * 49, dtype=torch.float64)
    for r, matrix in enumerate(matrices):
        field = (gradient * matrices[0].diagonal()).reshape(2, 7, 7)
        turned_back = turn_field(field, -r * math.pi / 2).flatten()
        torch.testing.assert_close(matrix.T @ gradient, turned_back)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": torch.zeros(1, 9, 9)}, "(B, C, H, W), an image, got (1, 9, 9)"),
        ({"x": torch.zeros(1, 1, 2, 9, 9)}, "an image, got (1, 1, 2, 9, 9)"),
        ({"x": torch.zeros(1, 3, 9, 9)}, "must have 1 maps, got 3"),
        ({"x": torch.zeros(1, 1, 9, 4)}, "5x5 kernel, got (9, 4) with padding 0"),
        ({"x": torch.zeros(1, 1, 9, 9).int()}, "floating point, got torch.int32"),
        (
            {"x": torch.zeros(1, 1, 9, 9).double()},
            "type of the filters, torch.float32, got torch.float64",
        ),
        ({"weight": torch.zeros(2, 1, 5, 5)}, "(F, C, 1 or 2, k, k), got (2, 1, 5, 5)"),
        ({"weight": torch.zeros(2, 1, 1, 5, 4)}, "got (2, 1, 1, 5, 4)"),
        ({"weight": torch.zeros(2, 1, 1, 3, 3)}, "the 25 taps that the operator turns"),
        ({"weight": torch.zeros(2, 1, 2, 5, 5)}, "got (2, 5, 5)"),
        ({"stride": 0}, "stride must be an integer >= 1, got 0"),
        ({"padding": 1.5}, "padding must be an integer >= 0, got 1.5"),
    ],
    ids=str,
)
def test_rotating_conv_names_what_is_wrong(arguments, message):
    given = {"x": torch.zeros(1, 1, 9, 9), "weight": torch.zeros(2, 1, 1, 5, 5)}
    with pytest.raises(ValueError, match=re.escape(message)):
        rf.rotating_conv(**{**given, **arguments}, operator=turning_operator(5, 8))


@pytest.mark.parametrize("kind", BLOCKS)
def test_gradients_of_rotating_conv_agree_with_finite_differences(kind):
    x, weight, vector = draw(kind, maps=1)
    x = x[:1, ..., :6, :5].contiguous().requires_grad_()
    weight = weight[:2].contiguous().requires_grad_()
    bias = torch.randn(2, dtype=torch.float64, requires_grad=True)
    operator = turning_operator(5, 5, vector=vector)

    def run(x, weight, bias):
        return rf.rotating_conv(x, weight, operator, bias=bias, padding=1)

    assert torch.autograd.gradcheck(run, (x, weight, bias), fast_mode=True)


# magnitude and spatial pooling


def test_magnitude_is_the_length_and_flat_at_zero():
    field = torch.tensor([[3.0, 0.0], [4.0, 0.0]]).reshape(1, 1, 2, 1, 2)
    field.requires_grad_()
    length = rf.magnitude(field)
    length.sum().backward()
    assert length.flatten().tolist() == [5, 0]
    torch.testing.assert_close(
        field.grad, torch.tensor([[0.6, 0.0], [0.8, 0.0]]).reshape(1, 1, 2, 1, 2)
    )


@pytest.mark.parametrize("length", [300.0, 1e-4])
def test_magnitude_of_half_precision_neither_overflows_nor_vanishes(length):
    field = torch.tensor([0.6, 0.8]).mul(length).half().reshape(1, 1, 2, 1, 1)
    found = rf.magnitude(field.requires_grad_())
    assert found.dtype == torch.float16
    assert found.item() == pytest.approx(length, rel=1e-2)
    found.sum().backward()
    assert field.grad is not None
    assert field.grad.flatten().tolist() == pytest.approx([0.6, 0.8], rel=1e-2)


def windows(length: int, size: int) -> list[range]:
    """Symmetric windows along a side, as the method describes them."""
    count = math.ceil(length / size)
    overhang = (count * size - length) / 2  # beyond each end
    wider = 1 if overhang % 1 else 0
    starts = [size * n - math.ceil(overhang) for n in range(count)]
    return [range(max(0, start), min(length, start + size + wider)) for start in starts]


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4))
def test_max_pool_keeps_the_longest_vector_of_each_window(height, width, size):
    field = torch.randn(1, 2, 2, height, width)
    pooled = rf.field_max_pool(field, size)
    rows, columns = windows(height, size), windows(width, size)
    assert pooled.shape == (1, 2, 2, len(rows), len(columns))
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            part = field[..., row.start : row.stop, column.start : column.stop]
            best = part.flatten(3)[0].norm(dim=1).argmax(-1)
            for c in range(2):
                expected = part[0, c].flatten(1)[:, best[c]]
                assert torch.equal(pooled[0, c, :, i, j], expected)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 10), st.integers(1, 10), st.integers(1, 4))
def test_max_pool_turns_with_the_field_at_every_size(height, width, size):
    field = torch.randn(1, 1, 2, height, width)
    turned = rf.field_max_pool(turn_field(field, math.pi / 2), size)
    expected = turn_field(rf.field_max_pool(field, size), math.pi / 2)
    assert torch.equal(turned, expected)


def test_max_pool_sends_gradients_to_the_longest_vector():
    field = torch.tensor([[1.0, 3.0, 0.0, 0.0], [1.0, 4.0, 0.0, 0.0]])
    field = field.reshape(1, 1, 2, 1, 4).requires_grad_()
    rf.field_max_pool(field, 2).sum().backward()
    assert field.grad is not None
    assert field.grad[..., 0, 1].flatten().tolist() == [1, 1]
    assert field.grad[..., 0, 0].flatten().tolist() == [0, 0]


def test_max_pool_keeps_the_mean_of_equally_long_vectors():
    rounded = 3 * (1 + 1e-7)
    field = torch.tensor([[3, 0, -1], [0, rounded, 0.5]]).reshape(1, 1, 2, 1, 3)
    pooled = rf.field_max_pool(field, 3)
    assert pooled.flatten().tolist() == pytest.approx([1.5, 1.5])


def test_max_pool_tells_long_vectors_of_half_precision_apart():
    field = torch.tensor([[300.0, 600.0], [0.0, 0.0]]).half().reshape(1, 1, 2, 1, 2)
    pooled = rf.field_max_pool(field, 2)
    assert pooled.dtype == torch.float16
    assert pooled.flatten().tolist() == [600, 0]


def test_max_pool_of_nothing_is_nothing_with_finite_gradients():
    field = torch.zeros(1, 1, 2, 5, 4, requires_grad=True)
    pooled = rf.field_max_pool(field, 2)
    pooled.sum().backward()
    assert not pooled.any()
    assert field.grad is not None
    assert field.grad.isfinite().all()


def test_max_pool_size_must_be_positive():
    with pytest.raises(ValueError, match="size must be an integer >= 1, got 0"):
        rf.field_max_pool(torch.zeros(1, 1, 2, 4, 4), 0)


# upsampling and normalization


@settings(deadline=None, max_examples=20)
@given(*[st.integers(1, 7)] * 4)
def test_upsampling_turns_with_the_field_at_every_size(height, width, tall, wide):
    field = torch.randn(1, 2, 2, height, width, dtype=torch.float64)
    upright = rf.field_upsample(field, (tall, wide))
    turned = rf.field_upsample(turn_field(field, math.pi / 2), (wide, tall))
    assert upright.shape == (1, 2, 2, tall, wide)
    torch.testing.assert_close(turned, turn_field(upright, math.pi / 2))


def test_upsampling_interpolates_each_component():
    field = torch.tensor([[0.0, 4.0], [8.0, 0.0]]).reshape(1, 1, 2, 1, 2)
    up = rf.field_upsample(field, (1, 4))
    assert up[0, 0, :, 0].tolist() == [[0, 1, 3, 4], [8, 6, 2, 0]]


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ((4,), r"size must be \(height, width\), got \(4,\)"),
        ((0, 4), "height must be an integer >= 1, got 0"),
        ((4, 7.5), "width must be an integer >= 1, got 7.5"),
        (8, r"size must be \(height, width\), got 8"),
        (np.array(8), r"size must be \(height, width\), got array\(8\)"),
        (None, r"size must be \(height, width\), got None"),
        ("ab", "height must be an integer >= 1, got 'a'"),
    ],
)
def test_upsampling_needs_a_height_and_a_width(size, message):
    with pytest.raises(ValueError, match=message):
        rf.field_upsample(torch.zeros(1, 1, 2, 4, 4), size)


@pytest.mark.parametrize("size", [[8, 6], np.array([8, 6]), torch.Size([8, 6])])
def test_upsampling_takes_any_pair_of_integers(size):
    assert rf.field_upsample(torch.zeros(1, 1, 2, 4, 4), size).shape == (1, 1, 2, 8, 6)


def test_normalizing_divides_by_the_deviation_and_keeps_angles():
    field = torch.randn(2, 3, 2, 5, 5, dtype=torch.float64)
    variance = torch.tensor([1.0, 4.0, 0.25]).double()
    gain = torch.tensor([1.0, 1.0, 2.0]).double()
    found = rf.field_normalize(field, variance, gain, eps=0.0)
    scale = torch.tensor([1.0, 0.5, 4.0]).double().reshape(3, 1, 1, 1)
    torch.testing.assert_close(found, field * scale)


def test_normalization_adds_eps_to_the_variance():
    field = torch.ones(1, 2, 2, 1, 1).double()
    variance = torch.tensor([0.0, 0.75]).double()
    found = rf.field_normalize(field, variance, eps=0.25)
    assert found[0, :, 0].flatten().tolist() == pytest.approx([2, 1])


@pytest.mark.parametrize(
    "operation",
    [rf.magnitude, rf.field_max_pool, lambda z: rf.field_upsample(z, (2, 2))],
    ids=["magnitude", "max_pool", "upsample"],
)
@pytest.mark.parametrize("shape", [(1, 2, 4, 4), (1, 1, 3, 4, 4)])
def test_what_is_no_field_is_refused(operation, shape):
    with pytest.raises(ValueError, match=r"a field must have shape \(B, C, 2, H, W\)"):
        operation(torch.zeros(shape))


@pytest.mark.parametrize(
    "operation",
    [rf.magnitude, rf.field_max_pool, lambda z: rf.field_upsample(z, (2, 2))],
    ids=["magnitude", "max_pool", "upsample"],
)
def test_fields_of_integers_are_refused(operation):
    with pytest.raises(ValueError, match=r"must be floating point, got torch.int64"):
        operation(torch.zeros(1, 1, 2, 4, 4, dtype=torch.int64))
