"""What `roteq train cars`, `train finder` and `reproduce cars` refuse."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from roteq_core.cli.main import app


def refused(*words: Any) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 1, result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize("command", ["train cars", "train finder"])
@pytest.mark.parametrize("name", ["cars.csv", "frame_0.png"])
def test_a_model_is_not_written_over_the_data(drawn_frames, command, name):
    folder = drawn_frames((64, 64))
    before = (folder / name).read_bytes()
    words = ("--images", folder, "--cars", folder / "cars.csv", "-o", folder / name)
    said = refused(*command.split(), *words, "--steps", 1, "--synthetic", 0)
    assert "a model file must end in .safetensors, got" in said
    assert (folder / name).read_bytes() == before


@pytest.mark.parametrize("option", ["--ship", "--ship-finder"])
def test_a_shipped_model_is_not_written_over_the_data(split_frames, option):
    table = split_frames / "cars.csv"
    said = refused("reproduce", "cars", "--data", split_frames, option, table)
    assert "a model file must end in .safetensors, got" in said
    assert table.read_text().startswith("file,")
