"""The fused path gives what the plain one gives: values, gradients, and no more."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from roteq_core import functional as rf
from roteq_core.engine import fused
from roteq_core.engine.fused import Pooling, fused_conv_pool
from roteq_core.geometry import FULL_CIRCLE, Basis, Interval, turning_operator
from roteq_core.layers import RotConv
from roteq_core.pooling import full_circle, orientation_pool


def input_with_flat_parts(vector: bool) -> Tensor:
    """Noise, a part that is constant and a part that is zero: double, 2 maps."""
    random = torch.Generator().manual_seed(0)
    shape = (2, 2, 2, 13, 11) if vector else (2, 2, 13, 11)
    x = torch.randn(shape, generator=random, dtype=torch.float64)
    x[..., :7, :] = 1.0
    x[1] = 0.0
    return x


def layer(path: str, *, vector: bool = True, bias: bool = True, **options) -> RotConv:
    """A layer with random biases, the same on each path."""
    torch.manual_seed(3)
    made = RotConv(2, 3, options.pop("kernel_size", 5), vector_input=vector, **options)
    if made.bias is not None and bias:
        torch.nn.init.normal_(made.bias)
    made.path = path
    return made.double()


def run(made: RotConv, x: Tensor) -> list[Tensor]:
    """Output and gradients of input, filters and biases."""
    x = x.clone().requires_grad_()
    out = made(x)
    random = torch.Generator().manual_seed(1)
    pull = torch.randn(out.shape, generator=random, dtype=torch.float64)
    grads = torch.autograd.grad(out, [x, *made.parameters()], pull)
    return [out.detach(), *grads]


def assert_paths_agree(x: Tensor, *, vector: bool, **options) -> None:
    plain = run(layer("plain", vector=vector, **options), x)
    ours = run(layer("fused", vector=vector, **options), x)
    assert plain[0].any()
    for found, reference in zip(ours, plain, strict=True):
        torch.testing.assert_close(found, reference, rtol=1e-9, atol=1e-10)


@pytest.fixture(autouse=True)
def small_strips(monkeypatch):
    """Cut even these small images into many strips."""
    monkeypatch.setattr("roteq_core.engine.fused.CPU_STRIP", 900)


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("basis", ["smooth", "bilinear", "spread"])
@pytest.mark.parametrize("orientations", [1, 2, 3, 16, 17])
@pytest.mark.parametrize("refine", [False, True])
def test_fused_equals_plain_for_every_way_of_turning(
    vector, basis, orientations, refine
):
    assert_paths_agree(
        input_with_flat_parts(vector),
        vector=vector,
        basis=basis,
        orientations=orientations,
        refine=refine,
    )


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 4, "padding": 2},
        {"kernel_size": 4, "padding": 0},
        {"stride": 2},
        {"stride": 3, "padding": 0},
        {"bias": False},
        {"interval": (-0.6, 0.7), "orientations": 5},
        {"interval": (-math.pi / 2, math.pi / 2), "orientations": 3},
        {"interval": (0.3, 0.3 + 2 * math.pi), "orientations": 8},
    ],
    ids=str,
)
@pytest.mark.parametrize("vector", [False, True])
def test_fused_equals_plain_for_every_layout(vector, options):
    assert_paths_agree(input_with_flat_parts(vector), vector=vector, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"orientations": 17, "refine": False},
        {"interval": (0.3, 0.3 + 2 * math.pi), "orientations": 8},
        {"interval": (-0.6, 0.7), "orientations": 5},
        {"orientations": 3},
    ],
    ids=str,
)
def test_fused_equals_plain_for_single_taps_on_fields(options):
    x = input_with_flat_parts(True)
    assert_paths_agree(x, vector=True, kernel_size=1, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 1},
        {"kernel_size": 1, "orientations": 17, "stride": 2},
        {"kernel_size": 1, "interval": (0.3, 0.3 + 2 * math.pi), "orientations": 8},
        {},
        {"interval": (-0.6, 0.7), "orientations": 5},
        {"basis": "bilinear", "orientations": 17},
    ],
    ids=str,
)
def test_fused_magnitudes_equal_plain_ones(options):
    """On noise: where all orientations answer alike, any of them may have it."""
    x = torch.randn(2, 2, 2, 13, 11, generator=torch.Generator().manual_seed(0))
    assert_paths_agree(x.double(), vector=True, pool="magnitude", **options)
    x = input_with_flat_parts(True)
    with torch.no_grad():
        plain, ours = (
            layer(path, pool="magnitude", **options)(x) for path in ("plain", "fused")
        )
    torch.testing.assert_close(ours, plain, rtol=1e-9, atol=1e-10)


def test_three_tilts_with_one_frequency_are_not_taken_for_filters():
    """Their table of cosines and sines has ones on its diagonal."""
    interval: Interval = (-math.pi / 2, math.pi / 2)
    options = {"orientations": 3, "interval": interval}
    x = input_with_flat_parts(False)
    outputs = []
    for path in ("plain", "fused"):
        made = layer(path, vector=False, **options)
        made.basis = Basis(frequencies=1)
        outputs.append(made(x))
    torch.testing.assert_close(*outputs)


@pytest.mark.parametrize("strip", [1, 5000, None])
@pytest.mark.parametrize("method", ["direct", "spectral"])
def test_size_of_strips_changes_nothing(strip, method):
    x = input_with_flat_parts(True).flatten(1, 2).requires_grad_()
    weight = torch.randn(3, 2, 2, 5, 5, dtype=torch.float64, requires_grad=True)
    operator = turning_operator(5, 8, vector=True)
    bias = torch.randn(3, dtype=torch.float64)
    bank = rf.harmonic_bank(weight, operator)
    angles = full_circle(8)
    pooling = Pooling(3, angles, True, 1, 2, strip=strip, method=method)
    found = fused_conv_pool(x, bank, operator.trig, bias, pooling)
    responses = rf.convolve_bank(x, bank, operator.trig, bias=bias, padding=2)
    expected = orientation_pool(responses, angles)
    torch.testing.assert_close(found, expected)
    pull = torch.randn_like(found)
    ours = torch.autograd.grad(found, [x, weight], pull, retain_graph=True)
    reference = torch.autograd.grad(expected, [x, weight], pull)
    torch.testing.assert_close(ours, reference)


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("refine", [False, True])
def test_gradients_agree_with_finite_differences(vector, refine):
    torch.manual_seed(2)
    made = RotConv(1, 2, 3, orientations=6, vector_input=vector, refine=refine)
    made = made.double()
    shape = (1, 1, 2, 5, 4) if vector else (1, 1, 5, 4)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    assert made.bias is not None

    def pooled(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        bank = rf.harmonic_bank(weight, made.operator)
        maps = x.flatten(1, 2) if vector else x
        pooling = Pooling(2, made.angles, refine, 1, 1, strip=100)
        return fused_conv_pool(maps, bank, made.operator.trig, bias, pooling)

    inputs = (x, made.weight, made.bias)
    assert torch.autograd.gradcheck(pooled, inputs, eps=1e-7, atol=1e-5, fast_mode=True)


@pytest.mark.parametrize("path", ["plain", "fused"])
def test_flat_ground_gives_no_direction_even_to_a_lifted_edge_filter(path):
    made = layer(path, vector=False, padding=0, orientations=16, kernel_size=9)
    with torch.no_grad():
        made.weight.copy_(made.weight - made.weight.flip(-1, -2))  # sums to nothing
        made.bias.fill_(0.5)
        out = made.float()(torch.full((1, 2, 12, 12), 3.0))
    assert not out.any()


@pytest.mark.parametrize("path", ["plain", "fused"])
def test_gradients_are_finite_on_a_blank_image(path):
    made = layer(path)
    grads = run(made, torch.zeros(1, 2, 2, 9, 9, dtype=torch.float64))
    assert all(g.isfinite().all() for g in grads)


def test_responses_that_fade_to_nothing_are_numbers_as_on_the_plain_path():
    """A spot whose tails are too small to have an inverse, as ordinary images have."""
    line = torch.arange(64) - 31.5
    spot = torch.exp(-(line[:, None].square() + line.square()) / 8)[None, None]
    outputs = []
    for path in ("plain", "fused"):
        torch.manual_seed(0)
        made = RotConv(1, 4, 9, vector_input=False, bias=False, path=path)
        outputs.append(made(spot))
        outputs[-1].sum().backward()
        assert made.weight.grad is not None
        assert made.weight.grad.isfinite().all()
    torch.testing.assert_close(*outputs)


def test_nothing_is_kept_for_gradients_that_nobody_wants(monkeypatch):
    kept = []
    convolution = fused._convolution

    def spy(*args, training: bool):
        kept.append(training)
        return convolution(*args, training=training)

    monkeypatch.setattr(fused, "_convolution", spy)
    made, x = layer("fused").eval(), input_with_flat_parts(True)
    with torch.no_grad():
        quiet = made(x)
    loud = made(x)
    assert kept == [False, True]
    torch.testing.assert_close(quiet, loud, rtol=0, atol=1e-12)


def test_second_gradients_are_refused():
    x = input_with_flat_parts(True).requires_grad_()
    out = layer("fused")(x)
    (grad,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


def test_empty_batch_gives_an_empty_field():
    for path in ("plain", "fused"):
        assert layer(path)(torch.zeros(0, 2, 2, 9, 9).double()).shape == (0, 3, 2, 9, 9)


@pytest.mark.parametrize("path", ["plain", "fused"])
def test_memory_layout_of_the_input_does_not_matter(path):
    made = layer(path)
    x = torch.randn(1, 2, 2, 9, 8, dtype=torch.float64)
    strange = x.permute(4, 1, 2, 3, 0).contiguous().permute(4, 1, 2, 3, 0)
    assert not strange.is_contiguous()
    torch.testing.assert_close(made(strange), made(x))


@pytest.mark.parametrize("path", ["plain", "fused"])
def test_autocast_gives_half_precision_and_full_gradients(path):
    made = layer(path, interval=FULL_CIRCLE, orientations=16).float()
    x = torch.randn(1, 2, 2, 16, 16, requires_grad=True)
    exact = made(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = made(x)
    assert half.dtype == torch.bfloat16
    strong = rf.magnitude(exact) > rf.magnitude(exact).median()
    error = rf.magnitude(half.float() - exact)[strong] / rf.magnitude(exact)[strong]
    assert error.median() < 0.05
    half.float().square().sum().backward()
    assert x.grad is not None
    assert made.weight.grad is not None
    assert made.weight.grad.dtype == torch.float32
    for parameter in made.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()
        assert parameter.grad.any()


@pytest.mark.parametrize("path", ["plain", "fused"])
def test_autocast_leaves_angles_as_exact_as_its_convolutions(path):
    made = layer(path, vector=True).eval()
    x = torch.randn(1, 2, 2, 40, 40, generator=torch.Generator().manual_seed(4))
    with torch.no_grad():
        exact = made(x.double())
        made.float()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            half = made(x).double()
    (u, v), (exact_u, exact_v) = half.unbind(2), exact.unbind(2)
    cross, dot = u * exact_v - v * exact_u, u * exact_u + v * exact_v
    length = rf.magnitude(exact)
    error = torch.atan2(cross, dot).abs()[length > length.median()]
    assert torch.rad2deg(error.median()) < 0.1


def test_gradients_are_the_same_when_autocast_covers_backward_too():
    made, grads = layer("fused").float(), []
    x = torch.randn(1, 2, 2, 16, 16, generator=torch.Generator().manual_seed(5))
    x.requires_grad_()
    for covered in (False, True):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = made(x).float().square().sum()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=covered):
            grads.append(torch.autograd.grad(loss, x)[0])
    torch.testing.assert_close(*grads)


class TestFullBlocks:
    """Terms that are zero fill up the blocks that a processor convolves at once."""

    @pytest.fixture(autouse=True)
    def wide_processor(self, monkeypatch):
        monkeypatch.setattr(
            torch.backends.cpu, "get_cpu_capability", lambda: "wide", raising=True
        )
        monkeypatch.setattr(fused, "BLOCKS", {"wide": 16})

    @pytest.mark.parametrize(
        ("filters", "terms", "full"),
        [(8, 11, 12), (8, 13, 14), (4, 13, 16), (6, 13, 13), (16, 5, 5)],
    )
    def test_no_more_blocks_than_before(self, filters, terms, full):
        trig = torch.zeros(16, terms)
        assert fused._full_terms(torch.zeros(1), trig, filters) == full
        blocks = -(-filters * terms // 16)
        assert -(-filters * full // 16) == blocks

    def test_other_precisions_are_left_alone(self):
        trig = torch.zeros(16, 11, dtype=torch.float64)
        assert fused._full_terms(trig, trig, 8) == 11

    @pytest.mark.parametrize("orientations", [16, 17])
    def test_same_result(self, orientations, monkeypatch):
        torch.manual_seed(0)
        made = RotConv(3, 8, 5, orientations=orientations, path="fused").eval()
        x = torch.randn(1, 3, 2, 20, 23)
        with torch.inference_mode():
            filled = made(x)
            seen = []
            true = fused._with_terms
            monkeypatch.setattr(
                fused, "_with_terms", lambda b, t, n: seen.append(n) or true(b, t, n)
            )
            made(x)
            monkeypatch.setattr(fused, "BLOCKS", {})
            plain = made(x)
        assert seen[0] > seen[1]
        torch.testing.assert_close(filled, plain, rtol=1e-5, atol=1e-6)
