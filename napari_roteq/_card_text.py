"""A model's card as text for people (no Qt)."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

_NICE_NAMES = {
    "v_rand": "V-Rand",
    "v_info": "V-Info",
    "direction_deg": "direction error (°)",
    "mean_deg": "mean error (°)",
    "median_deg": "median error (°)",
}


def card_rows(
    card: Mapping[str, Any], details: Mapping[str, Any] | None = None
) -> list[tuple[str, str]]:
    """Give what a card says, as rows of name and text; empty entries are left out.

    Parameters
    ----------
    card : mapping
        As `ModelCard` has it.
    details : mapping, optional
        What `roteq_core.serving.membranes.describe_model` found out.
    """
    networks = card.get("networks") or []
    rows = [
        ("For", card.get("task", "")),
        ("Network", "; ".join(_network(each) for each in networks)),
        ("Weights", f"{card['parameters']:,}" if card.get("parameters") else ""),
        ("Looks at", _reach(details)),
        ("Pixel size", _size(card)),
        ("Scores", _scores(card.get("scores") or {})),
        ("Trained on", card.get("data", "")),
        ("Terms", card.get("terms", "")),
        ("Limits", card.get("limits", "")),
        ("Angles", card.get("angles", "")),
        ("Training", _scores(card.get("training") or {})),
        ("Version", card.get("version", "")),
        ("File", "self-test passed" if details else ""),
    ]
    return [(name, str(text)) for name, text in rows if text]


def card_html(rows: list[tuple[str, str]], summary: str) -> str:
    """Give rows as a table that a Qt label shows; colors are the theme's."""
    lines = [
        f"<tr><td style='padding-right: 8px'><b>{html.escape(name)}</b></td>"
        f"<td>{html.escape(text)}</td></tr>"
        for name, text in rows
    ]
    return f"<p>{html.escape(summary)}</p><table>{''.join(lines)}</table>"


def _network(config: Mapping[str, Any]) -> str:
    turning = config.get("turning") or {}
    parts = [
        str(config.get("kind", "")),
        f"N {config['width']}" if "width" in config else "",
        f"{turning['orientations']} orientations" if "orientations" in turning else "",
        f"filters {config['kernel_size']} × {config['kernel_size']}"
        if "kernel_size" in config
        else "",
    ]
    return ", ".join(part for part in parts if part)


def _reach(details: Mapping[str, Any] | None) -> str:
    if not details or not details.get("reach"):
        return ""
    side = 2 * details["reach"] + 1
    return f"{side} × {side} pixels around each pixel (receptive field)"


def _size(card: Mapping[str, Any]) -> str:
    size = card.get("pixel_size")
    return "" if size is None else f"{size:g} {card.get('pixel_unit', '')}".strip()


def _scores(scores: Mapping[str, Any]) -> str:
    """Name the plain values; what is nested is for the file's JSON."""
    return ", ".join(
        f"{_NICE_NAMES.get(name, name.replace('_', ' '))} {_short(value)}"
        for name, value in scores.items()
        if isinstance(value, str | int | float)
    )


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
