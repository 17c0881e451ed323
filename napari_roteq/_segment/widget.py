"""Segment membranes of an image layer: probability, cells and directions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qtpy.QtWidgets import QVBoxLayout

from napari_roteq._errors import JobError, explain_exception
from napari_roteq._jobs import run_in_thread, run_planes
from napari_roteq._parts.copy_buttons import CopyButtons
from napari_roteq._parts.dock_widget import JobWidget, warm_up
from napari_roteq._parts.job_bar import leave_to_the_bar
from napari_roteq._parts.model_choice import no_model
from napari_roteq._parts.newest import Newest
from napari_roteq._parts.view_follower import ViewFollower
from napari_roteq._recipes import Recipe
from napari_roteq._running import RunningJob, RunningPlanes
from napari_roteq._segment.form import SegmentForm
from napari_roteq._segment.results import Results
from napari_roteq._segment.source import Part, Work, plan_work
from napari_roteq._session import ModelChoice, Session
from napari_roteq._settings import read_settings
from roteq_core.config import SegmentOptions


class SegmentWidget(JobWidget):
    """Segment the membranes of an image layer. See `JobWidget`."""

    def __init__(self, napari_viewer: Any, *, session: Session | None = None) -> None:
        super().__init__(napari_viewer, session=session)
        self._results: Results | None = None
        self._form = SegmentForm(napari_viewer, self._session)
        self._bar = self._form.bar
        self._cutter = Newest(_cut, self)
        self._view = ViewFollower(napari_viewer, self)
        self._copy = CopyButtons(self._recipe)
        layout = QVBoxLayout(self)
        layout.addWidget(self._form)
        layout.addWidget(self._copy)
        layout.addStretch()
        self._connect()
        warm_up()

    def _connect(self) -> None:
        form = self._form
        form.start.clicked.connect(self._on_start)
        form.model.failed.connect(self._bar.show_error)
        form.threshold.valueChanged.connect(self._on_threshold)
        form.threshold_settled.connect(self._settle)
        form.follow.toggled.connect(self._on_stepped)
        self._copy.failed.connect(self._bar.show_error)
        self._bar.running_changed.connect(form.set_running)
        self._cutter.ready.connect(self._on_cut)
        self._view.stepped.connect(self._on_stepped)
        self._view.rested.connect(self._on_rested)

    def value(self) -> SegmentOptions:
        """Give the options as chosen."""
        return self._form.value()

    def set_value(self, options: SegmentOptions) -> None:
        """Show other options."""
        self._form.set_value(options)

    def start(self) -> None:
        """Do what the button does."""
        self._form.start.click()

    def open_model(self, path: str) -> None:
        """Choose a model file."""
        self._form.model.open_file(path)

    @property
    def is_running(self) -> bool:
        """Whether anything is still being computed."""
        return self._bar.is_running or self._cutter.is_busy

    @property
    def results(self) -> Results | None:
        """What the last runs gave."""
        return self._results

    def _on_start(self) -> None:
        self._begin(self._form.part())

    def _begin(self, part: Part) -> None:
        try:
            layer, model = self._form.image.layer(), self._form.model.model()
            if layer is None:
                raise JobError("There is no image: open one with File ▸ Open.")
            if model is None:
                raise no_model("membranes")
            work = plan_work(self._viewer, layer, part, self._form.level())
            self._run(layer, work, self.value(), model)
        except (JobError, ValueError) as error:
            self._bar.show_error(explain_exception(error))

    def _run(
        self, layer: Any, work: Work, options: SegmentOptions, model: ModelChoice
    ) -> None:
        """Predict planes in the compute process and show each as it is ready."""
        results = self._results
        if results is None or not results.fits(layer, work, options, model):
            results = self._results = Results(layer, work, options, model)
        results.go_on(work, options)
        self._session.model = model
        self._session.log(results.recipe)

        def read(index: Any) -> Any:
            return work.source.read_around(index, inverted=options.inverted)

        def put(index: Any, maps: Any) -> None:
            results.put(index, maps, options.threshold)
            self._session.prediction = results
            results.show(self._viewer)
            if index == results.index_in_view(self._viewer):
                results.show_direction(self._viewer, read_settings().vectors)

        job = run_planes(
            "roteq_core.serving.membranes:iter_segment_plane",
            read,
            work.indices,
            options,
            focus=work.focus,
            on_plane=put,
            on_error=leave_to_the_bar,
            title="Segmenting membranes",
        )
        self._watch(job)

    def _watch(self, job: RunningJob) -> None:
        """Show a job in the bar, and see what is left to do when it has ended."""
        self._bar.watch(job)
        job.finished.connect(self._on_job_finished)

    def _on_job_finished(self) -> None:
        job = self._bar.job
        if job is not None and job.error is None and not job.is_stopped:
            self._settle()

    def _settle(self) -> None:
        """Bring the cells up to date once nothing else runs: cut anew, then link."""
        results = self._results
        if results is None or self._bar.is_running:
            return
        threshold = self.value().threshold
        if stale := results.stale(threshold):
            self._recut(results, stale, threshold)
        elif results.can_link and results.work.part == "whole stack":
            job = run_in_thread(
                results.iter_link,
                on_finished=lambda: self._show(results),
                on_error=leave_to_the_bar,
                title="Linking cells",
            )
            self._watch(job)
        else:
            self._on_stepped()

    def _recut(self, results: Results, stale: list[Any], threshold: float) -> None:
        """Cut the cells of planes out of view anew, in the compute process."""

        def put(index: Any, cells: Any) -> None:
            results.put_cells(index, cells, threshold)
            self._show(results)

        job = run_planes(
            "roteq_core.serving.membranes:cut_cells",
            results.read_probability,
            stale,
            threshold,
            focus=results.index_in_view(self._viewer),
            on_plane=put,
            on_error=leave_to_the_bar,
            title="Cutting cells",
        )
        self._watch(job)

    def _on_threshold(self) -> None:
        """Follow the slider in the plane in view."""
        results = self._results
        if results is None or results.cells is None:
            return
        index = results.index_in_view(self._viewer)
        if index in results.done:
            self._cutter.ask(results, index, self.value().threshold)

    def _on_cut(self, asked: tuple[Results, Any, float], cells: Any) -> None:
        results, index, threshold = asked
        results.put_cells(index, cells, threshold)
        self._show(results)

    def _show(self, results: Results) -> None:
        threshold = self.value().threshold
        results.go_on(results.work, replace(results.options, threshold=threshold))
        results.show(self._viewer, add=False)

    def _on_stepped(self) -> None:
        """Another plane is in view: segment it first, or at all."""
        results, job = self._results, self._bar.job
        if results is None or results.is_area:
            return
        index = results.index_in_view(self._viewer)
        if self._bar.is_running:
            if isinstance(job, RunningPlanes):
                job.look_at(index)
        elif self._form.follow.isChecked() and index not in results.done:
            self._begin("current slice")

    def _recipe(self) -> Recipe | None:
        return None if self._results is None else self._results.recipe

    def _on_rested(self) -> None:
        """The view has moved: draw the directions that are in it now."""
        if self._results is not None:
            limit = read_settings().vectors
            self._results.show_direction(self._viewer, limit, add=False)


def _cut(results: Results, index: Any, threshold: float) -> Any:
    return results.cut(index, threshold)
