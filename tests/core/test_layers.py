"""The modules: equivariant to rounding, cached, saved, checked at their edge."""

from __future__ import annotations

import copy
import io
import math
import pickle
import re

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from roteq_core.geometry import BASES, Basis
from roteq_core.image_turning import turn_image
from roteq_core.layers import (
    FieldDropout,
    FieldMaxPool,
    FieldNorm,
    FieldUpsample,
    Magnitude,
    OrientationPool,
    RotConv,
)
from roteq_core.testing import assert_equivariant

SIZES = [(14, 14), (15, 12), (13, 17)]


def randomize(module: nn.Module, seed: int = 0) -> nn.Module:
    """Draw all weights anew, biases and gains too, as zeros would hide faults."""
    torch.manual_seed(seed)
    for part in module.modules():
        if isinstance(part, RotConv):
            part.reset_parameters()
    for name, parameter in module.named_parameters():
        if "bias" in name or "gain" in name:
            nn.init.normal_(parameter, std=0.5)
    return module


def noise(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    random = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=random, dtype=torch.float64).to(dtype)


def flat_with_noise(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """A flat background that is not zero, a zero part, and some noise between."""
    x = torch.full(shape, 0.7, dtype=dtype)
    x[..., 1:6, 2:6] = noise(*shape[:-2], 5, 4, dtype=dtype)
    x[..., -5:, -4:] = 0
    return x


def turn_responses(responses: Tensor, angle: float) -> Tensor:
    """Turn (B, F, R, H, W): places turn, and orientations shift."""
    shift = round(responses.shape[2] * angle / (2 * math.pi))
    return turn_image(responses.roll(shift, 2), angle)


# quarter turns


@pytest.mark.parametrize("orientations", [4, 8, 16])
@pytest.mark.parametrize("kernel_size", [3, 4, 7])
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("draw", [noise, flat_with_noise])
def test_rot_conv_turns_with_its_input(draw, vector, kernel_size, orientations):
    made = RotConv(
        2, 3, kernel_size, orientations=orientations, vector_input=vector, padding=2
    )
    randomize(made.double())
    for height, width in SIZES:
        shape = (1, 2, 2, height, width) if vector else (1, 2, height, width)
        assert_equivariant(made, draw(*shape), tolerance=1e-9)


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("path", ["fused", "plain"])
@pytest.mark.parametrize("draw", [noise, flat_with_noise])
def test_every_basis_turns_with_its_input(draw, path, refine, basis):
    made = RotConv(
        1, 2, 5, orientations=8, vector_input=False, basis=basis, refine=refine
    )
    randomize(made.double())
    made.path = path
    assert_equivariant(made, draw(2, 1, 16, 13), tolerance=1e-9)


def test_single_tap_on_a_field_turns_with_it():
    made = randomize(RotConv(3, 4, 1, orientations=8).double())
    assert_equivariant(made, noise(1, 3, 2, 6, 5), tolerance=1e-9)


def test_strided_layer_turns_with_an_input_that_it_covers_evenly():
    made = randomize(RotConv(1, 2, 5, vector_input=False, stride=3).double())
    assert_equivariant(made, noise(1, 1, 16, 13), tolerance=1e-9)


def test_all_responses_shift_as_the_input_turns():
    made = randomize(RotConv(2, 3, 5, orientations=8, pool="none").double())
    x = noise(1, 2, 2, 9, 8)
    assert made(x).shape == (1, 3, 8, 9, 8)
    assert_equivariant(made, x, tolerance=1e-9, turn_output=turn_responses)


def test_magnitudes_are_maps_that_turn_with_the_input():
    made = randomize(RotConv(2, 3, 5, pool="magnitude").double())
    x = noise(1, 2, 2, 9, 8)
    assert made(x).shape == (1, 3, 9, 8)
    assert_equivariant(made, x, tolerance=1e-9)


def test_sectors_shift_as_the_input_turns():
    made = randomize(RotConv(1, 3, 5, pool="magnitude", bins=4).double())
    x = noise(1, 1, 2, 9, 8)

    def turn_sectors(maps: Tensor, angle: float) -> Tensor:
        return turn_responses(maps.unflatten(1, (3, 4)), angle).flatten(1, 2)

    assert made(x).shape == (1, 12, 9, 8)
    assert_equivariant(made, x, tolerance=1e-9, turn_output=turn_sectors)


@pytest.mark.parametrize("draw", [noise, flat_with_noise])
@pytest.mark.parametrize("size", [(9, 9), (8, 11)])
@pytest.mark.parametrize(
    "made",
    [FieldMaxPool(2), FieldMaxPool(3), FieldNorm(3), FieldUpsample(2), Magnitude()],
    ids=lambda made: type(made).__name__,
)
def test_layers_without_filters_turn_with_the_field(made, size, draw):
    randomize(made.double())
    assert_equivariant(made, draw(2, 3, 2, *size), tolerance=1e-9)


def stack(orientations: int = 16) -> nn.Module:
    """Convolution, pooling, normalization, convolution, upsampling."""
    return nn.Sequential(
        RotConv(1, 4, 7, orientations=orientations, vector_input=False),
        FieldMaxPool(2),
        FieldNorm(4),
        RotConv(4, 3, 5, orientations=orientations),
        FieldUpsample(2),
    )


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("draw", [noise, flat_with_noise])
@pytest.mark.parametrize("size", [(24, 24), (23, 18)])
def test_stack_turns_with_its_input_in_single_precision(size, draw, training):
    made = randomize(stack(), seed=1).train(training)
    x = draw(1, 1, *size, dtype=torch.float32)
    assert_equivariant(made, x, tolerance=1e-5)
    assert made(x).any()


@pytest.mark.parametrize("draw", [noise, flat_with_noise])
def test_seventeen_orientations_do_not_turn_by_quarters(draw):
    made = randomize(stack(17).double(), seed=2).eval()
    with pytest.raises(AssertionError, match="turned by 90°"):
        assert_equivariant(made, draw(1, 1, 24, 24), tolerance=1e-2)


# turning by other means


@pytest.mark.parametrize("vector", [False, True])
def test_turned_filters_are_what_the_input_is_convolved_with(vector):
    made = RotConv(2, 3, 5, orientations=6, vector_input=vector, padding=0).double()
    turned = made.turned_filters()
    assert turned.shape == (3, 6, 2, 2 if vector else 1, 5, 5)
    x = noise(1, 2, 2, 5, 5) if vector else noise(1, 2, 5, 5)
    expected = (turned * x.reshape(1, 1, 2, -1, 5, 5)).sum((2, 3, 4, 5))
    assert made.bias is not None
    found = made.responses(x)[0, :, :, 0, 0]
    torch.testing.assert_close(found, expected + made.bias[:, None])


def test_orientations_may_change_after_training():
    made = RotConv(1, 2, 5, orientations=8, vector_input=False).double().eval()
    x = noise(1, 1, 12, 12)
    with torch.no_grad():
        coarse = made(x)
        made.orientations = 64
        fine = made(x)
    assert not torch.equal(coarse, fine)
    gap = (Magnitude()(coarse) - Magnitude()(fine)).abs().median()
    assert gap < 0.05 * Magnitude()(fine).median()


@pytest.mark.parametrize(
    ("name", "value"), [("basis", "bilinear"), ("interval", (-0.4, 0.9))]
)
def test_basis_and_interval_may_change_as_well(name, value):
    made = RotConv(1, 2, 5, vector_input=False).double().eval()
    other = RotConv(1, 2, 5, vector_input=False, **{name: value}).double().eval()
    other.load_state_dict(made.state_dict())
    x = noise(1, 1, 12, 12)
    with torch.no_grad():
        before = made(x)
        setattr(made, name, value)
        assert getattr(made, name) == getattr(other, name)
        assert torch.equal(made(x), other(x))
        assert not torch.equal(made(x), before)


def test_orientations_may_not_fall_below_the_bins():
    made = RotConv(1, 2, 5, orientations=8, pool="magnitude", bins=4)
    with pytest.raises(ValueError, match="bins must lie between 1 and R = 2, got 4"):
        made.orientations = 2
    assert made.orientations == 8
    assert made(torch.zeros(1, 1, 2, 6, 6)).shape == (1, 8, 6, 6)


def test_options_of_numpy_are_taken_as_plain_numbers():
    sizes = {"in_maps": 1, "filters": 2, "kernel_size": 5}
    options = {"orientations": 8, "stride": 2, "padding": 1, "bins": 2}
    numbers = {name: np.int64(n) for name, n in {**sizes, **options}.items()}
    made = RotConv(**numbers, interval=np.array([0, 1]), pool="magnitude")
    for name in numbers:
        assert type(getattr(made, name)) is int
    assert made.interval == (0.0, 1.0)
    assert made(torch.zeros(1, 1, 2, 9, 9)).shape == (1, 4, 4, 4)
    field = noise(1, 2, 2, 5, 5)
    pooled = FieldMaxPool(np.int64(2))(field)
    assert torch.equal(pooled, FieldMaxPool(2)(field))
    assert FieldUpsample(np.int64(2))(pooled).shape == (1, 2, 2, 6, 6)


def test_tilts_stay_within_their_interval():
    low, high = -0.4, 0.9
    made = RotConv(
        1, 4, 7, vector_input=False, orientations=7, interval=(low, high)
    ).double()
    u, v = made(noise(1, 1, 20, 20)).unbind(2)
    theta = torch.atan2(v, u)[(u != 0) | (v != 0)]
    assert theta.numel() > 500
    assert low - 1e-9 <= theta.min() < low + 0.1
    assert high - 0.1 < theta.max() <= high + 1e-9


def test_orientation_pool_module_offers_vectors_sectors_and_responses():
    responses = noise(1, 2, 8, 3, 3)
    assert OrientationPool()(responses).shape == (1, 2, 2, 3, 3)
    assert OrientationPool(4)(responses).shape == (1, 8, 2, 3, 3)
    assert OrientationPool(4, "magnitude")(responses).shape == (1, 8, 3, 3)
    assert OrientationPool(keep="magnitude")(responses).shape == (1, 2, 3, 3)
    assert OrientationPool(keep="none")(responses) is responses
    assert "bins=4" in repr(OrientationPool(4))


# the cached bank


@pytest.fixture
def cached() -> tuple[RotConv, Tensor]:
    """A layer in eval mode that has seen an image, and the image."""
    made, x = RotConv(1, 2, 5, vector_input=False).eval(), noise(1, 1, 9, 9).float()
    with torch.no_grad():
        made(x)
    return made, x


def fresh(made: RotConv, x: Tensor) -> Tensor:
    """What a layer of these weights gives that has cached nothing."""
    again = RotConv(1, 2, 5, vector_input=False).to(made.weight)
    again.load_state_dict(made.state_dict())
    with torch.no_grad():
        return again.train()(x)


def test_bank_is_kept_in_eval_mode(cached):
    made, x = cached
    bank = made._cached_bank
    with torch.no_grad():
        assert bank() is bank()
        made(x + 1)
        kept = bank()
        made.train()
        assert bank() is not kept


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made.weight.mul_(-1),
        lambda made: made.weight.data.mul_(-1),
        lambda made: setattr(made, "weight", nn.Parameter(-made.weight)),
        lambda made: made.load_state_dict(
            {name: -value for name, value in made.state_dict().items()}
        ),
        lambda made: made.reset_parameters(),
        lambda made: setattr(made, "orientations", 16),
    ],
    ids=["in place", "through .data", "replaced", "loaded", "reset", "orientations"],
)
def test_bank_is_dropped_when_weights_change(cached, change):
    made, x = cached
    with torch.no_grad():
        change(made)
        found = made(x)
    torch.testing.assert_close(found, fresh(made, x), atol=1e-5, rtol=1e-5)


def test_bank_is_dropped_by_a_step_of_an_optimizer(cached):
    made, x = cached
    made(x).sum().backward()
    torch.optim.SGD(made.parameters(), lr=0.1).step()
    with torch.no_grad():
        torch.testing.assert_close(made(x), fresh(made, x), atol=1e-5, rtol=1e-5)


def test_bank_follows_the_type_of_the_weights(cached):
    made, x = cached
    with torch.no_grad():
        found = made.double()(x.double())
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, fresh(made, x.double()))


@pytest.mark.parametrize("path", ["fused", "plain"])
def test_bank_kept_under_autocast_serves_without_it(path):
    made, x = RotConv(1, 2, 5, vector_input=False, path=path).eval(), noise(1, 1, 9, 9)
    with torch.no_grad():
        expected = made.float()(x.float())
        made.train().eval()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            made(x.float())
        assert torch.equal(made(x.float()), expected)


@pytest.mark.parametrize("path", ["fused", "plain"])
@pytest.mark.parametrize("kernel_size", [1, 5])
def test_bank_kept_in_inference_mode_serves_gradients_later(kernel_size, path):
    made = RotConv(2, 3, kernel_size, path=path).eval().requires_grad_(False)
    x = noise(1, 2, 2, 9, 9).float()
    with torch.inference_mode():
        made(x)
    x.requires_grad_()
    made(x).sum().backward()
    assert x.grad is not None
    assert x.grad.any()


def test_layer_made_for_inference_alone_works():
    with torch.inference_mode():
        made = RotConv(1, 2, 5, vector_input=False).eval()
        x = torch.randn(1, 1, 8, 8)
        torch.testing.assert_close(made(x), made(x))


def test_copies_do_not_share_their_bank(cached):
    made, x = cached
    other = copy.deepcopy(made)
    with torch.no_grad():
        other.weight.mul_(-1)
        assert not torch.equal(other(x), made(x))


# parameters


@pytest.fixture
def turned_anew() -> nn.Module:
    """Give a network whose options changed, with a cached bank."""
    made = randomize(stack(8)).eval()
    made[0].orientations, made[0].interval = 12, (-0.5, 1.0)
    made[3].basis = "bilinear"
    with torch.no_grad():
        made(noise(1, 1, 16, 16).float())
    return made


def stored(made: nn.Module) -> nn.Module:
    file = io.BytesIO()
    torch.save(made, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made)), stored],
    ids=["copy", "deepcopy", "pickle", "save"],
)
def test_copies_and_stored_modules_answer_alike(turned_anew, again):
    x = noise(1, 1, 16, 16).float()
    found = again(turned_anew)
    assert torch.equal(found(x), turned_anew(x))
    found[3].orientations = 16
    found.train()(x).sum().backward()


def test_stored_layer_is_hardly_larger_than_its_weights():
    made = RotConv(8, 8, 9).eval()
    with torch.no_grad():
        made(torch.zeros(1, 8, 2, 9, 9))  # fills the bank
    size = sum(p.numel() * p.element_size() for p in made.parameters())
    assert len(pickle.dumps(made)) < size + 5000


def test_layers_that_were_stored_with_their_operator_are_read():
    made = RotConv(1, 2, 5, vector_input=False, orientations=8).eval()
    again = RotConv.__new__(RotConv)
    again.__setstate__({**vars(made)})
    x = noise(1, 1, 9, 9).float()
    assert torch.equal(again(x), made(x))


def test_state_dict_goes_round():
    made = randomize(stack(8))
    made(noise(2, 1, 16, 16).float())  # running statistics
    again = stack(8)
    again.load_state_dict(made.state_dict())
    x = noise(1, 1, 16, 16).float()
    assert torch.equal(made.eval()(x), again.eval()(x))


def test_only_canonical_filters_are_parameters():
    names = {name: tuple(p.shape) for name, p in RotConv(3, 4, 5).named_parameters()}
    assert names == {"weight": (4, 3, 2, 5, 5), "bias": (4,)}
    assert RotConv(3, 4, 5, bias=False).bias is None


def test_gradients_are_finite_on_a_blank_image():
    made = nn.Sequential(stack(8), FieldNorm(3), Magnitude()).train()
    x = torch.zeros(1, 1, 16, 16, requires_grad=True)
    made(x).sum().backward()
    for parameter in [x, *made.parameters()]:
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()


def test_double_precision_goes_through():
    assert randomize(stack(8).double())(noise(1, 1, 16, 16)).dtype == torch.float64


def test_stack_learns_under_autocast():
    made, x = randomize(stack(8)).train(), noise(1, 1, 16, 16).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = made(x).float().square().mean()
    loss.backward()
    for parameter in made.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()


def test_image_smaller_than_the_receptive_field_works_when_padded():
    made = nn.Sequential(RotConv(1, 2, 9, vector_input=False), RotConv(2, 2, 9))
    assert made(torch.randn(1, 1, 3, 2)).shape == (1, 2, 2, 3, 2)


@pytest.mark.parametrize("path", ["fused", "plain"])
@pytest.mark.parametrize("pool", ["vector", "magnitude"])
@pytest.mark.parametrize("sides", [(0, 5), (4, 0), (0, 0)])
def test_empty_image_is_what_its_padding_is(sides, pool, path):
    made = randomize(RotConv(1, 2, 3, vector_input=False, padding=3, pool=pool))
    made.path = path
    found = made(torch.empty(1, 1, *sides))
    found.sum().backward()
    assert made.weight.grad is not None
    assert not made.weight.grad.any()
    zeros = torch.zeros(1, 1, *(n + 6 for n in sides))
    made.padding = 0
    torch.testing.assert_close(found, made(zeros))


@pytest.mark.parametrize("pool", ["vector", "magnitude"])
@pytest.mark.parametrize("kernel_size", [1, 3])
def test_plain_path_has_gradients_of_gradients_and_functional_ones(kernel_size, pool):
    made = RotConv(1, 2, kernel_size, path="plain", pool=pool)
    randomize(made.double())
    x, own = noise(1, 1, 2, 5, 5).requires_grad_(), dict(made.named_parameters())
    assert torch.autograd.gradgradcheck(made, (x,))

    def loss(parameters: dict[str, Tensor]) -> Tensor:
        return torch.func.functional_call(made, parameters, (x,)).square().sum()

    found = torch.func.grad(loss)(own)
    loss(own).backward()
    torch.testing.assert_close(found["weight"], made.weight.grad)


@pytest.mark.slow
def test_layers_can_be_exported():
    made = randomize(stack(8)).eval()
    x = noise(1, 1, 17, 16).float()
    with torch.no_grad():
        exported = torch.export.export(made, (x,)).module()
        torch.testing.assert_close(exported(x), made(x))


# normalization, dropout, upsampling


def test_norm_divides_by_the_deviation_of_magnitudes():
    made = FieldNorm(2, gain=False).double()
    field = noise(3, 2, 2, 6, 6) * torch.tensor([3.0, 0.2]).reshape(2, 1, 1, 1)
    spread = Magnitude()(made(field)).std((0, 2, 3), correction=0)
    assert spread.tolist() == pytest.approx([1, 1], rel=1e-2)
    angles = [torch.atan2(z[:, :, 1], z[:, :, 0]) for z in (field, made(field))]
    torch.testing.assert_close(*angles)


def test_norm_learns_a_running_variance_for_evaluation():
    made = FieldNorm(1, momentum=0.5, gain=False).double()
    field = 4 * noise(2, 1, 2, 8, 8)
    for _ in range(30):
        trained = made(field)
    torch.testing.assert_close(made.eval()(field), trained, rtol=1e-4, atol=1e-6)
    # In evaluation one image does not depend on the others.
    torch.testing.assert_close(made(field[:1]), made(field)[:1])


def test_running_variance_moves_by_the_share_of_the_newest_batch():
    made = FieldNorm(2, momentum=0.1)
    field = 4 * noise(2, 2, 2, 8, 8).float()
    made(field)
    newest = Magnitude()(field).var((0, 2, 3), correction=0)
    torch.testing.assert_close(made.running_variance, 0.9 + 0.1 * newest)


@pytest.mark.parametrize("shape", [(0, 2, 2, 4, 4), (1, 2, 2, 0, 4), (1, 2, 2, 4, 0)])
def test_norm_learns_nothing_from_fields_without_vectors(shape):
    made = FieldNorm(2)
    made(torch.zeros(shape)).sum().backward()
    assert made.running_variance.tolist() == [1, 1]
    assert made.log_gain is not None
    assert made.log_gain.grad is not None
    assert made.log_gain.grad.tolist() == [0, 0]


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e30])
def test_norm_learns_nothing_from_vectors_that_are_no_numbers(value):
    made = FieldNorm(2, momentum=0.5)
    field = noise(1, 2, 2, 6, 6).float()
    newest = Magnitude()(field).var((0, 2, 3), correction=0)
    field[0, 1, 0, 3, 3] = value
    made(field)
    torch.testing.assert_close(made.running_variance[0], 0.5 + newest[0] / 2)
    assert made.running_variance[1] == 1


@pytest.mark.parametrize("half_layer", [False, True])
@pytest.mark.parametrize("size", [300.0, 1e-3])
def test_norm_of_half_precision_stays_finite(size, half_layer):
    made = FieldNorm(2, eps=1e-10)
    made = made.half() if half_layer else made
    field = (size * noise(2, 2, 2, 9, 9)).half()
    found = made(field)
    assert found.dtype == torch.float16
    spread = Magnitude()(found.float()).std((0, 2, 3), correction=0)
    assert spread.tolist() == pytest.approx([1, 1], rel=2e-2)
    assert made.running_variance.isfinite().all()
    assert made.eval()(field).isfinite().all()


def test_gain_of_norm_stays_positive():
    made = FieldNorm(1)
    assert made.log_gain is not None
    nn.init.constant_(made.log_gain, -50)
    field = noise(1, 1, 2, 4, 4).float()
    assert ((made(field) * field) >= 0).all()


def test_dropout_drops_whole_maps_while_training_only():
    torch.manual_seed(0)
    field, made = torch.ones(4, 50, 2, 3, 3), FieldDropout(0.4)
    dropped = made(field).flatten(2)
    assert (dropped == dropped[..., :1]).all()
    assert sorted(dropped.unique().tolist()) == pytest.approx([0, 1 / 0.6])
    assert dropped.mean().item() == pytest.approx(1, abs=0.15)
    assert torch.equal(made.eval()(field), field)


def test_upsampling_goes_to_a_size_or_by_a_factor():
    field = noise(1, 2, 2, 4, 5)
    assert FieldUpsample(3)(field).shape == (1, 2, 2, 12, 15)
    assert FieldUpsample()(field, (7, 9)).shape == (1, 2, 2, 7, 9)
    with pytest.raises(ValueError, match="give a size, or a factor"):
        FieldUpsample()(field)


# bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"in_maps": 0}, "in_maps must be an integer >= 1, got 0"),
        ({"filters": 2.0}, "filters must be an integer >= 1, got 2.0"),
        ({"kernel_size": 0}, "kernel_size must be an integer >= 1, got 0"),
        ({"kernel_size": 4}, "padding 'same' needs an odd kernel_size, got 4"),
        ({"stride": 0}, "stride must be an integer >= 1, got 0"),
        ({"padding": -1}, "padding must be an integer >= 0, got -1"),
        ({"padding": 1.5}, "padding must be an integer >= 0, got 1.5"),
        ({"padding": (1, 1)}, "padding must be an integer >= 0, got (1, 1)"),
        ({"padding": None}, "padding must be an integer >= 0, got None"),
        ({"padding": "valid"}, "padding must be 'same' or an integer, got 'valid'"),
        ({"orientations": 0}, "orientations must be an integer >= 1, got 0"),
        ({"orientations": 2.5}, "orientations must be an integer >= 1, got 2.5"),
        ({"orientations": True}, "orientations must be an integer >= 1, got True"),
        ({"pool": "mean"}, "pool must be 'vector', 'magnitude' or 'none', got 'mean'"),
        ({"pool": "magnitude", "bins": 17}, "between 1 and R = 16, got 17"),
        ({"pool": "magnitude", "bins": 2.5}, "bins must be an integer >= 1, got 2.5"),
        ({"bins": 4}, "need pool='magnitude', got bins=4 with pool='vector'"),
        ({"pool": "none", "bins": 4}, "got bins=4 with pool='none'"),
        ({"basis": "cubic"}, "basis must be one of"),
        ({"interval": (1.0, 0.0)}, "at most one full turn, got (1.0, 0.0)"),
        ({"interval": 3}, "interval must be (low, high) in radians"),
        ({"interval": (0.0, 1.0, 2.0)}, "interval must be (low, high) in radians"),
        ({"init": "zeros"}, "init must be 'stable' or 'paper', got 'zeros'"),
        ({"path": "fast"}, "path must be 'auto', 'fused' or 'plain', got 'fast'"),
    ],
    ids=str,
)
def test_rot_conv_names_the_argument_that_is_wrong(arguments, message):
    good = {"in_maps": 1, "filters": 2, "kernel_size": 5}
    with pytest.raises(ValueError, match=re.escape(message)):
        RotConv(**{**good, **arguments})


@pytest.mark.parametrize("pool", ["vector", "none"])
@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(2, 9, 9), "(B, C, 2, H, W), a field, got (2, 9, 9)"),
        (torch.zeros(1, 2, 9, 9), "(B, C, 2, H, W), a field, got (1, 2, 9, 9)"),
        (torch.zeros(1, 2, 3, 9, 9), "(B, C, 2, H, W), a field, got (1, 2, 3, 9, 9)"),
        (torch.zeros(1, 3, 2, 9, 9), "must have 2 maps, got 3"),
        (torch.zeros(1, 2, 2, 9, 9, dtype=torch.uint8), "floating point, got torch.ui"),
        (torch.zeros(1, 2, 2, 9, 9).double(), "torch.float32, got torch.float64"),
        (torch.zeros(1, 2, 2, 9, 4), "5x5 kernel, got (9, 4) with padding 0"),
    ],
    ids=["rank 3", "rank 4", "components", "maps", "integers", "doubles", "too small"],
)
def test_rot_conv_names_what_is_wrong_with_its_input(x, message, pool):
    made = RotConv(2, 3, 5, padding=0, pool=pool)
    with pytest.raises(ValueError, match=re.escape(message)):
        made(x)


def test_single_tap_on_images_gives_magnitudes_only():
    options = {"vector_input": False, "bias": False}
    with pytest.raises(ValueError, match=r"no direction: .* kernel_size=1, got 'vec"):
        RotConv(1, 2, 1, **options)
    x = noise(1, 1, 4, 4).float()
    made = RotConv(1, 2, 1, pool="magnitude", **options)
    torch.testing.assert_close(made(x), (made.weight[:, 0, 0] * x).relu())


def test_layer_for_images_refuses_a_field():
    with pytest.raises(ValueError, match=re.escape("(B, C, H, W), an image")):
        RotConv(2, 3, 5, vector_input=False)(torch.zeros(1, 2, 2, 9, 9))


def test_autocast_takes_doubles_too():
    made = RotConv(1, 2, 5, vector_input=False)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert made(noise(1, 1, 9, 9)).dtype == torch.bfloat16


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", ["weight", "bias"])
def test_weights_that_are_no_numbers_are_refused(name, grad, training):
    made, x = RotConv(1, 2, 5, vector_input=False), torch.randn(1, 1, 8, 8)
    made.train(training)
    with torch.set_grad_enabled(grad):
        made(x)
        getattr(made, name).data.view(-1)[0] = math.nan
        with pytest.raises(ValueError, match=f"NaN or infinity in '{name}'"):
            made(x)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FieldMaxPool(0), "size must be an integer >= 1, got 0"),
        (lambda: FieldNorm(0), "maps must be an integer >= 1, got 0"),
        (lambda: FieldNorm(2, momentum=5), "momentum must lie in [0, 1], got 5"),
        (lambda: FieldNorm(2, eps=-1), "eps must be positive, got -1"),
        (lambda: FieldUpsample(0), "factor must be an integer >= 1, got 0"),
        (lambda: FieldDropout(1.0), "p must lie in [0, 1), got 1.0"),
        (lambda: OrientationPool(0), "bins must be an integer >= 1, got 0"),
        (lambda: OrientationPool(keep="all"), "got 'all'"),
        (lambda: OrientationPool(4, "none"), "keep='none' has no bins, got bins=4"),
        (lambda: OrientationPool(keep="none")(torch.zeros(2, 4)), "got (2, 4)"),
        (lambda: Basis(kind="cubic"), "got 'cubic'"),
        (lambda: FieldNorm(2)(torch.zeros(1, 3, 2, 4, 4)), "2 maps, got 3"),
        (lambda: FieldNorm(2)(torch.zeros(1, 2, 4, 4)), "(B, C, 2, H, W), got"),
        (lambda: FieldDropout()(torch.zeros(1, 2, 4, 4)), "(B, C, 2, H, W), got"),
        (lambda: FieldUpsample(2)(torch.zeros(2, 4)), "(B, C, 2, H, W), got (2, 4)"),
        (lambda: FieldNorm(2)(torch.zeros(1, 2, 2, 4, 4).int()), "got torch.int32"),
        (lambda: FieldDropout()(torch.zeros(1, 2, 2, 4, 4).int()), "got torch.int32"),
    ],
)
def test_other_layers_name_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_description_names_what_matters():
    text = repr(RotConv(1, 2, 5, vector_input=False, orientations=8))
    assert "1, 2, 5, image, R=8" in text
