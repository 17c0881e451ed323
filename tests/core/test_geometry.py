"""Turning filters: angles, bases and the turning operator."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from roteq_core.geometry import (
    BASES,
    FULL_CIRCLE,
    Basis,
    as_basis,
    as_interval,
    orientation_angles,
    turning_operator,
)
from roteq_core.image_turning import turn_field, turn_image

QUARTER = math.pi / 2
KERNELS = [2, 3, 5, 8, 9]


def quarter_turned(matrices: torch.Tensor, kernel_size: int) -> torch.Tensor:
    """Turn the k×k filters that are the columns of (R, k², k²) by a quarter turn."""
    filters = matrices.movedim(1, -1).unflatten(-1, (kernel_size, kernel_size))
    return turn_image(filters, QUARTER).flatten(-2).movedim(-1, 1)


def gaussian_slope(kernel_size: int, angle: float, width: float) -> torch.Tensor:
    """Sample a smooth edge filter that points along `angle`, flattened."""
    line = torch.arange(kernel_size).double() - (kernel_size - 1) / 2
    y, x = torch.meshgrid(line, line, indexing="ij")
    along = x * math.cos(angle) + y * math.sin(angle)
    return (along * torch.exp(-(x**2 + y**2) / (2 * width**2))).flatten()


# angles


def test_full_circle_is_cut_into_equal_steps_from_zero():
    angles = orientation_angles(8)
    torch.testing.assert_close(angles, torch.arange(8).double() * math.pi / 4)


def test_interval_of_tilts_has_an_angle_at_each_end():
    angles = orientation_angles(5, (-0.5, 0.3))
    torch.testing.assert_close(angles, torch.linspace(-0.5, 0.3, 5).double())


def test_single_tilt_is_the_middle_of_its_interval():
    assert orientation_angles(1, (0.2, 0.6)).tolist() == pytest.approx([0.4])


@pytest.mark.parametrize("orientations", [0, -4, 2.5])
def test_orientations_must_be_a_positive_integer(orientations):
    with pytest.raises(ValueError, match=rf"orientations .* got {orientations}"):
        orientation_angles(orientations)


@pytest.mark.parametrize(
    "interval",
    [
        (1.0, 1.0),
        (0.5, 0.1),
        (0.0, 7.0),
        (0.0, math.nan),
        "ab",
        "12",
        (0.0,),
        3,
        np.array(3),
    ],
)
def test_interval_must_run_upwards_and_at_most_once_around(interval):
    with pytest.raises(ValueError, match="interval must be"):
        orientation_angles(4, interval)


@pytest.mark.parametrize("pair", [[0.0, 1.0], np.array([0.0, 1.0]), range(2)])
def test_interval_is_any_pair_of_numbers(pair):
    assert as_interval(pair) == (0.0, 1.0)
    found = turning_operator(5, 16, interval=pair)
    assert found is turning_operator(5, 16, interval=(0.0, 1.0))


# bases


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "cubic"}, "got 'cubic'"),
        ({"sigma": 0.0}, "sigma and rim must be positive, got 0.0"),
        ({"rim": -1.0}, "got 1.2 and -1.0"),
        ({"frequencies": -1}, "frequencies must be an integer >= 0, got -1"),
        ({"frequencies": 2.5}, "frequencies must be an integer >= 0, got 2.5"),
    ],
)
def test_basis_names_what_is_wrong(wrong, message):
    with pytest.raises(ValueError, match=message):
        Basis(**wrong)


def test_basis_is_found_by_name_or_taken_as_it_is():
    basis = Basis(sigma=2.0)
    assert as_basis(basis) is basis
    assert as_basis("bilinear").kind == "bilinear"
    with pytest.raises(ValueError, match="got 'linear'"):
        as_basis("linear")
    with pytest.raises(ValueError, match="got None"):
        as_basis(None)
    with pytest.raises(ValueError, match=r"got \['smooth'\]"):
        as_basis(["smooth"])


# the operator


@pytest.mark.parametrize("kernel_size", [0, -3, 2.0])
def test_kernel_size_must_be_a_positive_integer(kernel_size):
    with pytest.raises(ValueError, match=rf"kernel_size .* got {kernel_size}"):
        turning_operator(kernel_size, 4)


@pytest.mark.parametrize("wrong", [{"kernel_size": 5.0}, {"orientations": True}])
def test_operator_at_hand_is_not_given_for_numbers_that_equal_its_own(wrong):
    good = {"kernel_size": 5, "orientations": 1}
    turning_operator(**good)
    with pytest.raises(ValueError, match="must be an integer >= 1"):
        turning_operator(**{**good, **wrong})


def test_operator_is_made_by_the_name_of_its_basis():
    found = turning_operator(5, 16, basis="bilinear")
    assert found is turning_operator(5, 16, basis=BASES["bilinear"])


@pytest.mark.parametrize("name", ["smooth", "bilinear", "spread"])
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("interval", [FULL_CIRCLE, (0.0, 1.0)])
def test_operator_is_on_the_cpu_whatever_the_device_of_the_moment(
    interval, vector, name
):
    basis = replace(BASES[name], sigma=1.17)  # that no other test has made
    options = {"interval": interval, "vector": vector, "basis": basis}
    with torch.device("meta"):
        made = [turning_operator(k, r, **options) for k in (1, 5) for r in (1, 4, 16)]
    for operator in made:
        assert operator.harmonics.device.type == operator.trig.device.type == "cpu"


def test_operator_made_for_inference_serves_gradients_later():
    with torch.inference_mode():
        made = turning_operator(5, 8, basis=Basis(sigma=1.19))
    filters = torch.ones(25).double().requires_grad_()
    (made.harmonics @ filters).sum().backward()
    assert filters.grad is not None


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
@pytest.mark.parametrize("kernel_size", KERNELS)
@pytest.mark.parametrize("orientations", [4, 8, 16])
def test_quarter_turn_of_a_filter_permutes_its_taps(kernel_size, orientations, basis):
    matrices = turning_operator(kernel_size, orientations, basis=basis).matrices()
    expected = quarter_turned(matrices, kernel_size)
    found = matrices.roll(-orientations // 4, 0)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
@pytest.mark.parametrize("kernel_size", [1, 4, 5])
def test_quarter_turn_of_a_vector_filter_turns_its_vectors_too(kernel_size, basis):
    operator = turning_operator(kernel_size, 8, basis=basis, vector=True)
    # Column q of a matrix is a field (2, k, k): what weight q becomes.
    columns = operator.matrices().movedim(1, -1)
    fields = columns.unflatten(-1, (2, kernel_size, kernel_size))
    expected = turn_field(fields, QUARTER)
    torch.testing.assert_close(fields.roll(-2, 0), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
@pytest.mark.parametrize("orientations", [1, 2, 3, 5, 16])
def test_vector_operator_turns_places_and_components(orientations, basis):
    scalar = turning_operator(5, orientations, basis=basis).matrices()
    both = turning_operator(5, orientations, basis=basis, vector=True).matrices()
    angles = orientation_angles(orientations)
    for turn, matrix, angle in zip(scalar, both, angles, strict=True):
        cos, sin = math.cos(angle), math.sin(angle)
        rotation = torch.tensor([[cos, -sin], [sin, cos]], dtype=torch.float64)
        torch.testing.assert_close(
            matrix, torch.kron(rotation, turn), rtol=0, atol=1e-12
        )


def test_paper_basis_at_angle_zero_is_the_filter_within_the_disc():
    matrix = turning_operator(9, 17, basis=BASES["bilinear"]).matrices()[0]
    inside = matrix.diagonal()
    torch.testing.assert_close(matrix, torch.diag(inside))
    assert inside.sum() == 69  # taps of a 9×9 filter within 4.5 pixels
    assert set(inside.tolist()) == {0.0, 1.0}


def test_paper_basis_reads_whole_weights_inside_the_disc():
    matrices = turning_operator(9, 17, basis=BASES["bilinear"]).matrices()
    line = torch.arange(9) - 4
    inner = (line[:, None] ** 2 + line**2 <= 3**2).flatten()
    rows = matrices[:, inner].sum(-1)
    torch.testing.assert_close(rows, torch.ones_like(rows))


def test_spreading_is_the_transpose_of_reading_the_other_way():
    spread = turning_operator(9, 8, basis=BASES["spread"]).matrices()
    read = turning_operator(9, 8, basis=BASES["bilinear"]).matrices()
    line = torch.arange(9) - 4
    inner = (line[:, None] ** 2 + line**2 <= 2**2).flatten()
    back = read.roll(-1, 0).flip(0).transpose(1, 2)  # by -α
    # Up to the share that makes the sums alike.
    gap = (spread - back)[:, inner][:, :, inner].abs().max()
    assert gap < 3e-3


@pytest.mark.parametrize("frequencies", [4, None])
def test_smooth_basis_turns_a_smooth_filter_as_a_function(frequencies):
    basis = Basis(sigma=1.2, rim=1.0, frequencies=frequencies)
    matrices = turning_operator(9, 16, basis=basis).matrices()
    turned = matrices @ gaussian_slope(9, 0.0, 1.0)
    # A Gaussian blurred by a Gaussian is a wider one.
    width = math.hypot(1.0, 1.2)
    for filter_, angle in zip(turned, orientation_angles(16), strict=True):
        expected = gaussian_slope(9, float(angle), width)
        alike = torch.cosine_similarity(filter_, expected, dim=0)
        assert alike > 0.999


def test_series_in_the_angle_converges_to_the_turned_filters():
    exact = turning_operator(7, 64, basis=Basis(frequencies=None)).matrices()
    errors = []
    for frequencies in (2, 6, 20):
        basis = Basis(frequencies=frequencies)
        series = turning_operator(7, 64, basis=basis).matrices()
        errors.append(float((series - exact).norm() / exact.norm()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-6


@pytest.mark.parametrize("frequencies", [0, 1, 4])
def test_bank_holds_one_filter_per_harmonic(frequencies):
    basis = Basis(frequencies=frequencies)
    image = turning_operator(9, 32, basis=basis)
    field = turning_operator(9, 32, basis=basis, vector=True)
    assert image.trig.shape == (32, 2 * frequencies + 1)
    # The constant term vanishes where only vectors turn.
    assert field.trig.shape[1] == (2 * frequencies + 3 if frequencies else 2)


@pytest.mark.parametrize("vector", [False, True])
def test_bank_never_holds_more_filters_than_orientations(vector):
    many = turning_operator(5, 32, vector=vector).matrices()
    few = turning_operator(5, 8, vector=vector)
    assert few.trig.shape == (8, 8)
    torch.testing.assert_close(few.matrices(), many[::4])


@pytest.mark.parametrize("basis", [Basis(), Basis(frequencies=None), BASES["spread"]])
@pytest.mark.parametrize("orientations", [16, 17])
def test_turned_filters_answer_alike_to_a_flat_image(orientations, basis):
    sums = turning_operator(9, orientations, basis=basis).matrices().sum(1)
    torch.testing.assert_close(sums, sums[:1].expand_as(sums), rtol=0, atol=1e-14)


def test_interval_gives_the_filters_of_those_angles():
    around = turning_operator(5, 8).matrices()
    tilts = turning_operator(5, 3, interval=(0.0, QUARTER)).matrices()
    torch.testing.assert_close(tilts, around[:3])


def test_single_tap_stays_and_its_vector_turns():
    assert turning_operator(1, 4).matrices().flatten().tolist() == [1, 1, 1, 1]
    turned = turning_operator(1, 4, vector=True).matrices() @ torch.eye(2).double()
    assert turned[:, :, 0].tolist() == [[1, 0], [0, 1], [-1, 0], [0, -1]]
