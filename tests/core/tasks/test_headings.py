"""Densities of headings: read, scored and turned."""

from __future__ import annotations

import math

import pytest
import torch

from roteq_core.tasks import headings


def humps(angle: float, rear: float = 0.0, count: int = 16) -> torch.Tensor:
    """Responses (1, R) with a hump at `angle`, and one of height `rear` behind."""
    theta = torch.arange(count).double() * (2 * math.pi / count)
    front = (theta - angle).cos() + (1 + rear) * (2 * (theta - angle)).cos() / 4
    return (front * (1 - rear) + rear * (2 * (theta - angle)).cos())[None]


@pytest.mark.parametrize("angle", [0.0, 0.7, 3.0, 6.2])
def test_the_heading_is_where_the_responses_peak(angle):
    found = headings.read_density(headings.log_density(humps(angle)))
    assert abs(math.remainder(found.angle.item() - angle, 2 * math.pi)) < 1e-3
    assert found.flip.item() < 0.01


def test_resampling_keeps_the_samples_that_were_there():
    responses = humps(1.0)
    fine = headings.resample(responses, 144)
    torch.testing.assert_close(fine[:, ::9], responses)


def test_fewer_bins_than_responses_are_refused():
    with pytest.raises(ValueError, match="at least R = 16, got 8"):
        headings.resample(humps(0.0), 8)


def test_shifting_the_responses_turns_the_heading():
    responses = humps(0.4)
    upright = headings.read_density(headings.log_density(responses))
    turned = headings.read_density(headings.log_density(responses.roll(4, -1)))
    gap = turned.angle - upright.angle - math.pi / 2
    assert abs(math.remainder(gap.item(), 2 * math.pi)) < 1e-9
    torch.testing.assert_close(turned.sd, upright.sd)
    torch.testing.assert_close(turned.flip, upright.flip)


def test_two_humps_are_a_flip_chance_and_not_a_wide_spread():
    one = headings.read_density(headings.log_density(humps(0.4)))
    two = headings.read_density(headings.log_density(humps(0.4, rear=0.9)))
    assert two.flip.item() > 0.1 > one.flip.item()
    assert math.degrees(two.sd.item()) < 30
    assert abs(math.remainder(two.angle.item() - 0.4, math.pi)) < 0.05


def test_flat_responses_say_that_nothing_is_known():
    found = headings.read_density(headings.log_density(torch.zeros(1, 16)))
    assert found.flip.item() == pytest.approx(0.5, abs=0.02)
    assert math.degrees(found.sd.item()) == pytest.approx(180 / math.sqrt(12), abs=1)


def test_the_loss_is_that_of_a_uniform_density_where_nothing_is_known():
    loss = headings.heading_loss(torch.zeros(3, 12), torch.tensor([0.0, 1.0, 4.0]))
    torch.testing.assert_close(loss, torch.full((3,), math.log(2 * math.pi)))


def test_the_loss_is_least_at_the_true_angle():
    responses = humps(2.0).expand(5, -1)
    tried = torch.tensor([1.0, 1.8, 2.0, 2.2, 5.1]).double()
    loss = headings.heading_loss(responses, tried)
    assert loss.argmin() == 2
    assert loss[4] == loss.max()


def test_the_loss_agrees_with_the_density_it_is_the_logarithm_of():
    responses = humps(2.0)
    angle = torch.tensor([30 * 2 * math.pi / headings.BINS]).double()
    log_p = headings.log_density(responses)[0, 30]
    expected = -(log_p - math.log(2 * math.pi / headings.BINS))
    torch.testing.assert_close(headings.heading_loss(responses, angle)[0], expected)


def test_copies_that_agree_have_no_spread():
    assert headings.spread_of(torch.full((1, 5), 3.1)).item() < 1e-3
    spread = headings.spread_of(torch.tensor([[-0.1, 0.1]]))
    assert spread.item() == pytest.approx(0.1, abs=1e-3)


def test_doubt_in_labels_mixes_the_density_of_front_and_rear():
    responses = torch.randn(5, 12, generator=torch.Generator().manual_seed(3))
    angle = torch.linspace(0, 6, 5)
    front = torch.exp(-headings.heading_loss(responses, angle))
    rear = torch.exp(-headings.heading_loss(responses, angle + torch.pi))
    expected = -torch.log(0.9 * front + 0.1 * rear)
    found = headings.heading_loss(responses, angle, doubt=0.1)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
