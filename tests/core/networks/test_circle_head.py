from __future__ import annotations

import pytest
import torch

from roteq_core.net_config import CarNetConfig, TurningConfig
from roteq_core.networks import build_network
from roteq_core.networks.circle_head import CircleHead

NET = CarNetConfig(
    filters=(2, 3),
    kernel_size=7,
    in_maps=3,
    crop=47,
    first_stride=2,
    hidden=5,
    turning=TurningConfig(12, frequencies=3),
)


@pytest.fixture
def head():
    torch.manual_seed(0)
    return CircleHead(4)


@pytest.mark.parametrize("steps", [1, 5, -3])
def test_responses_that_go_around_the_circle_take_the_answer_along(head, steps):
    responses = torch.randn(2, 4, 12)
    expected = head(responses).roll(steps, 1)
    torch.testing.assert_close(head(responses.roll(steps, 2)), expected)


def test_half_a_step_around_the_circle_is_nearly_half_a_step_of_the_answer(head):
    angle = torch.arange(24) * (2 * torch.pi / 24)
    coefficients = torch.randn(4, 2, 3)
    order = torch.arange(3)
    waves = torch.stack(
        [(angle[:, None] * order).cos(), (angle[:, None] * order).sin()]
    )
    fine = torch.einsum("fpk,pak->fa", coefficients, waves)[None]
    even, odd = head(fine[..., ::2]), head(fine[..., 1::2])
    whole = head(fine)
    scale = whole.abs().max()
    assert (whole[:, ::2] - even).abs().max() < 0.05 * scale
    assert (whole[:, 1::2] - odd).abs().max() < 0.05 * scale


def test_places_beside_each_other_are_mixed_alike(head):
    responses = torch.randn(2, 4, 12, 3, 2)
    expected = head(responses[..., 1, 0])
    torch.testing.assert_close(head(responses)[..., 1, 0], expected)


def test_a_network_with_templates_answers_quarter_turns_exactly():
    torch.manual_seed(1)
    network = build_network(NET).eval()
    image = torch.randn(2, 3, 47, 47)
    with torch.inference_mode():
        upright = network(image)
        turned = network(torch.rot90(image, -1, (2, 3)))
    assert upright.shape == (2, 12)
    gap = (turned - upright.roll(3, 1)).abs().max()
    assert gap < 1e-3 * upright.std()
