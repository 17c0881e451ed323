"""Fetch the filters of the chosen layer, show them, and lay them beside the image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from napari_roteq._errors import JobError
from napari_roteq._field.filter_layer import filter_layer
from napari_roteq._field.form import FieldForm
from napari_roteq._jobs import run
from napari_roteq._layers import update_or_add
from napari_roteq._parts.job_bar import leave_to_the_bar
from roteq_core.config import FieldOptions
from roteq_core.fields.filter_sheet import filter_sheet
from roteq_core.fields.layers import FieldLayer


class FieldFilters:
    """The filters of the layer that a form names.

    Parameters
    ----------
    form : FieldForm
        Says which layer, shows its filters and the progress.
    """

    def __init__(self, form: FieldForm) -> None:
        self._form = form
        self._known: tuple[FieldOptions, FieldLayer, np.ndarray] | None = None

    @property
    def is_current(self) -> bool:
        """Whether the filters of the chosen layer are known."""
        return self._known is not None and self._known[0] == self._form.value()

    def fetch(self, on_finished: Callable[[], Any]) -> None:
        """Ask the compute process for the filters."""
        layer, options = self._form.layer(), self._form.value()
        if layer is None:
            return

        def keep(turned: np.ndarray) -> None:
            self._known = options, layer, turned
            self.show()

        self._form.bar.watch(
            run(
                "roteq_core.fields.compute:turned_filters",
                options,
                on_result=keep,
                on_error=leave_to_the_bar,
                on_finished=on_finished,
                title="Reading the filters",
            )
        )

    def show(self) -> None:
        """Show all filters of a layer that sees images, else the chosen one."""
        if self._known is None or not self.is_current:
            self._form.pages.show_filters(None)
            return
        _, layer, turned = self._known
        only = self._form.filter() if layer.parts == 2 else None
        self._form.pages.show_filters(filter_sheet(turned, only))

    def add_to(self, viewer: Any) -> None:
        """Lay all filters beside the image, and show both."""
        image, model = self._form.image.layer(), self._form.model.model()
        if self._known is None:
            return
        if image is None or model is None:
            raise JobError("There is no image to lay the filters beside: open one.")
        options, _, turned = self._known
        sheet = filter_sheet(turned)
        update_or_add(viewer, filter_layer(image, sheet, options, model))
        viewer.reset_view()
