"""Errors of equivariance: known ones, exact ones, and those of the default layers."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from typer.testing import CliRunner

from roteq_core.cli import equivariance as command
from roteq_core.equivariance import (
    Probes,
    compare_vectors,
    equivariance_error,
    probe_errors,
)
from roteq_core.image_turning import turn_image
from roteq_core.layers import Magnitude, RotConv


def vectors(*pairs: tuple[float, float]) -> Tensor:
    """One map with N vectors: (1, 2, N)."""
    return torch.tensor(pairs, dtype=torch.float64).T[None]


def slope(image: Tensor) -> Tensor:
    """The gradient of an image as a field: equivariant but for its differences."""
    v, u = torch.gradient(image, dim=(2, 3))
    return torch.stack([u, v], 2)


@pytest.fixture(scope="module")
def smooth_image() -> Tensor:
    y, x = np.mgrid[-30:31, -30:31]
    image = np.sin(x / 6 + y / 9) + np.cos(x / 8 - y / 5) * np.sin(y / 7 + 1)
    return torch.from_numpy(image)[None, None]


# comparing


def test_errors_of_known_vectors():
    expected = vectors((1, 0), (0, 2), (3, 0), (0, 4))
    found = vectors((0, 1), (2, 0), (3, 0), (0, 5))
    error = compare_vectors(found, expected, turned=math.pi, strong=0.5)
    assert error.turned_deg == pytest.approx(180)
    assert error.magnitude == pytest.approx(math.sqrt(1 / 30))
    # The longer half: (3, 0), which is right, and (0, 4), which is a quarter too long.
    assert error.vector_rms == pytest.approx(math.sqrt(1 / 25))
    assert error.angle_mean_deg == pytest.approx(0)
    everywhere = compare_vectors(found, expected, strong=1.0)
    assert everywhere.angle_mean_deg == pytest.approx(45)
    assert everywhere.vector_rms == pytest.approx(math.sqrt((2 + 8 + 1) / 30))


def test_strong_vectors_are_chosen_in_each_map():
    expected = torch.cat([vectors((1, 0), (2, 0)), vectors((100, 0), (200, 0))])
    found = expected.clone()
    found[0, :, 1] = torch.tensor([0.0, 2.0])  # the strong one of the weak map
    assert compare_vectors(found, expected).angle_mean_deg == pytest.approx(45)


def test_values_have_no_angles():
    error = compare_vectors(torch.ones(1, 1, 4), torch.full((1, 1, 4), 2.0))
    assert error.magnitude == pytest.approx(0.5)
    assert math.isnan(error.angle_median_deg)


def test_nothing_compared_with_nothing_is_no_error():
    error = compare_vectors(torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))
    assert (error.magnitude, error.vector_rms) == (0, 0)
    assert math.isnan(error.angle_mean_deg)
    assert compare_vectors(torch.ones(1, 2, 4), torch.zeros(1, 2, 4)).magnitude > 1e9


def test_comparison_names_what_is_wrong():
    with pytest.raises(ValueError, match=r"\(1, 2, 4\) and \(1, 2, 3\)"):
        compare_vectors(torch.zeros(1, 2, 4), torch.zeros(1, 2, 3))
    with pytest.raises(ValueError, match=r"strong must lie in \(0, 1\], got 0"):
        compare_vectors(torch.zeros(1, 2, 4), torch.zeros(1, 2, 4), strong=0)


# turned images


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_quarter_turns_have_no_error(smooth_image, quarters):
    torch.manual_seed(0)
    layer = RotConv(1, 3, 5, orientations=8, vector_input=False).double()
    error = equivariance_error(layer, smooth_image, quarters * math.pi / 2)
    assert error.vector_rms < 1e-9
    assert error.angle_median_deg < 1e-6


@pytest.mark.parametrize("angle", [0.3, 1.0, 2.2, 5.0])
def test_slope_of_a_smooth_image_turns_with_it(smooth_image, angle):
    error = equivariance_error(slope, smooth_image, angle)
    assert 0 < error.angle_median_deg < 3
    assert 0 < error.vector_median < 0.05
    assert 0 < error.magnitude < 0.05


def test_wrong_vectors_are_seen_as_such(smooth_image):
    def quarter_off(image: Tensor) -> Tensor:
        u, v = slope(image).unbind(2)
        return torch.stack([-v, u], 2)

    def mirrored(image: Tensor) -> Tensor:
        u, v = slope(image).unbind(2)
        return torch.stack([u, -v], 2)

    # Vectors that are off by a fixed angle still turn with the image.
    assert equivariance_error(quarter_off, smooth_image, 0.5).angle_mean_deg < 2
    found = equivariance_error(mirrored, smooth_image, 0.5).angle_median_deg
    assert found == pytest.approx(math.degrees(1.0), abs=1)


def test_plain_convolution_does_not_turn(smooth_image):
    torch.manual_seed(0)
    plain = nn.Conv2d(1, 4, 5, padding=2, bias=False).double()
    assert equivariance_error(plain, smooth_image, math.pi / 2).magnitude > 0.1
    error = equivariance_error(plain, smooth_image, 1.0)
    assert error.magnitude > 0.1
    assert math.isnan(error.angle_mean_deg)


def test_fields_can_be_turned_as_input(smooth_image):
    field = slope(smooth_image)
    error = equivariance_error(Magnitude(), field, 0.7)
    assert error.magnitude < 0.05


def test_only_the_central_disc_counts(smooth_image):
    def spoiled(image: Tensor) -> Tensor:
        image = image.clone()
        image[..., :4, :] = 100.0
        return image

    assert equivariance_error(spoiled, smooth_image, math.pi / 2).magnitude == 0
    whole = equivariance_error(spoiled, smooth_image, math.pi / 2, disc=1.0)
    assert whole.magnitude > 0.5


def test_image_error_names_what_is_wrong(smooth_image):
    with pytest.raises(ValueError, match=r"disc must lie in \(0, 1\], got 2"):
        equivariance_error(slope, smooth_image, 1.0, disc=2)
    with pytest.raises(ValueError, match=r"got \(61, 61\)"):
        equivariance_error(slope, smooth_image[0, 0], 1.0)
    with pytest.raises(ValueError, match="outputs must turn with the image"):
        equivariance_error(lambda x: x[..., :30, :], smooth_image, math.pi / 2)


# probes


def test_turned_patches_are_the_same_noise_about_the_same_points():
    probes = Probes(2.0, 7, count=5, maps=2)
    upright = probes.patches(0.0)
    assert upright.shape == (5, 2, 7, 7)
    for angle in (0.3, 2.0):
        middle = probes.patches(angle)[..., 3, 3]
        torch.testing.assert_close(middle, upright[..., 3, 3])
    for quarters in (1, 2, 3):
        angle = quarters * math.pi / 2
        expected = turn_image(upright, angle)
        torch.testing.assert_close(probes.patches(angle), expected, atol=1e-7, rtol=0)
    assert not torch.allclose(upright[:, 0], upright[:, 1])


def test_turned_patches_turn_clockwise():
    """The slope of the noise turns from right towards down."""
    probes = Probes(3.0, 3, count=200)
    angles = []
    for turned in (0.0, 0.4):
        u, v = slope(probes.patches(turned))[:, 0, :, 1, 1].unbind(1)
        angles.append(torch.atan2(v, u))
    gap = torch.remainder(angles[1] - angles[0], 2 * math.pi)
    assert gap.median().item() == pytest.approx(0.4, abs=0.02)


def test_probes_find_no_error_where_there_is_none():
    def middle_only(patches: Tensor) -> Tensor:
        return patches[..., 2:3, 2:3]

    (error,) = probe_errors(middle_only, Probes(2.0, 5, count=20), [1.0])
    assert error.magnitude < 1e-6


def test_padding_does_not_reach_the_middle():
    torch.manual_seed(0)
    layer = RotConv(1, 2, 5, vector_input=False, padding=0)
    padded = RotConv(1, 2, 5, vector_input=False)
    padded.load_state_dict(layer.state_dict())
    probes = Probes(2.0, 5, count=30)
    both = [probe_errors(net, probes, [0.5])[0] for net in (layer, padded)]
    assert both[0].vector_rms == pytest.approx(both[1].vector_rms, rel=1e-3)


def test_probes_need_a_middle():
    layer = RotConv(1, 2, 5, vector_input=False, padding=0)
    with pytest.raises(ValueError, match=r"must have odd sides, .* got 2x2"):
        probe_errors(layer, Probes(2.0, 6, count=2), [0.5])
    with pytest.raises(ValueError, match="size and count must be positive, got 0 and"):
        Probes(2.0, 0)


@pytest.mark.parametrize("sigma", [1.5, 3.0])
def test_three_default_layers_keep_directions_at_any_angle(sigma):
    setting = command.Setting("smooth", 16, True, sigma)
    probes = command.probes_of(sigma, 40)
    angles = [math.radians(15 + 41 * n) for n in range(8)]  # none a quarter turn
    for seed in (0, 1):
        network = command.random_layers(setting, seed)
        quarter, *others = probe_errors(network, probes, [math.pi / 2, *angles])
        assert quarter.vector_rms < 1e-4
        assert max(error.angle_median_deg for error in others) < 3
        assert max(error.vector_median for error in others) < 0.1
        # A few flipped vectors weigh most in it: of single angles it is no bound.
        squares = [error.vector_rms**2 for error in others]
        assert (sum(squares) / len(squares)) ** 0.5 < 0.3


def test_paper_settings_are_far_behind_the_default():
    probes, errors = command.probes_of(3.0, 40), []
    for basis, count, refine in (("bilinear", 17, False), ("smooth", 16, True)):
        setting = command.Setting(basis, count, refine, 3.0)
        network = command.random_layers(setting, seed=0)
        errors += probe_errors(network, probes, [0.7])
    paper, default = errors
    assert paper.angle_median_deg > 4 * default.angle_median_deg
    assert paper.vector_median > 2 * default.vector_median


# the command


def test_command_writes_a_table_a_plot_and_figures(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "BASES", ("bilinear", "smooth"))
    monkeypatch.setattr(command, "ORIENTATIONS", (16,))
    monkeypatch.setattr(command, "LAYERS", 1)
    monkeypatch.setattr(command, "SIDE", 9)
    from roteq_core.cli.main import app

    arguments = ["equivariance", "--out", str(tmp_path)]
    arguments += ["--angles", "4", "--probes", "8", "--networks", "1"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    rows = (tmp_path / "equivariance.md").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 2 + 4  # two bases, refined and not
    assert {row.count("|") for row in rows} == {12}
    figures = json.loads((tmp_path / "equivariance.json").read_text(encoding="utf-8"))
    assert len(figures) == 8
    assert figures[0]["setting"]["basis"] == "bilinear"
    turned = [error["turned_deg"] for error in figures[0]["errors"]]
    assert turned == pytest.approx([33.3, 123.3, 213.3, 303.3])
    assert figures[0]["quarter"]["vector_rms"] < 1e-4
    assert (tmp_path / "equivariance.png").stat().st_size > 10_000
