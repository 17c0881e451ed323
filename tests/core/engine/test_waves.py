"""Single taps on fields: that they equal the plain path is in test_fused.py."""

from __future__ import annotations

import pytest
import torch

from roteq_core import functional as rf
from roteq_core.engine.peaks import PoolRule
from roteq_core.engine.precision import flat_tolerance
from roteq_core.engine.waves import is_wave_rule, pooled_waves
from roteq_core.layers import RotConv
from roteq_core.pooling import Orientations, full_circle


def rule(**options) -> PoolRule:
    return PoolRule(full_circle(16), flat_tolerance(torch.float64), **options)


@pytest.fixture
def bank() -> torch.Tensor:
    random = torch.Generator().manual_seed(0)
    return torch.randn(6, 4, 1, 1, generator=random, dtype=torch.float64)


@pytest.mark.parametrize(
    "options", [{}, {"refine": False}, {"keep": "magnitude"}], ids=str
)
def test_gradients_agree_with_finite_differences(bank, options):
    random = torch.Generator().manual_seed(1)
    maps = torch.randn(2, 4, 3, 3, generator=random, dtype=torch.float64)
    bias = torch.tensor([0.4, -0.3, 0.0], dtype=torch.float64)
    inputs = [x.requires_grad_() for x in (maps, bank, bias)]
    assert torch.autograd.gradcheck(
        lambda *args: pooled_waves(*args, rule(**options)), inputs
    )


def test_size_of_chunks_changes_nothing(bank, monkeypatch):
    maps = torch.randn(2, 4, 9, 7, dtype=torch.float64, requires_grad=True)
    bank.requires_grad_()
    found = []
    for chunk in (7, 1_000_000):
        monkeypatch.setattr("roteq_core.engine.waves.CPU_CHUNK", chunk)
        out = pooled_waves(maps, bank, None, rule())
        grads = torch.autograd.grad(out, [maps, bank], torch.ones_like(out))
        found.append([out, *grads])
    torch.testing.assert_close(*found)


def test_zero_vectors_have_no_direction_and_finite_gradients(bank):
    maps = torch.zeros(1, 4, 2, 2, dtype=torch.float64, requires_grad=True)
    bias = torch.ones(3, dtype=torch.float64)
    for keep in ("vector", "magnitude"):
        out = pooled_waves(maps, bank, bias, rule(keep=keep))
        (grad,) = torch.autograd.grad(out.sum(), maps)
        assert torch.isfinite(grad).all()
        expected = 0.0 if keep == "vector" else 1.0
        assert torch.equal(out, torch.full_like(out, expected))


def test_phase_is_rounded_to_the_nearest_orientation(bank):
    maps = torch.randn(1, 4, 5, 5, dtype=torch.float64)
    field = pooled_waves(maps, bank, None, rule(refine=False))
    steps = torch.atan2(field[:, :, 1], field[:, :, 0]) / full_circle(16).step
    torch.testing.assert_close(steps, steps.round())


def test_strides_and_half_precision_are_those_of_the_layer():
    torch.manual_seed(0)
    layer = RotConv(2, 3, 1, stride=2).eval()
    field = torch.randn(1, 2, 2, 9, 8)
    whole = RotConv(2, 3, 1).eval()
    whole.load_state_dict(layer.state_dict())
    with torch.no_grad():
        torch.testing.assert_close(layer(field), whole(field)[..., ::2, ::2])
        with torch.autocast("cpu", torch.bfloat16):
            half = layer(field)
    error = rf.magnitude(half.float() - layer(field)) / rf.magnitude(layer(field))
    assert half.dtype == torch.bfloat16
    assert error.median() < 0.02


def test_a_range_of_tilts_or_few_angles_are_left_to_others():
    assert is_wave_rule(rule(), 16)
    assert not is_wave_rule(rule(), 3)
    tilts = PoolRule(Orientations(0.0, 0.1, cyclic=False), 1e-6)
    assert not is_wave_rule(tilts, 16)
