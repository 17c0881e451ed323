from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from roteq_core import card
from roteq_core.card import read_card
from roteq_core.cli.main import app


@pytest.fixture(autouse=True)
def only_tiny_is_shipped(tiny_file, monkeypatch):
    monkeypatch.setattr(card, "WEIGHTS", tiny_file.parent)


def run(*arguments):
    return CliRunner().invoke(app, ["models", *map(str, arguments)])


def test_shipped_models_are_listed():
    result = run()
    assert result.exit_code == 0, result.output
    assert "tiny" in result.stdout
    assert "membranes" in result.stdout


def test_list_is_there_as_json():
    assert json.loads(run("--json").stdout)["tiny"]["task"] == "membranes"


def test_card_is_shown_by_name_and_by_file(tiny_file):
    by_name, by_file = run("show", "tiny"), run("show", tiny_file)
    assert json.loads(by_name.stdout)["pixel_size"] == 4.0
    assert by_name.stdout == by_file.stdout


def test_self_test_is_run(tiny_file):
    assert "the self-test passes" in run("check", tiny_file).stdout


def test_models_are_combined(tiny_file, tmp_path):
    output = tmp_path / "both.safetensors"
    result = run("combine", "tiny", tiny_file, "-o", output, "--summary", "Two.")
    assert result.exit_code == 0, result.output
    found = read_card(output)
    assert (found.name, found.summary, len(found.networks)) == ("both", "Two.", 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "nano"], "there is no model 'nano'"),
        (["combine", "tiny", "-o", "x.safetensors"], "at least two models"),
        (["combine", "tiny", "tiny", "-o", "x.pt"], "must end in .safetensors"),
    ],
)
def test_mistakes_are_said_in_a_sentence(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 1
    assert message in " ".join(result.stderr.split())
