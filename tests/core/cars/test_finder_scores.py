"""Scores of a finder: what counts, on whole folders, and on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imageio import v3 as imageio
from typer.testing import CliRunner

from roteq_core.cars import finder_scores
from roteq_core.cars.finder_scores import (
    KnownImage,
    iter_finder_scores,
    iter_score_images,
)
from roteq_core.cars.train_finder import cars_of_drawing
from roteq_core.cli.main import app
from roteq_core.config import FindOptions
from roteq_core.jobs import drain
from roteq_core.synthetic import aerial_scene
from roteq_core.tables import Car, CarTable

GROUND = np.zeros((100, 100, 3), np.uint8)
COLUMNS = ("file", "cx", "cy", "length_px", "width_px", "heading_cw_from_up_deg")
COLUMNS += ("stationary_id", "split")


@pytest.fixture
def finds(monkeypatch) -> list[Car]:
    """Cars that the finder will find in any image; to be filled in."""
    cars: list[Car] = []

    def found(image: Any, options: Any) -> Any:
        yield from ()
        return CarTable(tuple(cars))

    monkeypatch.setattr(finder_scores, "iter_find_cars", found)
    return cars


def score(*images: KnownImage) -> dict[str, Any]:
    return drain(iter_score_images(images, FindOptions()))


def test_each_car_is_matched_once_and_within_the_stated_distance(finds):
    truth = [Car(20, 20, 20, 8, 90.0), Car(60, 60, 20, 8, 0.0)]
    finds += [
        Car(27.9, 20, 18, 8, 95.0),  # 0.395 lengths off
        Car(20, 20, 18, 8, 90.0),  # the same car again
        Car(60, 68.1, 18, 8, 0.0),  # 0.405 lengths off
    ]
    row = score(KnownImage(GROUND, truth), KnownImage(GROUND, truth[1:]))
    assert (row["images"], row["cars"], row["found"], row["matched"]) == (2, 3, 6, 1)
    assert row["precision"] == pytest.approx(1 / 6)
    assert row["recall"] == pytest.approx(1 / 3)
    assert row["f1"] == pytest.approx(2 / 9)
    assert row["heading"]["cars"] == 1
    assert row["heading"]["mean_deg"] == pytest.approx(5.0)


def test_cars_that_are_not_scored_count_neither_way(finds):
    scored, parked = Car(20, 20, 20, 8, 350.0), Car(60, 60, 20, 8, 0.0)
    finds += [Car(60, 61, 20, 8, 180.0), Car(20, 20, 20, 8, 10.0)]
    finds += [Car(60, 63, 20, 8, 180.0)]  # the parked car once more: no car
    row = score(KnownImage(GROUND, [scored], [parked]))
    assert (row["cars"], row["found"], row["matched"]) == (1, 2, 1)
    assert row["not_counted"] == 1
    assert row["heading"] == {
        "cars": 1,
        "mean_deg": pytest.approx(20.0),
        "median_deg": pytest.approx(20.0),
        "share_under_15": 0.0,
        "share_above_150": 0.0,
    }


def test_nothing_found_scores_nothing(finds):
    row = score(KnownImage(GROUND, [Car(20, 20, 20, 8, 0.0)]))
    assert (row["precision"], row["recall"], row["f1"]) == (0, 0, 0)
    assert row["heading"] == {"cars": 0}


@pytest.fixture(scope="module")
def data(tmp_path_factory: Any) -> Path:
    """Three drawn frames; every fourth car of the test frame is not to be scored."""
    path: Path = tmp_path_factory.mktemp("cars_aerial")
    (path / "frames").mkdir()
    with (path / "cars.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for number, split in ((119, "train"), (122, "train"), (140, "test")):
            scene = aerial_scene(
                (192, 192), seed=number, style="carpark", car_length_px=(30, 30)
            )
            name = f"frame_{number}.png"
            imageio.imwrite(path / "frames" / name, scene.image)
            for index, c in enumerate(cars_of_drawing(scene)[0]):
                seen = split == "test" and index % 4 == 0
                box = (c.cx, c.cy, c.length, c.width, c.heading_cw_from_up_deg)
                rows.writerow((name, *box, -1, "test_seen" if seen else split))
    return path


def rows_of(data: Path, split: str) -> int:
    lines = (data / "cars.csv").read_text().splitlines()
    return sum(line.endswith(f",{split}") for line in lines)


def test_only_test_rows_of_a_folder_are_scored(data, monkeypatch):
    monkeypatch.setattr(finder_scores, "DRAWN", 1)
    found = drain(iter_finder_scores(data))
    assert found["matching"]["distance_in_lengths"] == 0.4
    assert set(found["rows"]) == {
        "test_frames",
        "test_frames_length_found_out",
        "sample_scene",
        "sample_scene_length_found_out",
        "left_out_styles",
    }
    row = found["rows"]["test_frames"]
    assert row["cars"] == rows_of(data, "test") > 0
    assert row["car_length_px"] == pytest.approx(30, abs=2)
    assert 0 < row["not_counted"] <= rows_of(data, "test_seen")
    assert row["matched"] == round(row["recall"] * row["cars"]) > 0
    assert row["found"] >= row["matched"] == row["heading"]["cars"]
    assert found["rows"]["test_frames_length_found_out"]["car_length_px"] is None
    assert found["rows"]["sample_scene"]["f1"] > 0.8


def test_scores_of_headings_and_finder_are_printed_and_written(
    data, tmp_path, monkeypatch
):
    monkeypatch.setattr(finder_scores, "DRAWN", 1)
    monkeypatch.setattr("roteq_core.reproduce.ship_cars.DRAWN_CHECKS", 12)
    words = ["reproduce", "cars", "--data", str(data), "--scores", "-o", str(tmp_path)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    kept = json.loads((tmp_path / "scores.json").read_text())
    row = kept["finder"]["rows"]["test_frames"]
    (line,) = (x for x in result.output.splitlines() if x.startswith("test frames  "))
    figures = line.removeprefix("test frames").split()
    assert figures[:3] == [str(row[k]) for k in ("cars", "found", "matched")]
    assert figures[3:6] == [f"{row[k]:.3f}" for k in ("precision", "recall", "f1")]
    assert figures[6] == f"{row['heading']['mean_deg']:.1f}°"
    assert "within 0.4 of that car's length" in result.output
    assert kept["headings"]["test_turn_0"]["cars"] == row["cars"]
    assert "test_turn_0" in result.output


def test_the_comparison_with_the_paper_has_the_finder_too(data, tmp_path, monkeypatch):
    monkeypatch.setattr(finder_scores, "DRAWN", 1)
    words = ["reproduce", "cars", "--data", str(data), "--no-train", "-o", tmp_path]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    kept = json.loads((tmp_path / "cars.json").read_text())
    assert kept["finder"]["rows"]["test_frames"]["cars"] == kept["test_cars"]
    assert "cars found by car-finder" in result.output
