"""Headings as people type them (no Qt)."""

from __future__ import annotations

import re

DECIMALS = 1
_NUMBER = re.compile(r"[+-]?(\d{1,15}([.,]\d*)?|[.,]\d+)", re.ASCII)


def read_heading(text: str) -> float:
    """Read a heading in degrees, from 0 up to 360, rounded as it is shown.

    Parameters
    ----------
    text : str
        With a point or a comma, whatever the language of the computer; any number of
        turns.
    """
    typed = text.strip().removesuffix("°").strip()
    if not _NUMBER.fullmatch(typed):
        raise ValueError(
            f"a heading must be a number of degrees such as 12.5, got {typed!r}"
        )
    degrees = float(typed.replace(",", "."))
    return round(degrees % 360.0, DECIMALS) % 360.0
