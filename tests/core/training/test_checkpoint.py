from __future__ import annotations

import os

import pytest
import torch
from torch import nn

from roteq_core.training.checkpoint import (
    read_checkpoint,
    restore_optimizer,
    save_checkpoint,
    write_tensors,
)


def trained_layer():
    layer = nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=0.1)
    layer(torch.randn(4, 3)).square().sum().backward()
    optimizer.step()
    return layer, optimizer


def test_checkpoint_brings_back_weights_optimizer_and_record(tmp_path):
    layer, optimizer = trained_layer()
    path = tmp_path / "a.safetensors"
    average = {"weight": torch.ones(2, 3)}
    save_checkpoint(path, layer, optimizer, average, {"step": 4})
    found = read_checkpoint(path)
    assert found.record == {"step": 4}
    assert torch.equal(found.weights["weight"], layer.weight)
    assert torch.equal(found.usable["weight"], torch.ones(2, 3))
    other_optimizer = trained_layer()[1]
    restore_optimizer(other_optimizer, found.optimizer)
    before = optimizer.state_dict()["state"][0]["exp_avg"]
    assert torch.equal(other_optimizer.state_dict()["state"][0]["exp_avg"], before)


def test_own_weights_are_usable_before_averaging(tmp_path):
    layer, optimizer = trained_layer()
    save_checkpoint(tmp_path / "a.safetensors", layer, optimizer, {}, {})
    found = read_checkpoint(tmp_path / "a.safetensors")
    assert torch.equal(found.usable["weight"], layer.weight)


def test_file_is_replaced_at_once(tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    write_tensors(path, {"x": torch.zeros(2)}, {})
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match=r"could not write .*kept"):
        write_tensors(path, {"x": torch.ones(2)}, {})
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]


def test_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(OSError, match="could not write"):
        write_tensors(tmp_path / "a" / "b.safetensors", {"x": torch.zeros(2)}, {})


def test_missing_and_foreign_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no checkpoint"):
        read_checkpoint(tmp_path / "none.safetensors")
    write_tensors(tmp_path / "other.safetensors", {"x": torch.zeros(2)}, {})
    with pytest.raises(ValueError, match="not a readable checkpoint"):
        read_checkpoint(tmp_path / "other.safetensors")


def test_others_may_read_what_is_written(tmp_path):
    (tmp_path / "plain").write_text("")
    write_tensors(tmp_path / "a.safetensors", {"x": torch.zeros(2)}, {})
    usual = (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "a.safetensors").stat().st_mode == usual
