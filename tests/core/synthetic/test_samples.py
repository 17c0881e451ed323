"""The files in sample_data/ are what the script there makes, and are small."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from roteq_core.angles import ccw_from_heading
from roteq_core.synthetic import (
    FAMILIES,
    RESERVED_SEEDS,
    em_stack,
    sample_aerial_scene,
    sample_em_stack,
)

FOLDER = Path(__file__).resolve().parents[3] / "sample_data"


@pytest.fixture(scope="module")
def table():
    with open(FOLDER / "aerial_cars.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_slice_of_the_em_sample_can_be_drawn_again():
    again = sample_em_stack(only=[4])
    image = tifffile.imread(FOLDER / "em_stack.tif")
    truth = tifffile.imread(FOLDER / "em_stack_truth.tif")
    assert image.shape == truth.shape == (10, 384, 384)
    # Other processors may round a gray level the other way.
    assert np.abs(image[4].astype(int) - again.image[0]).mean() < 0.05
    assert ((truth[4] == 0) == again.membranes[0]).mean() > 0.999


def test_the_aerial_sample_can_be_drawn_again(table):
    again = sample_aerial_scene()
    image = np.asarray(Image.open(FOLDER / "aerial_scene.png"))
    assert np.abs(image.astype(int) - again.image).mean() < 0.05
    assert [row["kind"] for row in table] == [car.kind for car in again.cars]
    for row, car in zip(table, again.cars, strict=True):
        assert float(row["cx"]) == pytest.approx(car.cx, abs=1e-2)
        heading = float(row["heading_cw_from_up_deg"])
        assert heading == pytest.approx(car.heading_cw_from_up_deg, abs=1e-2)


def test_both_angle_columns_say_the_same(table):
    for row in table:
        angle = float(ccw_from_heading(float(row["heading_cw_from_up_deg"])))
        assert float(row["angle_ccw_from_right_deg"]) == pytest.approx(angle, abs=2e-3)


def test_samples_stay_below_three_megabytes():
    files = [file for file in FOLDER.iterdir() if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 3_000_000


def test_the_sample_scene_is_of_no_family_that_training_draws_from():
    assert sample_aerial_scene().style.family not in FAMILIES
    assert RESERVED_SEEDS == 9_000_000


def test_chosen_slices_equal_those_of_the_whole_stack():
    whole = em_stack(3, 64, seed=5)
    part = em_stack(3, 64, seed=5, only=[2, 0])
    np.testing.assert_array_equal(part.image, whole.image[[2, 0]])
    np.testing.assert_array_equal(part.cells, whole.cells[[2, 0]])
    with pytest.raises(ValueError, match="only must name slices below 3"):
        em_stack(3, 64, seed=5, only=[3])
