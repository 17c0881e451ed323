"""Readings of a car: at which angles, and brought back from them."""

from __future__ import annotations

import pytest
import torch

from roteq_core.cars.readings import reading_turns, turned_back
from roteq_core.tasks import headings


def test_copies_are_read_at_angles_that_differ_within_a_quarter_turn():
    turns = [shift % (headings.BINS // 4) for shift, _ in reading_turns(8)]
    assert len(set(turns)) == 8
    with pytest.raises(ValueError, match="at least 1, got 0"):
        reading_turns(0)


@pytest.mark.parametrize("mirrored", [False, True])
def test_densities_are_turned_back_to_the_frame_they_were_read_from(mirrored):
    true, shift = 50, 17
    seen = 72 - (true - shift) if mirrored else true - shift
    log_p = torch.zeros(1, 144)
    log_p[0, seen % 144] = 1
    assert turned_back(log_p, shift, mirrored).argmax() == true
