"""Tell which way the cars of an aerial image point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from napari.utils.notifications import show_info
from qtpy.QtWidgets import QFileDialog, QVBoxLayout

from napari_roteq._car_export import FORMATS, save_cars
from napari_roteq._car_shapes import TABLE, cars_in_shapes
from napari_roteq._errors import JobError, explain_exception
from napari_roteq._headings.cars import (
    ARROWS,
    BOXES,
    car_layers,
    cars_of_file,
    cars_of_layer,
    colors_of,
    index_in_view,
    read_plane,
    with_sizes,
)
from napari_roteq._headings.form import HeadingForm
from napari_roteq._headings.links import CarLinks
from napari_roteq._headings.recipe import find_recipe, orient_recipe
from napari_roteq._images import Index, planes_of
from napari_roteq._jobs import run, run_in_thread
from napari_roteq._layers import find_layer, tag, update_or_add
from napari_roteq._parts.copy_buttons import CopyButtons
from napari_roteq._parts.dock_widget import JobWidget, warm_up
from napari_roteq._parts.job_bar import leave_to_the_bar
from napari_roteq._parts.model_choice import no_model
from napari_roteq._recipes import Recipe
from napari_roteq._session import ModelChoice, Session
from roteq_core.config import OrientOptions
from roteq_core.jobs import Report
from roteq_core.tables import CarTable


@dataclass(frozen=True)
class _Run:
    """What one press of the button does."""

    image: Any
    index: Index
    job: str
    args: tuple[Any, ...]
    options: OrientOptions
    recipe: Recipe


class HeadingWidget(JobWidget):
    """Give every car of an image its heading, with an error bar. See `JobWidget`."""

    def __init__(self, napari_viewer: Any, *, session: Session | None = None) -> None:
        super().__init__(napari_viewer, session=session)
        self._run: _Run | None = None
        self._cars = CarTable()
        self._form = HeadingForm(napari_viewer, self._session)
        self._bar = self._form.bar
        self._links = CarLinks(napari_viewer, self._form.table)
        self._copy = CopyButtons(self._recipe)
        layout = QVBoxLayout(self)
        layout.addWidget(self._form)
        layout.addWidget(self._copy)
        self._connect()
        warm_up()

    def _connect(self) -> None:
        form = self._form
        form.start.clicked.connect(self._on_start)
        form.model.failed.connect(self._bar.show_error)
        form.finder.failed.connect(self._bar.show_error)
        form.color_by.currentIndexChanged.connect(self._on_color)
        form.rose.petal_clicked.connect(self._links.choose_between)
        self._links.changed.connect(self._on_boxes_changed)
        form.export.clicked.connect(self._on_export)
        form.review.clicked.connect(self.review)
        self._copy.failed.connect(self._bar.show_error)
        self._bar.running_changed.connect(lambda on: form.start.setEnabled(not on))

    def value(self) -> OrientOptions:
        """Give the options as chosen."""
        return self._form.value()

    def set_value(self, options: OrientOptions) -> None:
        """Show other options."""
        self._form.set_value(options)

    def start(self) -> None:
        """Do what the button does."""
        self._form.start.click()

    @property
    def cars(self) -> CarTable:
        """The cars of the last run, with what was changed by hand since."""
        boxes = self._layer(BOXES)
        if boxes is None:
            return self._cars
        known = boxes.metadata.get(TABLE, self._cars)  # a review may have changed it
        return cars_in_shapes(boxes.data, dict(boxes.features), known)

    def _on_start(self) -> None:
        try:
            planned = self._plan()
        except (JobError, ValueError, OSError) as error:
            self._bar.show_error(explain_exception(error))
            return
        self._run = planned
        self._session.log(planned.recipe)
        reading = run_in_thread(
            read_plane,
            planned.image,
            planned.index,
            on_result=lambda pixels: self._compute(planned, pixels),
            on_error=leave_to_the_bar,
            title="Reading the image",
        )
        self._bar.watch(reading)

    def _plan(self) -> _Run:
        """Say what to do with what was chosen; errors name what is missing."""
        form = self._form
        image, model = form.image.layer(), form.model.model()
        if image is None:
            raise JobError("There is no image: open one with File ▸ Open.")
        if model is None:
            raise no_model("cars")
        index, options = index_in_view(self._viewer, image), form.value()
        if form.origin() == "find":
            return self._plan_finding(image, index, options, model)
        cars, known = self._known_cars(image, index)
        if not len(cars):
            raise JobError(
                "There are no cars in the image: choose another layer or file, or "
                "“Find cars”."
            )
        recipe = orient_recipe(image, known, options, model)
        job = "roteq_core.serving.cars:iter_orient_cars"
        return _Run(image, index, job, (cars, options), options, recipe)

    def _plan_finding(
        self, image: Any, index: Index, options: OrientOptions, model: ModelChoice
    ) -> _Run:
        if self._form.finder.model() is None:
            raise no_model("finding cars")
        finding = self._form.finding()
        recipe = find_recipe(image, finding, options, model)
        job = "roteq_core.serving.cars:iter_find_and_orient"
        return _Run(image, index, job, (finding, options), options, recipe)

    def _known_cars(self, image: Any, index: Index) -> tuple[CarTable, CarTable | str]:
        """Give the cars of the chosen layer or file, and how a recipe names them."""
        if self._form.origin() == "file":
            path = self._form.file.text().strip()
            if not path:
                raise JobError("There is no table of cars yet: choose a file.")
            return cars_of_file(path, image), path
        layer = self._form.cars.layer()
        if layer is None:
            raise JobError(
                "There are no cars yet: add a Points layer with a point on each, or "
                "choose “Find cars”."
            )
        cars = cars_of_layer(layer, image, index)
        return cars, cars

    def _compute(self, planned: _Run, pixels: np.ndarray) -> None:
        self._bar.watch_next(
            run(
                planned.job,
                pixels,
                *planned.args,
                on_report=lambda report: self._on_report(planned, report),
                on_result=lambda table: self._show(planned, table),
                on_error=leave_to_the_bar,
                title="Finding headings",
            )
        )

    def _on_report(self, planned: _Run, report: Report) -> None:
        if "table" in report.values:
            self._show(planned, report.values["table"])

    def _show(self, planned: _Run, table: CarTable) -> None:
        """Show cars as layers, rows and a rose."""
        if planned.image not in self._viewer.layers:
            return  # removed in the meantime
        self._cars = with_sizes(table, planned.options.car_length_px)
        color_by = self._form.color_by.currentData()
        self._links.unlink()
        for layer_data in car_layers(
            planned.image, planned.index, self._cars, planned.recipe, color_by
        ):
            update_or_add(self._viewer, layer_data)
        self._on_color()
        self._list(planned)

    def _list(self, planned: _Run) -> None:
        """Show the cars as rows and a rose, linked to their boxes."""
        self._cars = self.cars
        self._form.show_cars(self._cars)
        self._links.link(self._layer(BOXES), planned.image, planned.index, self._cars)

    def _on_boxes_changed(self) -> None:
        """A review, or somebody by hand, has changed the boxes: show it everywhere."""
        planned, arrows = self._run, self._layer(ARROWS)
        if planned is None or self._layer(BOXES) is None:
            return
        try:
            self._list(planned)
        except ValueError:  # a shape that is no box, or not yet
            return
        if arrows is not None:
            color_by = self._form.color_by.currentData()
            drawn, _ = car_layers(
                planned.image, planned.index, self._cars, planned.recipe, color_by
            )
            update_or_add(self._viewer, drawn)

    def _layer(self, role: str) -> Any:
        if self._run is None:
            return None
        (about,) = tag(role, self._run.image, {}).values()
        return find_layer(self._viewer, about["key"])

    def _on_color(self) -> None:
        colors = colors_of(self._form.color_by.currentData())
        for layer in filter(None, map(self._layer, (BOXES, ARROWS))):
            if len(layer.data):
                for name, value in colors.items():
                    setattr(layer, name, value)
                layer.refresh_colors()  # Shapes do not look at a new map by themselves
                layer.refresh()  # nor do Vectors draw it

    def _on_export(self) -> None:
        path, chosen = QFileDialog.getSaveFileName(
            self, "Export cars", "cars.csv", ";;".join(FORMATS)
        )
        if path:
            self.export(path, chosen)

    def export(self, path: str, chosen: str = "") -> None:
        """Save the cars.

        Parameters
        ----------
        path : str
            Where; the ending of the format is added if there is none.
        chosen : str
            The format as the file dialog names it; found from the ending by default.
        """
        size = None if self._run is None else planes_of(self._run.image).shape[-2:]
        try:
            file = save_cars(self.cars, path, chosen, size)
        except (ValueError, OSError) as error:
            self._bar.show_error(explain_exception(error))
            return
        show_info(f"Saved {len(self.cars)} cars as {file.name}.")

    def review(self) -> Any:
        """Open the review of these cars, and give its widget."""
        boxes, planned = self._layer(BOXES), self._run
        if boxes is None or planned is None:
            return None
        window = self._viewer.window
        _, widget = window.add_plugin_dock_widget("napari-roteq", "Review headings")
        widget.choose(boxes, planned.image)
        return widget

    def _recipe(self) -> Recipe | None:
        return None if self._run is None else self._run.recipe
