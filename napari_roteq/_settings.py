"""What the user chose in napari's preferences, or the defaults (no Qt).

The manifest's `configurations` offer the same names in the same groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import napari.settings


def _setting(default: Any, group: str) -> Any:
    return field(default=default, metadata={"group": group})


@dataclass(frozen=True)
class Settings:
    """The preferences of this plugin.

    Parameters
    ----------
    device : str
        "auto", "cpu", "cuda" or "mps".
    tile : int
        Side of the tiles of a prediction in pixels; 0 lets the core choose.
    warm_up : bool
        Whether opening a widget starts the compute process.
    vectors : int
        The most vectors to draw at once.
    """

    device: str = _setting("auto", "compute")
    tile: int = _setting(0, "compute")
    warm_up: bool = _setting(True, "compute")
    vectors: int = _setting(10_000, "display")


def read_settings() -> Settings:
    """Give the present preferences."""
    groups = _groups()
    chosen: dict[str, Any] = {}
    for each in fields(Settings):
        group = getattr(groups, each.metadata["group"], None)
        chosen[each.name] = getattr(group, each.name, each.default)
    return Settings(**chosen)


def _groups() -> Any:
    """Give napari's settings of this plugin; None where napari keeps none."""
    if not hasattr(napari.settings, "get_plugin_settings"):  # napari < 0.9
        return None
    try:
        return napari.settings.get_plugin_settings("napari-roteq")
    except KeyError:
        return None
