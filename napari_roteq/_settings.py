"""What the user chose in napari's preferences, or the defaults (no Qt).

The manifest's `configurations` offer the same names in the same groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import napari.settings

_unkept: dict[str, Any] = {}


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
    reviewer : str
        Goes into the cars one reviews; empty for the name of the login.
    keys : str
        Keys of the review that differ from ours, as in "flip=G, accept=Enter".
    """

    device: str = _setting("auto", "compute")
    tile: int = _setting(0, "compute")
    warm_up: bool = _setting(True, "compute")
    vectors: int = _setting(10_000, "display")
    reviewer: str = _setting("", "review")
    keys: str = _setting("", "review")


def read_settings() -> Settings:
    """Give the present preferences."""
    groups = _groups()
    chosen: dict[str, Any] = {}
    for each in fields(Settings):
        group = getattr(groups, each.metadata["group"], None)
        default = _unkept.get(each.name, each.default)
        chosen[each.name] = getattr(group, each.name, default)
    return Settings(**chosen)


def write_setting(name: str, value: Any) -> None:
    """Keep a preference; forgotten at the end where napari keeps none."""
    (each,) = (each for each in fields(Settings) if each.name == name)
    group = getattr(_groups(), each.metadata["group"], None)
    if group is None:
        _unkept[name] = value
    else:
        setattr(group, name, value)


def _groups() -> Any:
    """Give napari's settings of this plugin; None where napari keeps none."""
    if not hasattr(napari.settings, "get_plugin_settings"):  # napari < 0.9
        return None
    try:
        return napari.settings.get_plugin_settings("napari-roteq")
    except KeyError:
        return None
