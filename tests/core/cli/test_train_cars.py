"""Runs of `roteq train cars` and `train finder`; what these and others refuse."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from imageio import v3 as imageio
from PIL import Image
from typer.testing import CliRunner

from roteq_core.card import read_card
from roteq_core.cli.main import app
from roteq_core.jobs import Report
from roteq_core.model import load_model

COMMANDS = pytest.mark.parametrize("command", ["cars", "finder"])
FEW = {"cars": ("--network", "5k", "--batch", 2), "finder": ("--batch", 1)}


@pytest.fixture
def data(drawn_frames, tmp_path) -> Path:
    """A folder of its own with three drawn frames and their table."""
    folder: Path = tmp_path / "data"
    shutil.copytree(drawn_frames((96, 128)), folder)
    return folder


def train(command: str, data: Path, *words: Any) -> Any:
    """Train for one step into a model beside the data."""
    given = ("--images", data, "--cars", data / "cars.csv", "--synthetic", 0)
    output = ("-o", data.parent / "mine.safetensors", "--steps", 1)
    every = ("train", command, *given, *output, *FEW[command], *words)
    return CliRunner().invoke(app, [str(word) for word in every])


def said(result: Any) -> str:
    return " ".join(result.output.split())


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


@COMMANDS
def test_a_run_beside_the_model_is_kept_and_not_overwritten(data, command):
    result = train(command, data)
    assert result.exit_code == 0, result.output
    run = data.parent / "mine_run"
    asked = json.loads((run / "run.json").read_text())
    assert asked["data"]["images"] == "frame_0.png, frame_1.png"
    assert asked["data"]["held_out_images"] == "frame_2.png"
    assert len(asked["data"]["fingerprint"]) == 16
    with (run / "log.csv").open() as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["1"]
    last = (run / "last.safetensors").read_bytes()
    again = train(command, data)
    assert again.exit_code == 1
    assert f"there is a run in {run} already" in said(again)
    assert (run / "last.safetensors").read_bytes() == last
    assert train(command, data, "--resume").exit_code == 0


@COMMANDS
def test_a_stop_leaves_the_model_so_far(data, command, monkeypatch):
    import roteq_core.training.run_folder as module

    whole = module.keep_log

    def interrupted(job, folder):
        for report in whole(job, folder):
            yield report
            if "is_best" in report.values:
                raise KeyboardInterrupt

    name = {"cars": "train", "finder": "train_finder"}[command]
    monkeypatch.setattr(f"roteq_core.cars.{name}.keep_log", interrupted)
    result = train(command, data)
    assert result.exit_code == 130
    assert "mine.safetensors; --resume goes on from here" in said(result)
    path = data.parent / "mine.safetensors"
    card = read_card(path)
    assert (card.name, card.scores["unfinished"]) == ("mine", True)
    load_model(path, task={"cars": "cars", "finder": "car-finder"}[command])
    monkeypatch.setattr(f"roteq_core.cars.{name}.keep_log", whole)
    assert train(command, data, "--resume").exit_code == 0
    assert "unfinished" not in read_card(path).scores


@COMMANDS
def test_a_stop_before_the_first_epoch_says_that_nothing_is_saved(
    data, command, monkeypatch
):
    def interrupted(job, folder):
        yield Report(0, 1, "on the way")
        raise KeyboardInterrupt

    name = {"cars": "train", "finder": "train_finder"}[command]
    monkeypatch.setattr(f"roteq_core.cars.{name}.keep_log", interrupted)
    result = train(command, data)
    assert result.exit_code == 130
    assert "no epoch came to its end: there is nothing to save" in said(result)
    assert not (data.parent / "mine.safetensors").exists()


def brighter(data: Path) -> None:
    pixels = imageio.imread(data / "frame_1.png")
    imageio.imwrite(data / "frame_1.png", pixels // 2 + 99)


@COMMANDS
def test_a_run_is_resumed_with_its_own_images_only(data, command):
    assert train(command, data).exit_code == 0
    before = (data.parent / "mine_run/last.safetensors").read_bytes()
    brighter(data)
    result = train(command, data, "--resume")
    assert result.exit_code == 1, result.output
    assert "a run is resumed with the data it had" in said(result)
    assert (data.parent / "mine_run/last.safetensors").read_bytes() == before


@COMMANDS
def test_a_run_is_resumed_with_as_much_drawn_as_before(data, command):
    assert train(command, data).exit_code == 0
    result = train(command, data, "--resume", "--synthetic", 10)
    assert result.exit_code == 1
    assert "these differ: synthetic (was 0, now 10)" in said(result)


@COMMANDS
def test_a_run_that_does_not_say_its_data_goes_on_with_a_note(data, command):
    assert train(command, data).exit_code == 0
    record = data.parent / "mine_run/run.json"
    record.unlink()
    refused = train(command, data, "--resume", "--seed", 5)
    assert refused.exit_code == 1
    assert "these differ: seed (was 0, now 5)" in said(refused)
    assert not record.exists()
    result = train(command, data, "--resume")
    assert result.exit_code == 0, result.output
    assert "note: the run in" in said(result)
    assert "does not say what it learnt from" in said(result)
    assert "note:" not in said(train(command, data, "--resume"))
    brighter(data)
    assert train(command, data, "--resume").exit_code == 1


@COMMANDS
def test_images_that_ask_to_be_turned_get_a_note(data, command):
    tag = Image.Exif()
    tag[0x0112] = 8
    image = Image.open(data / "frame_1.png")
    image.load()
    image.save(data / "frame_1.png", exif=tag)
    assert "Orientation of frame_1.png (8) is not 1" in said(train(command, data))


@COMMANDS
def test_the_help_says_how_several_images_are_given(command):
    result = CliRunner().invoke(
        app, ["train", command, "--help"], env={"COLUMNS": "200"}
    )
    assert "repeat --images for more" in said(result)


@COMMANDS
def test_a_table_that_is_not_there_is_named(data, command):
    result = train(command, data, "--cars", data / "no.csv")
    assert f"error: there is no table of cars {data / 'no.csv'}" in said(result)
