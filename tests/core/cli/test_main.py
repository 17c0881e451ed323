from __future__ import annotations

from importlib.metadata import version

from typer.testing import CliRunner

from roteq_core.cli.main import app


def test_version_is_that_of_the_distribution():
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.split() == ["napari-roteq", version("napari-roteq")]


def test_help_lists_the_commands():
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    assert "doctor" in result.output


def test_unknown_command_is_refused():
    result = CliRunner().invoke(app, ["dance"])
    assert result.exit_code == 2
    assert "dance" in result.output
