from __future__ import annotations

import math

import numpy as np
import pytest
from typer.testing import CliRunner

from roteq_core.cli import demo
from roteq_core.cli.main import app


def test_true_gradient_is_that_of_the_image():
    scene = demo.leaves(0.7)
    rows, columns = np.gradient(scene.image)
    numeric = np.stack([columns, rows])
    np.testing.assert_allclose(
        scene.gradient[:, 1:-1, 1:-1], numeric[:, 1:-1, 1:-1], atol=2e-3
    )


def test_quarter_turn_of_the_scene_is_a_quarter_turn_of_the_image():
    upright, turned = demo.leaves(0.0), demo.leaves(math.pi / 2)
    np.testing.assert_allclose(turned.image, np.rot90(upright.image, -1), atol=1e-12)


@pytest.mark.parametrize("tilt_deg", [0, 30, 77, 200])
def test_edges_point_where_the_image_brightens(tilt_deg):
    scene = demo.leaves(math.radians(tilt_deg))
    field = demo.edge_field(scene.image)
    assert demo.median_angle_error(field, scene.gradient) < 1.0


def test_reversed_field_is_half_a_turn_off():
    gradient = demo.leaves(0.0).gradient
    assert demo.median_angle_error(-gradient, gradient) == pytest.approx(180)


def test_command_saves_the_figure_it_names(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "new" / "vector_field.png").stat().st_size > 10_000
