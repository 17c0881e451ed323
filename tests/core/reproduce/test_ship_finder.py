"""The shipped car finder can be trained again, and says where it fails."""

from __future__ import annotations

import dataclasses

from typer.testing import CliRunner

from roteq_core.cars import finder_scores
from roteq_core.cli.main import app
from roteq_core.model import load_model
from roteq_core.net_config import CarFinderNetConfig, TurningConfig
from roteq_core.reproduce import ship_finder

SMALL = CarFinderNetConfig(
    filters=(2, 2),
    kernel_size=3,
    hidden=2,
    in_maps=3,
    offsets=1,
    turning=TurningConfig(8, frequencies=2),
)


def test_a_command_trains_the_finder_and_puts_its_scores_on_the_card(
    split_frames, tmp_path, monkeypatch
):
    legs = [
        dataclasses.replace(leg, batch=1, crop=64) for leg in ship_finder.FINDER_LEGS
    ]
    monkeypatch.setattr(ship_finder, "FINDER_LEGS", legs)
    monkeypatch.setattr(finder_scores, "DRAWN", 1)
    options = {"network": SMALL, "legs": legs, "drawn": 10}
    monkeypatch.setattr(ship_finder.iter_ship_finder, "__kwdefaults__", options)
    file = tmp_path / "finder.safetensors"
    command = ["reproduce", "cars", "--data", str(split_frames), "--steps", "2"]
    command += ["--ship-finder", str(file), "-o", str(tmp_path)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    card = load_model(file, task="car-finder").card
    assert card.name == "car-finder"
    assert [leg["steps"] for leg in card.training["legs"]] == [2, 2]
    assert (tmp_path / "finder" / "leg1.safetensors").is_file()
    assert "Drawn: 10 synthetic scenes" in card.data
    rows = {"test_frames", "sample_scene", "left_out_styles"}
    assert rows <= set(card.scores)
    found = card.scores["test_frames"]["recall"]
    assert f"it finds {found:.0%} of the cars" in card.limits
    assert card.limits in result.output.replace("\n", " ")
