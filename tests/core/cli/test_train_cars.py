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


@pytest.mark.parametrize("command", ["train cars", "train finder"])
def test_what_rows_lack_is_said(drawn_frames, tmp_path, command):
    folder, table = drawn_frames((64, 64)), tmp_path / "centers.csv"
    table.write_text("file,cx,cy\nframe_0.png,20,30\nframe_1.png,30,20\n")
    words = ("--images", folder, "--cars", table, "-o", tmp_path / "m.safetensors")
    said = refused(*command.split(), *words)
    assert "must have a heading and a length" in said
    assert "got 2 cars: 2 without heading (heading_cw_from_up_deg), 2 without" in said
    assert "the table names" not in said
    table.write_text("file,cx,cy\nother.png,20,30\n")
    assert "the table names ['other']" in refused(*command.split(), *words)


@pytest.mark.parametrize("option", ["--ship", "--ship-finder"])
def test_a_shipped_model_is_not_written_over_the_data(split_frames, option):
    table = split_frames / "cars.csv"
    said = refused("reproduce", "cars", "--data", split_frames, option, table)
    assert "a model file must end in .safetensors, got" in said
    assert table.read_text().startswith("file,")
