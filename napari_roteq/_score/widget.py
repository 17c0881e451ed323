"""Score a prediction layer against a truth layer."""

from __future__ import annotations

from typing import Any

from napari.layers import Labels
from napari.utils.notifications import show_info
from qtpy.QtWidgets import QApplication, QVBoxLayout

from napari_roteq._errors import explain_exception
from napari_roteq._images import current_index, planes_of
from napari_roteq._jobs import run, run_in_thread
from napari_roteq._layers import update_or_add
from napari_roteq._parts.dock_widget import JobWidget
from napari_roteq._parts.job_bar import leave_to_the_bar
from napari_roteq._score.form import ScoreForm
from napari_roteq._score.scoring import (
    Pair,
    check_pair,
    iter_read_pair,
    mistake_layers,
    predicted_planes,
    reasons_of,
    score_cars,
    summary_of,
    table_as_csv,
    table_of,
)
from napari_roteq._session import Session
from roteq_core.membranes.mistakes import Mistakes
from roteq_core.metrics import LabelScore, MembraneScore


class ScoreWidget(JobWidget):
    """Compare membranes, cells or boxes of cars with the truth. See `JobWidget`."""

    def __init__(self, napari_viewer: Any, *, session: Session | None = None) -> None:
        super().__init__(napari_viewer, session=session)
        self._pair: Pair | None = None
        self._score: MembraneScore | LabelScore | None = None
        self._layer: Any = None  # the prediction that is scored
        self._form = ScoreForm(napari_viewer)
        self._bar = self._form.bar
        layout = QVBoxLayout(self)
        layout.addWidget(self._form)
        self._form.start.clicked.connect(self._on_start)
        self._form.mistakes.clicked.connect(self._on_mistakes)
        self._form.copy.clicked.connect(self._on_copy)
        self._form.slice_chosen.connect(self._on_slice_chosen)
        self._bar.running_changed.connect(self._on_running)

    def value(self) -> tuple[Any, Any]:
        """Give the two layers: prediction, truth."""
        return self._form.prediction.layer(), self._form.truth.layer()

    def set_value(self, prediction: Any, truth: Any) -> None:
        """Choose the two layers."""
        self._form.prediction.set_layer(prediction)
        self._form.truth.set_layer(truth)

    def start(self) -> None:
        """Do what the Score button does."""
        self._form.start.click()

    def show_mistakes(self) -> None:
        """Do what the button for merges and splits does."""
        self._form.mistakes.click()

    def _on_start(self) -> None:
        prediction, truth = self.value()
        self._forget()
        try:
            check_pair(prediction, truth)
            self._layer = prediction
            if self._form.are_cars():
                self._show_cars(prediction, truth)
            else:
                self._read(prediction, truth)
        except ValueError as error:
            self._bar.show_error(explain_exception(error))

    def _forget(self) -> None:
        """Show nothing of the pair before: its scores are not those of the next."""
        self._layer = self._pair = self._score = None
        self._form.clear()
        self._on_running(False)

    def _show_cars(self, prediction: Any, truth: Any) -> None:
        self._form.show_cars(score_cars(prediction, truth))

    def _read(self, prediction: Any, truth: Any) -> None:
        """Read both layers in a thread, then score them in the compute process."""
        planes = planes_of(prediction)
        indices = predicted_planes(prediction, planes)
        if self._form.only_current():
            indices = [current_index(self._viewer, prediction, planes)]
        self._bar.watch(
            run_in_thread(
                iter_read_pair,
                planes,
                planes_of(truth),
                indices,
                of_labels=isinstance(prediction, Labels),
                on_result=self._on_read,
                on_error=leave_to_the_bar,
                title="Reading",
            )
        )

    def _on_read(self, pair: Pair) -> None:
        name = "score_labels" if pair.is_numbered else "iter_score_stack"
        self._pair = pair
        self._bar.watch_next(
            run(
                f"roteq_core.metrics:{name}",
                pair.prediction,
                pair.truth,
                on_result=self._on_scored,
                on_error=leave_to_the_bar,
                title="Scoring",
            )
        )

    def _on_scored(self, score: MembraneScore | LabelScore) -> None:
        assert self._pair is not None
        self._score = score
        header, rows = table_of(score, self._pair.indices)
        self._form.show_score(summary_of(score), reasons_of(score), header, rows)
        if isinstance(score, MembraneScore):
            self._form.show_sweep(score)

    def _on_mistakes(self) -> None:
        score, pair = self._score, self._pair
        if score is None or pair is None:
            return
        options: dict[str, Any] = {"truth_kind": score.truth_kind.value}
        if isinstance(score, MembraneScore):
            options["threshold"] = self._form.threshold()
            options["inverted"] = score.polarity.value == "cells"
        self._bar.watch(
            run(
                "roteq_core.membranes.mistakes:iter_mistakes",
                pair.prediction,
                pair.truth,
                on_result=lambda mistakes: self._on_found(mistakes, pair),
                on_error=leave_to_the_bar,
                title="Looking for mistakes",
                **options,
            )
        )

    def _on_found(self, mistakes: Mistakes, pair: Pair) -> None:
        for layer_data in mistake_layers(self._layer, mistakes, pair):
            update_or_add(self._viewer, layer_data)
        merges, splits = sum(mistakes.merges), sum(mistakes.splits)
        self._form.show_note(
            f"{merges} merged cells (red), {splits} split cells (blue)"
        )

    def _on_slice_chosen(self, index: Any) -> None:
        """Go to the slice of a row of the table."""
        if self._layer is None or not index:
            return
        point = self._layer.data_to_world((*index, 0, 0))
        first = self._viewer.dims.ndim - self._layer.ndim  # axes the layer lacks
        for axis in range(len(index)):
            self._viewer.dims.set_point(first + axis, point[axis])

    def _on_copy(self) -> None:
        if self._score is None or self._pair is None:
            return
        clipboard = QApplication.clipboard()
        assert clipboard is not None
        clipboard.setText(table_as_csv(*table_of(self._score, self._pair.indices)))
        show_info("The table was copied to the clipboard.")

    def _on_running(self, is_running: bool) -> None:
        self._form.start.setEnabled(not is_running)
        has_score = self._score is not None and not is_running
        self._form.mistakes.setEnabled(has_score)
        self._form.copy.setEnabled(has_score)
