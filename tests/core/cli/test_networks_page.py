from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from roteq_core.cli.main import app

PAGE = Path(__file__).parents[3] / "docs" / "networks.md"


def test_page_of_the_networks_shows_what_the_command_prints():
    result = CliRunner().invoke(app, ["networks"])
    assert result.exit_code == 0, result.output
    assert result.stdout in PAGE.read_text(encoding="utf-8")
