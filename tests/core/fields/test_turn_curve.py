from __future__ import annotations

import pytest

from roteq_core.fields.turn_curve import TurnCurve


def test_lines_are_in_order_of_the_angle():
    curve = TurnCurve("change")
    curve.add(90, {"ours": 1.0, "plain": 3.0})
    curve.add(0, {"ours": 0.0, "plain": 0.0})
    angles, lines = curve.lines()
    assert list(angles) == [0, 90]
    assert list(lines["plain"]) == [0, 3]


def test_summary_leaves_out_the_upright_image():
    curve = TurnCurve("change")
    for angle, change in ((0, 0.0), (120, 1.0), (240, 2.0), (360, 0.0)):
        curve.add(angle, {"ours": change})
    assert curve.summary() == "ours 1.5"
    assert TurnCurve().summary() == ""


def test_reading_between_pixels_is_told_beside_the_change():
    curve = TurnCurve("change")
    curve.add(90, {"ours": 1.0, "plain": 3.0}, {"ours": 0.0})
    curve.add(45, {"ours": 2.0, "plain": 5.0}, {"ours": 0.5})
    angles, lines = curve.reading_lines()
    assert list(angles) == [45, 90]
    assert {name: list(line) for name, line in lines.items()} == {"ours": [0.5, 0.0]}
    assert curve.summary() == "ours 1.5 (reading 0.25), plain 4"
    with pytest.raises(ValueError, match=r"reading must be of \['ours'\], got \[\]"):
        curve.add(180, {"ours": 1.0, "plain": 3.0})


def test_models_stay_the_same():
    curve = TurnCurve("change")
    curve.add(0, {"ours": 0.0})
    with pytest.raises(ValueError, match=r"must be \['ours'\], got \['theirs'\]"):
        curve.add(90, {"theirs": 0.0})
