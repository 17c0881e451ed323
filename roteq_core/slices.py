"""Which slices of a stack: read from text, and held out for validation. No torch."""

from __future__ import annotations

import re


def parse_slices(text: str, count: int) -> range:
    """Read "24-29" or "5" as slices of a stack of `count`, counted from 0."""
    found = re.fullmatch(r"\s*(\d+)(?:\s*-\s*(\d+))?\s*", text)
    if found is None:
        raise ValueError(f"slices must look like 24-29 or 5, got {text!r}")
    start, stop = int(found[1]), int(found[2] or found[1]) + 1
    if not 0 <= start < stop <= count:
        raise ValueError(f"slices must lie in 0…{count - 1}, got {text!r}")
    return range(start, stop)


def held_out_slices(text: str, count: int) -> range:
    """Choose the slices to validate on, one block at the end or as told.

    Parameters
    ----------
    text : str
        "auto" for the last fifth, "none", or slices such as "24-29".
    count : int
        Slices of the stack. A single one is trained on and never held out.
    """
    if text == "none" or (text == "auto" and count == 1):
        return range(0)
    if text == "auto":
        return range(count - max(1, count // 5), count)
    held = parse_slices(text, count)
    if len(held) == count:
        raise ValueError(f"no slice is left to train on: {text} is all {count} slices")
    return held
