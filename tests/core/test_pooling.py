"""Pooling over orientations, against a plain reading of the equations."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings, strategies as st

from roteq_core.pooling import (
    Orientations,
    full_circle,
    orientation_pool,
    sector_pool,
)


def responses_of(*values: float) -> torch.Tensor:
    """One pixel with R responses: (1, 1, R, 1, 1)."""
    return torch.tensor(values, dtype=torch.float64).reshape(1, 1, -1, 1, 1)


def vector_at_pixel(field: torch.Tensor) -> list[float]:
    return field.flatten().tolist()


# orientation pooling


@pytest.mark.parametrize("winner", range(8))
def test_pooled_vector_points_along_the_winning_angle(winner):
    values = [0.1] * 8
    values[winner] = 2.0
    found = orientation_pool(responses_of(*values), refine=False)
    theta = winner * math.pi / 4
    expected = [2 * math.cos(theta), 2 * math.sin(theta)]
    assert vector_at_pixel(found) == pytest.approx(expected)


@pytest.mark.parametrize("refine", [False, True])
def test_negative_winner_gives_no_vector(refine):
    found = orientation_pool(responses_of(-3, -1, -2, -4), refine=refine)
    assert vector_at_pixel(found) == [0, 0]


@pytest.mark.parametrize("top", [4.7, 5.0, 5.5])
def test_refined_angle_and_height_are_the_parabolas(top):
    values = [10 - (r - top) ** 2 for r in range(12)]
    u, v = vector_at_pixel(orientation_pool(responses_of(*values)))
    step = 2 * math.pi / 12
    assert math.hypot(u, v) == pytest.approx(10)
    assert math.atan2(v, u) == pytest.approx(math.remainder(top * step, 2 * math.pi))


@settings(deadline=None, max_examples=30)
@given(st.floats(-math.pi, math.pi), st.sampled_from([8, 16, 17]))
def test_refined_angle_follows_a_cosine_around_the_circle(angle, count):
    steps = torch.arange(count) * (2 * math.pi / count)
    values = (steps - angle).cos().tolist()
    u, v = vector_at_pixel(orientation_pool(responses_of(*values)))
    error = math.remainder(math.atan2(v, u) - angle, 2 * math.pi)
    assert abs(math.degrees(error)) < (1.5 if count == 8 else 0.2)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_orientations_pool_without_harm(count):
    values = [1.0, 3.0, 2.0][:count]
    found = orientation_pool(responses_of(*values))
    u, v = vector_at_pixel(found)
    assert math.hypot(u, v) == pytest.approx(max(values), rel=0.1)


@pytest.mark.parametrize("count", [2, 3, 4, 16, 17])
@pytest.mark.parametrize("level", [0.0, 3.0])
def test_equal_responses_have_no_direction(count, level):
    rounding = 1e-12 * torch.randn(count, dtype=torch.float64)
    found = orientation_pool(responses_of(*(level + level * rounding)))
    assert vector_at_pixel(found) == [0, 0]


def test_responses_that_repeat_each_quarter_turn_have_no_direction():
    found = orientation_pool(responses_of(1, 3, 1, 3, 1, 3, 1, 3))
    assert vector_at_pixel(found) == [0, 0]


def test_opposite_winners_keep_their_strength():
    u, v = vector_at_pixel(orientation_pool(responses_of(3, 1, 0, 1, 3, 1, 0, 1)))
    assert math.hypot(u, v) == pytest.approx(3)


def test_limited_tilts_neither_repeat_nor_wrap_around():
    tilts = Orientations(first=-0.4, step=0.2, cyclic=False)
    at_end = orientation_pool(responses_of(5, 3, 1, 4.5), tilts)
    u, v = vector_at_pixel(at_end)
    assert math.atan2(v, u) == pytest.approx(-0.4)
    alike = orientation_pool(responses_of(1, 1, 1, 1), tilts)
    assert vector_at_pixel(alike) == [0, 0]


@pytest.mark.parametrize("refine", [False, True])
def test_gradients_of_pooling_agree_with_finite_differences(refine):
    random = torch.Generator().manual_seed(0)
    responses = torch.randn(1, 2, 6, 3, 3, generator=random, dtype=torch.float64)
    responses.requires_grad_()

    def pool(y):
        return orientation_pool(y, refine=refine)

    assert torch.autograd.gradcheck(
        pool, (responses,), eps=1e-7, atol=1e-5, fast_mode=True
    )


@pytest.mark.parametrize(
    "values", [(0, 0, 0, 0), (2, 2, 2, 2), (2, 2, 1, 0), (-1, -1, -1, -1)]
)
def test_gradients_of_pooling_are_finite_where_responses_tie(values):
    responses = responses_of(*values).requires_grad_()
    orientation_pool(responses).sum().backward()
    assert responses.grad is not None
    assert responses.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_pooling_keeps_the_type(dtype):
    responses = torch.randn(1, 1, 8, 4, 4).to(dtype)
    assert orientation_pool(responses).dtype == dtype
    assert sector_pool(responses, 2, keep="vector").dtype == dtype


def test_half_precision_angles_are_not_rounded_to_few_values():
    angle = torch.linspace(0.1, 6.1, 50)
    steps = torch.arange(16) * (2 * math.pi / 16)
    responses = (steps[:, None] - angle).cos().reshape(1, 1, 16, 1, 50)
    u, v = orientation_pool(responses.bfloat16()).double().unbind(2)
    error = torch.atan2(v, u).flatten() - angle
    assert torch.rad2deg(error.sin().abs()).median() < 0.5


# sectors


def test_one_sector_is_the_strongest_response():
    responses = torch.randn(2, 3, 8, 4, 4)
    expected = responses.amax(2).relu()
    torch.testing.assert_close(sector_pool(responses, 1), expected)


@pytest.mark.parametrize(("count", "bins"), [(8, 4), (16, 4), (16, 8), (12, 4)])
def test_sectors_shift_as_orientations_shift(count, bins):
    responses = torch.randn(1, 1, count, 3, 3)
    turned = responses.roll(count // 4, 2)
    pooled = sector_pool(responses, bins)
    torch.testing.assert_close(
        sector_pool(turned, bins), pooled.roll(bins // 4, 1), rtol=0, atol=0
    )


@pytest.mark.parametrize(("count", "bins"), [(17, 17), (17, 5), (5, 4), (3, 2)])
def test_every_orientation_belongs_to_a_sector(count, bins):
    for r in range(count):
        values = [0.0] * count
        values[r] = 1.0
        pooled = sector_pool(responses_of(*values), bins).flatten()
        assert pooled.sum() == 1
        nearest = round(r * bins / count + 1e-9) % bins
        assert pooled[nearest] == 1 or abs(r * bins / count % 1 - 0.5) < 0.51 / count


def test_sector_keeps_the_angle_of_its_winner():
    field = sector_pool(responses_of(0, 0, 2, 0, 0, 0, 0, 1), 4, keep="vector")
    assert field.shape == (1, 4, 2, 1, 1)
    assert field[0, 1].flatten().tolist() == pytest.approx([0, 2])  # α = 90°
    expected = [math.cos(-math.pi / 4), math.sin(-math.pi / 4)]
    assert field[0, 0].flatten().tolist() == pytest.approx(expected)
    flat = sector_pool(responses_of(*[1.0] * 8), 4, keep="vector")
    assert not flat.any()


def test_limited_tilts_are_cut_into_parts_in_order():
    tilts = Orientations(first=-0.4, step=0.2, cyclic=False)
    pooled = sector_pool(responses_of(1, 2, 3, 4), 2, angles=tilts)
    assert pooled.flatten().tolist() == [2, 4]


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        (0, "bins must be an integer >= 1, got 0"),
        (2.5, "bins must be an integer >= 1, got 2.5"),
        (9, "bins must lie between 1 and R = 8, got 9"),
    ],
)
def test_sectors_lie_between_one_and_all(bins, message):
    with pytest.raises(ValueError, match=message):
        sector_pool(torch.zeros(1, 1, 8, 2, 2), bins)


def test_sectors_keep_vectors_or_magnitudes():
    with pytest.raises(ValueError, match="got 'angle'"):
        sector_pool(torch.zeros(1, 1, 8, 2, 2), 1, keep="angle")


@pytest.mark.parametrize("pool", [orientation_pool, lambda y: sector_pool(y, 1)])
def test_what_are_no_responses_is_refused(pool):
    with pytest.raises(ValueError, match=r"\(B, C, R, H, W\) .*, got \(1, 8, 2, 2\)"):
        pool(torch.zeros(1, 8, 2, 2))
    with pytest.raises(ValueError, match=r"with R >= 1, got \(1, 8, 0, 2, 2\)"):
        pool(torch.zeros(1, 8, 0, 2, 2))
    with pytest.raises(ValueError, match=r"floating point, got torch.int64"):
        pool(torch.zeros(1, 8, 4, 2, 2, dtype=torch.int64))


@pytest.mark.parametrize(
    "pool",
    [orientation_pool, lambda y, angles: sector_pool(y, 1, angles=angles)],
    ids=["vectors", "sectors"],
)
def test_angles_around_a_circle_close_it(pool):
    responses = torch.zeros(1, 1, 16, 2, 2)
    pool(responses, Orientations(0.3, -math.pi / 8))
    with pytest.raises(ValueError, match=r"0\.392699 apart .* step of 0\.785398"):
        pool(responses, full_circle(8))
    with pytest.raises(TypeError, match="step"):
        Orientations(0.0)


def test_sectors_are_counted_from_the_first_angle():
    turned = Orientations(math.pi / 4, math.pi / 4)
    pooled = sector_pool(responses_of(1, 0, 0, 0, 0, 0, 0, 0), 8, angles=turned)
    assert pooled.flatten().tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
