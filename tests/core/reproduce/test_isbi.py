from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import tifffile

from roteq_core import card
from roteq_core.cli.reproduce_isbi import show_tables
from roteq_core.jobs import drain
from roteq_core.networks.baselines import UNetConfig
from roteq_core.reproduce import isbi as reproduce_isbi
from roteq_core.reproduce.isbi import QUICK, iter_reproduce_isbi, read_isbi
from roteq_core.training.train import Trained

TINY = replace(
    QUICK,
    train=replace(QUICK.train, steps=2, epoch_steps=2, crop=16, device="cpu"),
    width=1,
    plain_width=1,
    unet_width=1,
    held_out="2-2",
    side=48,
)
PARTS = [
    "roteqnet-augmented",
    "roteqnet-plain",
    "cnn-augmented",
    "cnn-plain",
    "unet-augmented",
    "structure tensor",
]


@pytest.fixture
def challenge(tmp_path, em):
    """Write a stack as the challenge does: 0 is membrane, 255 cell."""
    folder = tmp_path / "isbi"
    folder.mkdir()
    labels = np.where(em.membranes[:3], 0, 255).astype(np.uint8)
    tifffile.imwrite(folder / "train-volume.tif", em.image[:3])
    tifffile.imwrite(folder / "train-labels.tif", labels)
    return folder


def test_the_unet_gets_the_same_seconds_its_first_step_aside(challenge, monkeypatch):
    def slow_start(task, config, **_):
        yield from ()
        seconds = [100.0 + step for step in range(config.steps)]
        return Trained(None, None, [{"seconds": value} for value in seconds])

    monkeypatch.setattr(reproduce_isbi, "iter_train", slow_start)
    examples = read_isbi(challenge, TINY)
    network = UNetConfig(width=1)
    train = reproduce_isbi._fit_to_time(examples, network, TINY.train, 30.0)
    assert train.steps == 30


def test_all_parts_are_scored_and_kept(challenge, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(card, "WEIGHTS", tmp_path / "none")
    results = drain(iter_reproduce_isbi(challenge, tmp_path / "out", TINY))
    assert list(results["parts"]) == PARTS
    kept = json.loads((tmp_path / "out" / "results.json").read_text())
    assert kept == json.loads(json.dumps(results))
    for name in PARTS[:-1]:
        assert 0 <= results["parts"][name]["v_rand"] <= 1
        assert results["parts"][name]["seconds"] > 0
        rows = results["parts"][name]["turned"]
        changes = ["as it is", "turned by 90°", "turned by 37°"]
        assert [row["change"] for row in rows] == changes
    assert 0 < results["parts"]["structure tensor"]["direction_deg"] < 45
    show_tables(results)
    shown = capsys.readouterr().out
    assert "0.9790" in shown
    assert "turned by 37°" in shown
    assert f"{results['parts']['structure tensor']['direction_deg']:.1f}°" in shown

    # Finished parts are taken over, others are computed.
    del kept["parts"]["cnn-plain"]
    kept["parts"]["cnn-augmented"]["v_rand"] = 0.5
    (tmp_path / "out" / "results.json").write_text(json.dumps(kept))
    again = drain(iter_reproduce_isbi(challenge, tmp_path / "out", TINY))
    assert again["parts"]["cnn-augmented"]["v_rand"] == 0.5
    assert set(again["parts"]) == set(PARTS)
    other = replace(TINY, turns=5)
    with pytest.raises(ValueError, match="results with other options"):
        drain(iter_reproduce_isbi(challenge, tmp_path / "out", other))


def test_zero_is_membrane_in_the_challenge(challenge, em):
    found = read_isbi(challenge, TINY)
    assert (found.membranes == em.membranes[:3, :48, :48]).all()
    assert found.held_out == range(2, 3)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"no file or folder .*train-volume.tif"):
        read_isbi(tmp_path, TINY)
