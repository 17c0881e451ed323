"""A box to choose one of the viewer's layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from napari.layers import Image, Labels, Layer
from qtpy.QtCore import Qt, Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import QComboBox

from napari_roteq._layers import METADATA
from napari_roteq._parts.connections import connect_while_alive

Accept = Callable[[Layer], bool]


def is_source_image(layer: Layer) -> bool:
    """Whether a layer is an image that was not made by this plugin."""
    return type(layer) is Image and METADATA not in layer.metadata


def is_map(layer: Layer) -> bool:
    """Whether a layer holds values for pixels: an image or labels."""
    return isinstance(layer, Image | Labels)


class LayerChoice(QComboBox):
    """Choose a layer; the list follows the viewer.

    Parameters
    ----------
    viewer : Viewer
        Whose layers.
    accept : callable
        Says of a layer whether it is offered.
    prefer : callable, optional
        Says of a layer how good a first choice it is; otherwise the selected layer is
        the first choice, then the topmost.
    nothing : str
        What to show when there is no such layer.
    """

    layer_changed = Signal(object)  # Layer or None

    def __init__(
        self,
        viewer: Any,
        accept: Accept,
        *,
        prefer: Callable[[Layer], float] | None = None,
        nothing: str = "no such layer",
    ) -> None:
        super().__init__()
        self._prefer = prefer
        self._viewer = viewer
        self._accept = accept
        self._is_untouched = True  # nobody has chosen yet
        self._offered: list[Layer] = []
        self._told: Layer | None = None
        self.setPlaceholderText(nothing)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        # A long name must not widen the dock.
        policy = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        self.setSizeAdjustPolicy(policy)
        self.setMinimumContentsLength(10)
        for event in ("inserted", "removed", "reordered", "renamed"):
            emitter = getattr(viewer.layers.events, event)
            connect_while_alive(self, emitter, self._on_layers_changed)
        self.currentIndexChanged.connect(self._on_index_changed)
        self.activated.connect(self._on_activated)
        self._on_layers_changed()

    def layer(self) -> Layer | None:
        """Give the chosen layer."""
        index = self.currentIndex()
        return self._offered[index] if 0 <= index < len(self._offered) else None

    def set_layer(self, layer: Layer | None) -> None:
        """Choose a layer; None or one that is not offered chooses nothing."""
        self._is_untouched = False
        self._point_at(layer)

    def _point_at(self, layer: Layer | None) -> None:
        place = self._offered.index(layer) if layer in self._offered else -1
        self.setCurrentIndex(place)

    def wheelEvent(self, event: Any) -> None:
        """Let the wheel scroll the panel instead of changing the choice."""
        event.ignore()

    def _on_layers_changed(self, event: Any = None) -> None:
        chosen = self.layer()
        self._offered = [each for each in self._viewer.layers if self._accept(each)]
        was_blocked = self.blockSignals(True)
        self.clear()
        self.addItems([layer.name for layer in self._offered])
        is_kept = chosen in self._offered and not self._may_improve()
        self._point_at(chosen if is_kept else self._first_choice())
        self.blockSignals(was_blocked)
        self._on_index_changed()

    def _may_improve(self) -> bool:
        return self._is_untouched and self._prefer is not None

    def _first_choice(self) -> Layer | None:
        if self._prefer is not None:
            return max(reversed(self._offered), key=self._prefer, default=None)
        active = self._viewer.layers.selection.active
        if active in self._offered:
            return active
        return self._offered[-1] if self._offered else None

    def _on_activated(self) -> None:
        self._is_untouched = False

    def _on_index_changed(self) -> None:
        layer = self.layer()
        if layer is not self._told:
            self._told = layer
            self.layer_changed.emit(layer)
