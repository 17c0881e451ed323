"""Rows to choose images and what belongs to each: labels or boxes of cars."""

from __future__ import annotations

from typing import Any

from napari.layers import Layer
from qtpy.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from napari_roteq._layers import METADATA
from napari_roteq._parts.layer_choice import Accept, LayerChoice, is_source_image


class PairRows(QWidget):
    """One row or more, each an image and the layer that belongs to it.

    Parameters
    ----------
    viewer : Viewer
    accept : callable
        Says of a layer whether it is offered beside an image.
    what : str
        What the second layer is, for tips.
    nothing : str
        What to show while there is none.
    """

    def __init__(self, viewer: Any, accept: Accept, what: str, nothing: str) -> None:
        super().__init__()
        self._viewer, self._accept = viewer, accept
        self._what, self._nothing = what, nothing
        self._rows: list[tuple[QWidget, LayerChoice, LayerChoice]] = []
        self.more = QPushButton("Add another image")
        self.more.setToolTip(f"Learn from several images, each with its {what}")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.addWidget(self.more)
        self.more.clicked.connect(self.add_row)
        self.add_row()

    def pairs(self) -> list[tuple[Layer | None, Layer | None]]:
        """Give the chosen layers, row by row."""
        return [(image.layer(), other.layer()) for _, image, other in self._rows]

    def set_pair(self, row: int, image: Layer, other: Layer) -> None:
        """Choose the layers of a row."""
        self._rows[row][1].set_layer(image)
        self._rows[row][2].set_layer(other)

    def add_row(self) -> None:
        """Offer one more pair."""
        image = LayerChoice(self._viewer, is_source_image, nothing="open an image")
        other = LayerChoice(
            self._viewer, self._accept, prefer=_not_ours, nothing=self._nothing
        )
        image.setToolTip("The image to learn from")
        other.setToolTip(f"Its {self._what}")
        line = QWidget()
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(image, stretch=1)
        row.addWidget(QLabel("with"))
        row.addWidget(other, stretch=1)
        entry = (line, image, other)
        if self._rows:  # the first one stays
            less = QPushButton("✕")
            less.setToolTip("Leave this image out")
            less.setMaximumWidth(less.sizeHint().height())
            less.clicked.connect(lambda: self._remove(entry))
            row.addWidget(less)
        self._rows.append(entry)
        self._layout.insertWidget(len(self._rows) - 1, line)

    def _remove(self, entry: tuple[QWidget, LayerChoice, LayerChoice]) -> None:
        self._rows.remove(entry)
        entry[0].deleteLater()


def _not_ours(layer: Layer) -> float:
    """Prefer layers of the user, the one on top first, and painted ones by name."""
    name = layer.name.lower()
    is_painted = any(word in name for word in ("scribble", "paint", "label"))
    return (METADATA not in layer.metadata) + 0.5 * is_painted
