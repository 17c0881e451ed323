import math

import pytest
import torch

from roteq_core.engine.peaks import (
    PoolRule,
    find_winners,
    keep_winners,
    pool_winners,
    spread_gradient,
    winners_gradient,
)
from roteq_core.engine.precision import flat_tolerance
from roteq_core.pooling import (
    Orientations,
    full_circle,
    orientation_pool,
    sector_pool,
)

FILTERS = 3
TOLERANCE = flat_tolerance(torch.float64)
HALF_CIRCLE = Orientations(0.0, math.pi / 6, False)


def trig_table(count, terms=5):
    return torch.randn(count, terms, dtype=torch.float64, generator=seed(count))


def seed(number):
    return torch.Generator().manual_seed(number)


def rules(count):
    for angles in (full_circle(count), HALF_CIRCLE):
        for refine in (True, False):
            yield PoolRule(angles, TOLERANCE, refine)
    yield PoolRule(full_circle(count), TOLERANCE, keep="magnitude")


def pooled_plainly(coefficients, trig, bias, rule):
    """What the functions of `pooling` make of it, (F, parts, pixels)."""
    y = (
        (coefficients @ trig.T)
        .view(1, -1, FILTERS, len(trig), 1)
        .permute(0, 2, 3, 1, 4)
    )
    y = y + bias[:, None, None, None]
    if rule.keep == "magnitude":
        return sector_pool(y, 1, angles=rule.angles)[0, :, None, :, 0]
    return orientation_pool(y, rule.angles, refine=rule.refine)[0, ..., 0]


def pooled(coefficients, trig, bias, rule):
    winners = find_winners(coefficients, trig, rule, bias)
    parts = pool_winners(winners, rule, bias)
    return torch.stack(parts).view(len(parts), -1, FILTERS).permute(2, 0, 1)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 16, 17])
def test_pooling_of_coefficients_is_orientation_pooling(count):
    trig = trig_table(count)
    coefficients = torch.randn(50 * FILTERS, 5, dtype=torch.float64, generator=seed(0))
    coefficients[30:60] = 0  # no direction
    bias = torch.tensor([0.3, -0.2, 0.0], dtype=torch.float64)
    for rule in rules(count):
        if count < 3 and not rule.angles.cyclic:
            continue
        expected = pooled_plainly(coefficients, trig, bias, rule)
        torch.testing.assert_close(pooled(coefficients, trig, bias, rule), expected)


@pytest.mark.parametrize("count", [3, 4, 16, 17])
def test_gradients_are_those_of_orientation_pooling(count):
    trig = trig_table(count)
    coefficients = torch.randn(40 * FILTERS, 5, dtype=torch.float64, generator=seed(1))
    coefficients[30:60] = 0
    bias = torch.tensor([0.3, -0.2, 0.0], dtype=torch.float64)
    coefficients.requires_grad_()
    for rule in rules(count):
        if rule.keep == "magnitude":
            continue  # at ties any winner will do
        result = pooled_plainly(coefficients, trig, bias, rule)
        grad = torch.randn_like(result)
        (expected,) = torch.autograd.grad(result, coefficients, grad)
        with torch.no_grad():
            winners = find_winners(coefficients, trig, rule, bias)
            kept = keep_winners(winners, count)
            values = pool_winners(winners, rule, bias)
            grads = tuple(grad.permute(1, 2, 0).flatten(1))
            slopes = winners_gradient(kept, values, grads, rule)
            found = spread_gradient(slopes, kept.row, trig, rule).T
        torch.testing.assert_close(found, expected)


def test_ties_go_to_the_first_as_in_max():
    trig = torch.eye(4, dtype=torch.float64)
    coefficients = torch.tensor([[1.0, 5, 5, 0], [7, 7, 0, 0], [0, 0, 0, 3]]).double()
    winners = find_winners(coefficients, trig, PoolRule(full_circle(4), TOLERANCE))
    assert winners.row.tolist() == [1, 0, 3]


def test_differences_within_the_noise_give_no_direction():
    trig = torch.eye(3, dtype=torch.float64)
    coefficients = torch.tensor([[0.0, 1e-3, 0], [0.0, 1e-3, 0]]).double()
    rule = PoolRule(full_circle(3), TOLERANCE)
    noise = torch.tensor([2e-3, 5e-4]).double()
    is_flat = find_winners(coefficients, trig, rule, noise=noise).is_flat
    assert is_flat.tolist() == [True, False]


def test_nan_does_not_hide():
    coefficients = torch.full((2, 3), math.nan)
    rule = PoolRule(full_circle(3), TOLERANCE)
    winners = find_winners(coefficients, torch.eye(3), rule)
    assert pool_winners(winners, rule, None)[0].isnan().all()


def test_peaks_too_flat_for_an_inverse_stay_at_their_winner():
    coefficients = torch.tensor([[0.0, 2e-45, 0.0, 0.0, 0.0], [0.0, 0.0, 1e-39, 0, 0]])
    rule = PoolRule(full_circle(5), TOLERANCE)
    winners = find_winners(coefficients, torch.eye(5), rule)
    assert winners.row.tolist() == [1, 2]
    assert winners.offset.tolist() == winners.inverse_bend.tolist() == [0, 0]
