from __future__ import annotations

import csv

import numpy as np
import pytest
import tifffile
from imageio import v3 as imageio

from roteq_core.config import TrainConfig
from roteq_core.jobs import drain
from roteq_core.model import load_model
from roteq_core.net_config import PlainCarNetConfig
from roteq_core.networks.baselines import PlainNetConfig
from roteq_core.reproduce.isbi import ReproduceOptions
from roteq_core.reproduce.train_baselines import (
    iter_train_plain_cars,
    iter_train_plain_membranes,
)

QUICK = TrainConfig(steps=2, batch=2, crop=32, epoch_steps=2, device="cpu")


def test_plain_membranes_learn_from_all_but_the_held_out_slices(em, tmp_path):
    tifffile.imwrite(tmp_path / "train-volume.tif", em.image)
    cells = np.where(em.membranes, 0, 255).astype(np.uint8)
    tifffile.imwrite(tmp_path / "train-labels.tif", cells)
    job = iter_train_plain_membranes(
        tmp_path,
        network=PlainNetConfig(width=1, kernel_size=3),
        train=QUICK,
        options=ReproduceOptions(held_out="4-4"),
    )
    model = drain(job)
    model.save(tmp_path / "plain.safetensors")
    card = load_model(tmp_path / "plain.safetensors", task="membranes").card
    assert card.is_baseline
    assert card.scores["slices"] == "4-4"
    assert card.training["steps"] == 2
    assert "4-4" in card.data


@pytest.fixture
def frames(tmp_path):
    """Give a folder with a frame and two cars for each split."""
    random = np.random.default_rng(0)
    (tmp_path / "frames").mkdir()
    columns = ["file", "cx", "cy", "length_px", "width_px", "heading_cw_from_up_deg"]
    with (tmp_path / "cars.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*columns, "stationary_id", "split"])
        for split in ("train", "test"):
            name = f"{split}.png"
            picture = random.integers(0, 255, (120, 160, 3), dtype=np.uint8)
            imageio.imwrite(tmp_path / "frames" / name, picture)
            rows.writerow([name, 50, 60, 40, 18, 30, -1, split])
            rows.writerow([name, 110, 60, 40, 18, 200, -1, split])
    return tmp_path


def test_plain_cars_are_scored_on_the_test_split(frames):
    network = PlainCarNetConfig(filters=(1, 1), kernel_size=5, crop=40)
    model = drain(
        iter_train_plain_cars(frames, network=network, train=QUICK, synthetic=0)
    )
    assert model.card.is_baseline
    assert model.card.settings["reading"] == "vector"
    assert model.card.scores["test_8_copies"]["cars"] == 2
    assert "2 cars of 1 images" in model.card.data
