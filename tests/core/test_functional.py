"""The paper's equations as functions, each against a plain reading of it."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings, strategies as st

from roteq_core import functional as rf
from roteq_core.geometry import BASES, turn_field, turning_operator

BLOCKS = ["image", "field"]


def responses_of(*values: float) -> torch.Tensor:
    """One pixel with R responses: (1, 1, R, 1, 1)."""
    return torch.tensor(values, dtype=torch.float64).reshape(1, 1, -1, 1, 1)


def vector_at_pixel(field: torch.Tensor) -> list[float]:
    return field.flatten().tolist()


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


# orientation pooling


@pytest.mark.parametrize("winner", range(8))
def test_pooled_vector_points_along_the_winning_angle(winner):
    values = [0.1] * 8
    values[winner] = 2.0
    found = rf.orientation_pool(responses_of(*values), refine=False)
    theta = winner * math.pi / 4
    expected = [2 * math.cos(theta), 2 * math.sin(theta)]
    assert vector_at_pixel(found) == pytest.approx(expected)


@pytest.mark.parametrize("refine", [False, True])
def test_negative_winner_gives_no_vector(refine):
    found = rf.orientation_pool(responses_of(-3, -1, -2, -4), refine=refine)
    assert vector_at_pixel(found) == [0, 0]


@pytest.mark.parametrize("top", [4.7, 5.0, 5.5])
def test_refined_angle_and_height_are_the_parabolas(top):
    values = [10 - (r - top) ** 2 for r in range(12)]
    u, v = vector_at_pixel(rf.orientation_pool(responses_of(*values)))
    step = 2 * math.pi / 12
    assert math.hypot(u, v) == pytest.approx(10)
    assert math.atan2(v, u) == pytest.approx(math.remainder(top * step, 2 * math.pi))


@settings(deadline=None, max_examples=30)
@given(st.floats(-math.pi, math.pi), st.sampled_from([8, 16, 17]))
def test_refined_angle_follows_a_cosine_around_the_circle(angle, count):
    steps = torch.arange(count) * (2 * math.pi / count)
    values = (steps - angle).cos().tolist()
    u, v = vector_at_pixel(rf.orientation_pool(responses_of(*values)))
    error = math.remainder(math.atan2(v, u) - angle, 2 * math.pi)
    assert abs(math.degrees(error)) < (1.5 if count == 8 else 0.2)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_orientations_pool_without_harm(count):
    values = [1.0, 3.0, 2.0][:count]
    found = rf.orientation_pool(responses_of(*values))
    u, v = vector_at_pixel(found)
    assert math.hypot(u, v) == pytest.approx(max(values), rel=0.1)


@pytest.mark.parametrize("count", [2, 3, 4, 16, 17])
@pytest.mark.parametrize("level", [0.0, 3.0])
def test_equal_responses_have_no_direction(count, level):
    rounding = 1e-12 * torch.randn(count, dtype=torch.float64)
    found = rf.orientation_pool(responses_of(*(level + level * rounding)))
    assert vector_at_pixel(found) == [0, 0]


def test_responses_that_repeat_each_quarter_turn_have_no_direction():
    found = rf.orientation_pool(responses_of(1, 3, 1, 3, 1, 3, 1, 3))
    assert vector_at_pixel(found) == [0, 0]


def test_opposite_winners_keep_their_strength():
    u, v = vector_at_pixel(rf.orientation_pool(responses_of(3, 1, 0, 1, 3, 1, 0, 1)))
    assert math.hypot(u, v) == pytest.approx(3)


def test_limited_tilts_neither_repeat_nor_wrap_around():
    tilts = rf.Orientations(first=-0.4, step=0.2, cyclic=False)
    at_end = rf.orientation_pool(responses_of(5, 3, 1, 4.5), tilts)
    u, v = vector_at_pixel(at_end)
    assert math.atan2(v, u) == pytest.approx(-0.4)
    alike = rf.orientation_pool(responses_of(1, 1, 1, 1), tilts)
    assert vector_at_pixel(alike) == [0, 0]


@pytest.mark.parametrize("refine", [False, True])
def test_gradients_of_pooling_agree_with_finite_differences(refine):
    random = torch.Generator().manual_seed(0)
    responses = torch.randn(1, 2, 6, 3, 3, generator=random, dtype=torch.float64)
    responses.requires_grad_()

    def pool(y):
        return rf.orientation_pool(y, refine=refine)

    assert torch.autograd.gradcheck(
        pool, (responses,), eps=1e-7, atol=1e-5, fast_mode=True
    )


@pytest.mark.parametrize(
    "values", [(0, 0, 0, 0), (2, 2, 2, 2), (2, 2, 1, 0), (-1, -1, -1, -1)]
)
def test_gradients_of_pooling_are_finite_where_responses_tie(values):
    responses = responses_of(*values).requires_grad_()
    rf.orientation_pool(responses).sum().backward()
    assert responses.grad is not None
    assert responses.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_pooling_keeps_the_type(dtype):
    responses = torch.randn(1, 1, 8, 4, 4).to(dtype)
    assert rf.orientation_pool(responses).dtype == dtype
    assert rf.sector_pool(responses, 2, keep="vector").dtype == dtype


def test_half_precision_angles_are_not_rounded_to_few_values():
    angle = torch.linspace(0.1, 6.1, 50)
    steps = torch.arange(16) * (2 * math.pi / 16)
    responses = (steps[:, None] - angle).cos().reshape(1, 1, 16, 1, 50)
    u, v = rf.orientation_pool(responses.bfloat16()).double().unbind(2)
    error = torch.atan2(v, u).flatten() - angle
    assert torch.rad2deg(error.sin().abs()).median() < 0.5


# sectors


def test_one_sector_is_the_strongest_response():
    responses = torch.randn(2, 3, 8, 4, 4)
    expected = responses.amax(2).relu()
    torch.testing.assert_close(rf.sector_pool(responses, 1), expected)


@pytest.mark.parametrize(("count", "bins"), [(8, 4), (16, 4), (16, 8), (12, 4)])
def test_sectors_shift_as_orientations_shift(count, bins):
    responses = torch.randn(1, 1, count, 3, 3)
    turned = responses.roll(count // 4, 2)
    pooled = rf.sector_pool(responses, bins)
    torch.testing.assert_close(
        rf.sector_pool(turned, bins), pooled.roll(bins // 4, 1), rtol=0, atol=0
    )


@pytest.mark.parametrize(("count", "bins"), [(17, 17), (17, 5), (5, 4), (3, 2)])
def test_every_orientation_belongs_to_a_sector(count, bins):
    for r in range(count):
        values = [0.0] * count
        values[r] = 1.0
        pooled = rf.sector_pool(responses_of(*values), bins).flatten()
        assert pooled.sum() == 1
        nearest = round(r * bins / count + 1e-9) % bins
        assert pooled[nearest] == 1 or abs(r * bins / count % 1 - 0.5) < 0.51 / count


def test_sector_keeps_the_angle_of_its_winner():
    field = rf.sector_pool(responses_of(0, 0, 2, 0, 0, 0, 0, 1), 4, keep="vector")
    assert field.shape == (1, 4, 2, 1, 1)
    assert field[0, 1].flatten().tolist() == pytest.approx([0, 2])  # α = 90°
    expected = [math.cos(-math.pi / 4), math.sin(-math.pi / 4)]
    assert field[0, 0].flatten().tolist() == pytest.approx(expected)
    flat = rf.sector_pool(responses_of(*[1.0] * 8), 4, keep="vector")
    assert not flat.any()


def test_limited_tilts_are_cut_into_parts_in_order():
    tilts = rf.Orientations(first=-0.4, step=0.2, cyclic=False)
    pooled = rf.sector_pool(responses_of(1, 2, 3, 4), 2, angles=tilts)
    assert pooled.flatten().tolist() == [2, 4]


@pytest.mark.parametrize("bins", [0, 9])
def test_sectors_lie_between_one_and_all(bins):
    with pytest.raises(ValueError, match=rf"between 1 and R = 8, got {bins}"):
        rf.sector_pool(torch.zeros(1, 1, 8, 2, 2), bins)


def test_sectors_keep_vectors_or_magnitudes():
    with pytest.raises(ValueError, match="got 'angle'"):
        rf.sector_pool(torch.zeros(1, 1, 8, 2, 2), 1, keep="angle")


@pytest.mark.parametrize("pool", [rf.orientation_pool, lambda y: rf.sector_pool(y, 1)])
def test_responses_must_have_five_axes(pool):
    with pytest.raises(ValueError, match=r"\(B, C, R, H, W\), got \(1, 8, 2, 2\)"):
        pool(torch.zeros(1, 8, 2, 2))


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
    with pytest.raises(ValueError, match="size must be at least 1, got 0"):
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


@pytest.mark.parametrize("size", [(0, 4), (4,)])
def test_upsampling_needs_a_height_and_a_width(size):
    with pytest.raises(ValueError, match=r"size must be \(height, width\)"):
        rf.field_upsample(torch.zeros(1, 1, 2, 4, 4), size)


def test_normalizing_divides_by_the_deviation_and_keeps_angles():
    field = torch.randn(2, 3, 2, 5, 5, dtype=torch.float64)
    variance = torch.tensor([1.0, 4.0, 0.25]).double()
    gain = torch.tensor([1.0, 1.0, 2.0]).double()
    found = rf.field_normalize(field, variance, gain, eps=0.0)
    scale = torch.tensor([1.0, 0.5, 4.0]).double().reshape(3, 1, 1, 1)
    torch.testing.assert_close(found, field * scale)


@pytest.mark.parametrize(
    "operation",
    [rf.magnitude, rf.field_max_pool, lambda z: rf.field_upsample(z, (2, 2))],
    ids=["magnitude", "max_pool", "upsample"],
)
@pytest.mark.parametrize("shape", [(1, 2, 4, 4), (1, 1, 3, 4, 4)])
def test_what_is_no_field_is_refused(operation, shape):
    with pytest.raises(ValueError, match=r"a field must have shape \(B, C, 2, H, W\)"):
        operation(torch.zeros(shape))
