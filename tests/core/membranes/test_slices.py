from __future__ import annotations

import pytest

from roteq_core.membranes.slices import held_out_slices, parse_slices


@pytest.mark.parametrize(
    ("text", "expected"), [("24-29", range(24, 30)), ("5", range(5, 6))]
)
def test_slices_are_read_from_text(text, expected):
    assert parse_slices(text, 30) == expected


@pytest.mark.parametrize("text", ["", "a-b", "24-", "-3", "29-24", "24-30", "1,2"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="slices must"):
        parse_slices(text, 30)


@pytest.mark.parametrize(
    ("text", "count", "expected"),
    [
        ("auto", 30, range(24, 30)),
        ("auto", 3, range(2, 3)),
        ("auto", 1, range(0)),
        ("none", 30, range(0)),
        ("0-4", 30, range(5)),
    ],
)
def test_a_block_is_held_out(text, count, expected):
    assert held_out_slices(text, count) == expected


@pytest.mark.parametrize(
    ("labelled", "expected"),
    [
        (range(10), range(8, 10)),
        ([0, 4, 7], range(7, 8)),
        ([3, 5, 9, 11, 14, 15, 20, 22, 24, 26], range(24, 27)),
        ([5], range(0)),
    ],
)
def test_labelled_slices_are_held_out(labelled, expected):
    assert held_out_slices("auto", 30, labelled) == expected


def test_holding_out_slices_without_a_label_is_refused():
    with pytest.raises(ValueError, match=r"24-29 carry no label: choose some of 0…9"):
        held_out_slices("24-29", 30, range(10))
    with pytest.raises(ValueError, match="no slice is left to train on"):
        held_out_slices("0-9", 30, range(10))


def test_holding_out_everything_is_refused():
    with pytest.raises(ValueError, match="no slice is left to train on"):
        held_out_slices("0-2", 3)
