"""Connect a widget to the viewer or the session for as long as it lives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qtpy.QtCore import QObject


def connect_while_alive(owner: QObject, signal: Any, slot: Callable[..., Any]) -> None:
    """Connect a napari event or a psygnal signal until `owner` is destroyed.

    Both outlive a dock widget: Python may keep the widget's shell after Qt has deleted
    what is inside, and a call into that shell would be an error.
    """
    signal.connect(slot)

    def disconnect() -> None:
        try:
            signal.disconnect(slot)
        except (ValueError, TypeError):
            return  # it is gone already

    owner.destroyed.connect(disconnect)
