from __future__ import annotations

import pytest

from roteq_core.reproduce.cars_report import (
    detail_lines,
    draw_figures,
    finder_lines,
    table_lines,
)


@pytest.fixture
def result():
    heading = {"low": -22.5, "high": 22.5, "count": 3, "mean": 4.0, "share_flipped": 0}
    row = {
        "mean_deg": 7.0,
        "median_deg": 2.5,
        "share_under_15": 0.9,
        "weights": 9,
        "histogram_5_deg": [130, *[0] * 34, 4],
        "by_heading": [heading],
    }
    sweep = {
        "orientations": 12,
        "mean_deg": 8.5,
        "share_above_150": 0.03,
        "ms_per_car": 2.0,
    }
    return {
        "paper": {"RotEqNet 9k": {"mean_deg": 20.46, "share_above_150": 0.067}},
        "rows": {"ours": row},
        "test_cars": 134,
        "by_turn": {"0": 7.0, "37": 7.25},
        "sweep": [sweep],
    }


def test_the_table_shows_the_paper_beside_us(result):
    lines = table_lines(result)
    assert any("20.46°" in line and "6.7%" in line for line in lines)
    assert any(line.startswith("ours") and "90.0%" in line for line in lines)


def test_errors_are_told_by_size_heading_turn_and_orientations(result):
    text = "\n".join(detail_lines(result))
    assert "0-  5°:  130 cars" in text
    assert "175-180°:    4 cars" in text
    assert "-22.5° to   22.5°:    3 cars, mean 4.00°" in text
    assert "37.0°: 7.25°" in text
    assert "R = 12:   8.50°, 3.0% above 150°, 2.00 ms per car" in text


def test_the_figures_are_drawn(result, tmp_path):
    draw_figures(result, tmp_path / "cars.png")
    assert (tmp_path / "cars.png").read_bytes().startswith(b"\x89PNG")


def test_a_finder_without_finds_has_no_heading_error():
    row = {"cars": 3, "found": 0, "matched": 0, "not_counted": 0, "precision": 0.0}
    row |= {"recall": 0.0, "f1": 0.0, "heading": {"cars": 0}}
    lines = finder_lines(
        {
            "model": "mine",
            "heading_model": "cars",
            "threshold": 0.35,
            "matching": {"rule": "the rule"},
            "rows": {"test_frames": row},
        }
    )
    assert lines[2].split()[-3:] == ["-", "-", "-"]
    assert "the rule" in lines[-1]
