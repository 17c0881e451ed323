from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest
import tifffile
from typer.testing import CliRunner

from roteq_core.card import read_card
from roteq_core.cli.main import app
from roteq_core.model import load_model

QUICK = ["--preset", "quick", "--steps", "2", "--crop", "32", "--batch", "1"]


@pytest.fixture
def data(tmp_path, em):
    tifffile.imwrite(tmp_path / "images.tif", em.image[:3])
    tifffile.imwrite(tmp_path / "labels.tif", em.cells[:3])
    tifffile.imwrite(tmp_path / "fewer.tif", em.cells[:2])
    tifffile.imwrite(tmp_path / "flat.tif", np.ones((3, 64, 64), np.uint8))
    return tmp_path


def run(data, *arguments, images="images.tif", labels="labels.tif"):
    given = ["--images", data / images, "--labels", data / labels]
    given += ["-o", data / "model.safetensors", *arguments]
    return CliRunner().invoke(app, ["train", "membranes", *map(str, given)])


def said(result):
    return " ".join(result.stderr.split())


def test_files_become_a_model_with_a_card_and_a_run(data):
    result = run(data, *QUICK, "--pixel-size", "4", "--data", "Synthetic.")
    assert result.exit_code == 0, result.output
    assert re.search(r"^v_rand +\d\.\d{4}$", result.stdout, re.MULTILINE)
    assert re.search(r"^direction_deg +\d+\.\d\d$", result.stdout, re.MULTILINE)
    card = read_card(data / "model.safetensors")
    assert (card.name, card.pixel_size, card.pixel_unit) == ("model", 4.0, "nm")
    assert card.data == "Synthetic."
    assert card.scores["slices"] == "2-2"
    assert 0 < card.scores["v_rand"] <= 1
    assert card.training["recipe"]["steps"] == 2
    assert len(card.training["data"]["fingerprint"]) == 16
    assert load_model(data / "model.safetensors", task="membranes").networks
    run_folder = data / "model_run"
    assert json.loads((run_folder / "run.json").read_text())["task"] == "membranes"
    with (run_folder / "log.csv").open() as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["2"]
    assert (run_folder / "curves.png").read_bytes().startswith(b"\x89PNG")

    again = run(data, *QUICK)
    assert again.exit_code == 1
    assert "there is a run in" in said(again)
    resumed = run(data, *QUICK, "--resume")
    assert resumed.exit_code == 0, resumed.output
    started = run(
        data, *QUICK, "--start-from", data / "model.safetensors", "--folder", data / "b"
    )
    assert started.exit_code == 0, started.output
    assert "labels.tif is read as numbered cells" in said(started)
    # The pixel size of the model that it starts from is that of the new one.
    assert read_card(data / "model.safetensors").pixel_size == 4


def test_stop_leaves_the_model_so_far(data, monkeypatch):
    import roteq_core.membranes.train as module

    whole = module.keep_log

    def interrupted(job, folder):
        for report in whole(job, folder):
            yield report
            if "is_best" in report.values:  # slow machines report within an epoch too
                raise KeyboardInterrupt

    monkeypatch.setattr(module, "keep_log", interrupted)
    result = run(data, *QUICK)
    assert result.exit_code == 130
    assert "--resume goes on from here" in said(result)
    card = read_card(data / "model.safetensors")
    assert card.scores["unfinished"] is True
    assert card.training["steps"] == 2


@pytest.mark.parametrize(
    ("files", "arguments", "message"),
    [
        ({"labels": "fewer.tif"}, [], "got (3, 64, 64) in "),
        ({"labels": "none.tif"}, [], "there is no file or folder"),
        ({"labels": "flat.tif"}, [], "flat.tif"),
        ({}, ["--preset", "slow"], "preset must be one of"),
        ({}, ["--held-out", "0-2"], "no slice is left to train on"),
        ({}, ["--held-out", "7"], "slices must lie in 0…2"),
        ({}, ["--resume"], "there is nothing to resume"),
        ({}, ["--start-from", "nano"], "there is no model 'nano'"),
        ({}, ["--width", "99"], "width must lie in"),
        ({}, ["--ignore", "5", "--label-kind", "cats"], "must be one of"),
        ({"labels": "images.tif"}, [], "--label-kind says what the labels are"),
        ({}, ["--start-from", "plain-membranes"], "is a PlainNetConfig"),
        ({}, ["--start-from", "membranes", "--width", "7"], "which is 2, got 7"),
    ],
)
def test_mistakes_are_said_in_a_sentence(data, files, arguments, message):
    result = run(data, *QUICK, *arguments, **files)
    assert result.exit_code == 1, result.output
    assert said(result).rpartition("error: ")[2]
    assert message in said(result)
    assert not (data / "model.safetensors").exists()


def test_crop_that_no_network_takes_is_refused_before_anything_is_read(data):
    result = run(data, *QUICK, "--crop", "17", images="none.tif")
    assert result.exit_code == 1
    assert said(result) == "error: --crop must be a multiple of 8, got 17"
    assert not (data / "model_run").exists()


def test_sparse_labels_are_scored_by_pixels(data, em):
    labels = np.zeros((3, 64, 64), np.uint8)
    labels[:, :20] = np.where(em.membranes[:3, :20], 1, 2)
    tifffile.imwrite(data / "painted.tif", labels)
    result = run(data, *QUICK, labels="painted.tif")
    assert result.exit_code == 0, result.output
    assert "painted: 1 is membrane" in said(result)
    scores = read_card(data / "model.safetensors").scores
    assert set(scores) == {"slices", "pixels_right"}
