"""Run "Turn the image": read what is in view, turn it, and follow the curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from napari_roteq._field.source import reader
from napari_roteq._field.turn import Crop, crop_in_view, turn_recipe
from napari_roteq._jobs import run, run_in_thread
from napari_roteq._parts.job_bar import JobBar, leave_to_the_bar
from napari_roteq._recipes import Recipe
from napari_roteq._segment.source import path_of
from napari_roteq._session import ModelChoice
from roteq_core.config import FieldOptions
from roteq_core.fields.turn_curve import TurnCurve
from roteq_core.jobs import Report

_CAR_LENGTH = 36.0  # pixels, of cars of which nothing is known; as in the core


class Turning:
    """Turn the crop in view and show how the answer changes.

    Parameters
    ----------
    bar : JobBar
        Shows the progress.
    show : callable
        Gets the curve after each angle.
    """

    def __init__(self, bar: JobBar, show: Callable[[TurnCurve], Any]) -> None:
        self._bar = bar
        self._show = show
        self.curve = TurnCurve()

    def start(
        self,
        viewer: Any,
        image: Any,
        level: int,
        options: FieldOptions,
        model: ModelChoice,
    ) -> Recipe:
        """Begin; what was running is stopped. Gives the recipe of the curve."""
        is_cars = model.card.get("task") == "cars"
        usual = options.car_length_px or _CAR_LENGTH
        crop = crop_in_view(viewer, image, level, car_length=usual if is_cars else None)
        curve = self.curve = TurnCurve()
        self._show(curve)
        self._bar.watch(
            run_in_thread(
                reader(crop.source, model, inverted=options.inverted),
                crop.index,
                on_result=lambda given: self._compute(given, crop, options, curve),
                on_error=leave_to_the_bar,
                title="Reading the image",
            )
        )
        return turn_recipe(path_of(image), crop, options, model)

    def _compute(
        self, given: Any, crop: Crop, options: FieldOptions, curve: TurnCurve
    ) -> None:
        def add(report: Report) -> None:
            if "changes" in report.values:
                curve.quantity = report.values["quantity"]
                values = report.values
                curve.add(values["angle"], values["changes"], values["reading"])
                self._show(curve)

        self._bar.watch_next(
            run(
                "roteq_core.fields.turns:iter_turn_image",
                given,
                options,
                cars=crop.cars,
                on_report=add,
                on_error=leave_to_the_bar,
                title="Turning the image",
            )
        )
