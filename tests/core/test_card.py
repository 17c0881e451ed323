from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch
from safetensors.torch import save_file

from roteq_core import card as card_module
from roteq_core.card import (
    ModelCard,
    ModelFileError,
    file_hash,
    find_model,
    read_card,
    shipped_models,
)

CARD = ModelCard(name="a", task="membranes", networks=[{"kind": "membranes"}])


def test_card_comes_back_from_json():
    assert ModelCard.from_json(CARD.to_json()) == CARD


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "has format 99, this version reads up to 1: update"),
        ({"format": "one"}, "has no format number"),
        ({"color": "red"}, r"unknown or missing entries: \['color'\]"),
        ({"networks": []}, "names no network"),
        ({"name": None}, r"unknown or missing entries: \['name'\]"),
    ],
)
def test_foreign_cards_are_refused(change, message):
    values = {**json.loads(CARD.to_json()), **change}
    values = {key: value for key, value in values.items() if value is not None}
    with pytest.raises(ModelFileError, match=message):
        ModelCard.from_json(json.dumps(values))


@pytest.mark.parametrize("text", ["", "[1]", "{"])
def test_text_that_is_no_card_is_refused(text):
    with pytest.raises(ModelFileError):
        ModelCard.from_json(text)


def test_card_is_read_without_torch(tiny_file):
    code = (
        "import sys; from roteq_core.card import read_card;"
        f"print(read_card({str(tiny_file)!r}).name, 'torch' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["tiny", "False"]


def test_other_files_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match="there is no model file"):
        read_card(tmp_path / "none")
    pickle = tmp_path / "model.pt"
    torch.save({"x": torch.zeros(2)}, pickle)
    with pytest.raises(ModelFileError, match=r"pickled models .* are never loaded"):
        read_card(pickle)
    save_file({"x": torch.zeros(2)}, tmp_path / "x.safetensors")
    with pytest.raises(ModelFileError, match="but not a roteq model"):
        read_card(tmp_path / "x.safetensors")


def test_models_are_found_by_name_and_by_path(tiny_file, monkeypatch):
    monkeypatch.setattr(card_module, "WEIGHTS", tiny_file.parent)
    assert shipped_models() == {"tiny": tiny_file}
    assert find_model("tiny") == find_model(tiny_file) == tiny_file
    with pytest.raises(ModelFileError, match=r"'nano': give a file, or .*\['tiny'\]"):
        find_model("nano")


def test_a_single_network_is_offered_before_its_ensemble():
    names = list(shipped_models())
    assert names.index("membranes") + 1 == names.index("membranes-ensemble")


def test_shipped_cards_are_whole():
    for name, path in shipped_models().items():
        card = read_card(path)
        assert card.name == name
        assert card.summary
        assert card.data
        assert card.terms
        assert card.scores


def test_hash_changes_with_the_file(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    assert file_hash(tmp_path / "a") != file_hash(tmp_path / "b")
    assert len(file_hash(tmp_path / "a")) == 16
