"""The rows of a form that say what to compute on: image, level, part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qtpy.QtCore import QObject, Qt, Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import QComboBox, QFormLayout

from napari_roteq._images import level_names
from napari_roteq._parts.layer_choice import LayerChoice, is_source_image
from napari_roteq._segment.source import Part


class SourceRows(QObject):
    """An image layer, the level of a multiscale one, and how much of it.

    Parameters
    ----------
    viewer : Viewer
        Where the layers are.
    rows : QFormLayout
        Gets the rows.
    stack_parts, image_parts : mapping of str to Part
        What is offered for stacks, and for single images.
    """

    image_changed = Signal(object)  # Layer or None
    level_changed = Signal()  # also with another image

    def __init__(
        self,
        viewer: Any,
        rows: QFormLayout,
        *,
        stack_parts: Mapping[str, Part],
        image_parts: Mapping[str, Part],
    ) -> None:
        super().__init__()
        self.image = LayerChoice(viewer, is_source_image, nothing="open an image first")
        self.level_box, self.part_box = QComboBox(), QComboBox()
        self._rows = rows
        self._parts = {True: stack_parts, False: image_parts}
        rows.setContentsMargins(0, 0, 0, 0)
        rows.addRow("Image", self.image)
        rows.addRow("Level", self.level_box)
        rows.addRow("Part", self.part_box)
        for box in (self.level_box, self.part_box):
            box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.level_box.setToolTip("Level of a multiscale image, by rows × columns")
        self.image.layer_changed.connect(self._on_image)
        self.level_box.currentIndexChanged.connect(self.level_changed)

    @property
    def is_stack(self) -> bool:
        """Whether the image has several planes."""
        image = self.image.layer()
        return image is not None and image.ndim > 2

    def part(self) -> Part:
        """Give how much of the image to compute."""
        chosen: Part = self.part_box.currentData()
        return chosen

    def set_part(self, part: Part) -> None:
        """Choose how much of the image to compute."""
        self.part_box.setCurrentIndex(self.part_box.findData(part))

    def level(self) -> int:
        """Give the level of a multiscale image, 0 for others."""
        return max(0, self.level_box.currentIndex())

    def offer(self) -> None:
        """Offer what makes sense for the image."""
        self._on_image(self.image.layer())

    def _on_image(self, image: Any) -> None:
        before = self.part_box.currentData()
        self.part_box.clear()
        for name, part in self._parts[self.is_stack].items():
            self.part_box.addItem(name, part)
        self.part_box.setCurrentIndex(max(0, self.part_box.findData(before)))
        has_levels = image is not None and image.multiscale
        self.level_box.clear()
        self.level_box.addItems(level_names(image) if has_levels else [])
        self._rows.setRowVisible(self.level_box, has_levels)
        self.image_changed.emit(image)
        self.level_changed.emit()
