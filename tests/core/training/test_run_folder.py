from __future__ import annotations

import csv
import errno
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from roteq_core.jobs import Report, drain
from roteq_core.training.checkpoint import save_checkpoint
from roteq_core.training.run_folder import (
    fingerprint,
    keep_log,
    read_log,
    read_run,
    start_run,
)

ASKED = {"task": "membranes", "data": {"fingerprint": "a"}}


def checkpoint(folder, log):
    layer = nn.Linear(1, 1)
    optimizer = torch.optim.AdamW(layer.parameters())
    save_checkpoint(folder / "last.safetensors", layer, optimizer, {}, {"log": log})


def training(folder, rows):
    """Pretend to train: a checkpoint, then a report, for each epoch."""
    log = []
    for row in rows:
        yield Report(row["step"] - 1, 9, "on the way")
        log.append(row)
        checkpoint(folder, log)
        yield Report(row["step"], 9, "", {**row, "is_best": True})
    return "done"


def test_log_and_curves_follow_the_training(tmp_path):
    rows = [
        {"step": 2, "loss": 1.5},
        {"step": 4, "loss": 1.0, "v_rand": 0.8},
    ]
    start_run(tmp_path, ASKED, resume=False)
    job = keep_log(training(tmp_path, rows), tmp_path)
    next(job), next(job)
    with (tmp_path / "log.csv").open() as file:
        assert list(csv.DictReader(file)) == [{"step": "2", "loss": "1.5"}]
    assert drain(job) == "done"
    with (tmp_path / "log.csv").open() as file:
        last = list(csv.DictReader(file))[-1]
    assert last == {"step": "4", "loss": "1.0", "v_rand": "0.8"}
    assert (tmp_path / "curves.png").stat().st_size > 1000
    assert read_log(tmp_path) == rows
    assert not list(tmp_path.glob("*.partial"))


def test_run_that_is_there_is_not_overwritten(tmp_path):
    start_run(tmp_path, ASKED, resume=False)
    start_run(tmp_path, {**ASKED, "more": 1}, resume=False)  # nothing learnt yet
    assert read_run(tmp_path)["more"] == 1
    checkpoint(tmp_path, [])
    with pytest.raises(ValueError, match=r"there is a run in .* already"):
        start_run(tmp_path, ASKED, resume=False)


def test_run_is_resumed_with_its_data_only(tmp_path):
    with pytest.raises(ValueError, match="nothing to resume"):
        start_run(tmp_path, ASKED, resume=True)
    start_run(tmp_path, ASKED, resume=False)
    checkpoint(tmp_path, [])
    start_run(tmp_path, ASKED, resume=True)
    with pytest.raises(ValueError, match="resumed with the data it had"):
        start_run(tmp_path, {"data": {"fingerprint": "b"}}, resume=True)


def test_folders_that_are_no_runs_are_named(tmp_path):
    with pytest.raises(ValueError, match="does not describe a run"):
        read_run(tmp_path)
    assert read_log(tmp_path) == []
    (tmp_path / "last.safetensors").write_text("rubbish")
    with pytest.raises(ValueError, match="not a readable checkpoint"):
        read_log(tmp_path)


def test_fingerprint_changes_with_values_shape_and_type():
    array = np.arange(6)
    others = [array + 1, array.reshape(2, 3), array.astype(np.int32)]
    found = {fingerprint(a) for a in (array, *others)}
    assert len(found) == 4
    assert fingerprint(array) == fingerprint(array.copy())
    assert fingerprint(array, array) != fingerprint(array)


def test_full_disk_is_told_and_leaves_nothing(tmp_path, monkeypatch):
    def full(path, *args, **kwargs):
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match=r"could not write .*run.json: the disk is full"):
        start_run(tmp_path / "run", {"data": {}}, resume=False)
    assert not list((tmp_path / "run").iterdir())
