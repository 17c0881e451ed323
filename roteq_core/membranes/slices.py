"""Which slices of a stack: read from text, and held out for validation. No torch."""

from __future__ import annotations

import re
from collections.abc import Sequence


def parse_slices(text: str, count: int) -> range:
    """Read "24-29" or "5" as slices of a stack of `count`, counted from 0."""
    found = re.fullmatch(r"\s*(\d+)(?:\s*-\s*(\d+))?\s*", text)
    if found is None:
        raise ValueError(f"slices must look like 24-29 or 5, got {text!r}")
    start, stop = int(found[1]), int(found[2] or found[1]) + 1
    if not 0 <= start < stop <= count:
        raise ValueError(f"slices must lie in 0…{count - 1}, got {text!r}")
    return range(start, stop)


def held_out_slices(
    text: str, count: int, labelled: Sequence[int] | None = None
) -> range:
    """Choose the slices to validate on, one block at the end or as told.

    Parameters
    ----------
    text : str
        "auto" for the last fifth, "none", or slices such as "24-29".
    count : int
        Slices of the stack.
    labelled : sequence of int, optional
        Those that carry labels, ascending; all if not given. A single one is trained
        on and never held out.
    """
    known = range(count) if labelled is None else labelled
    if text == "none" or (text == "auto" and len(known) < 2):
        return range(0)
    if text == "auto":
        return range(known[-max(1, len(known) // 5)], known[-1] + 1)
    held = parse_slices(text, count)
    if all(z in held for z in known):
        raise ValueError(
            f"no slice is left to train on: {text} is all {len(known)} with labels"
        )
    if not any(z in held for z in known):
        raise ValueError(
            f"the held-out slices {text} carry no label: choose some of "
            f"{known[0]}…{known[-1]} with --held-out"
        )
    return held
