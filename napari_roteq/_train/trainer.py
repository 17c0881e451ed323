"""Trainings of one viewer, one at a time: begun, resumed, fed, kept or discarded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from qtpy.QtCore import QObject, Signal  # type: ignore[attr-defined]

from napari_roteq._jobs import run, run_in_thread
from napari_roteq._parts.job_bar import JobBar, leave_to_the_bar
from napari_roteq._parts.layer_choice import is_source_image
from napari_roteq._running import RunningJob
from napari_roteq._train.data import TrainingData
from napari_roteq._train.run import TrainRun, open_run
from roteq_core.card_text import CardText
from roteq_core.jobs import Report
from roteq_core.training.request import TrainRequest

_JOBS = "roteq_core.serving.training"


class Trainer(QObject):
    """Run what a training needs, one job after the other, in a job bar.

    Parameters
    ----------
    viewer : Viewer
        Gets what is held out and the predictions.
    bar : JobBar
        Shows the jobs and their errors.
    """

    began = Signal(object)  # a TrainRun, new or opened
    epoch_done = Signal(object)  # the numbers of an epoch, as a dict
    noted = Signal(str)  # something to tell
    model_ready = Signal(str)  # a model file
    saved = Signal(str)  # a model file that the user named
    discarded = Signal()

    def __init__(self, viewer: Any, bar: JobBar) -> None:
        super().__init__(bar)
        self._viewer = viewer
        self._bar = bar
        self._training: RunningJob | None = None
        self._then: RunningJob | None = None  # the job after the running one
        self.run: TrainRun | None = None

    @property
    def is_training(self) -> bool:
        """Whether a model is being trained."""
        return self._training is not None and self._training.is_running

    def read(
        self, reader: Callable[[], TrainingData], then: Callable[[TrainingData], None]
    ) -> None:
        """Read data in a thread, then go on with them."""
        self._watch(
            run_in_thread(
                reader,
                on_result=then,
                on_error=leave_to_the_bar,
                title="Reading the data",
            )
        )

    def try_cost(
        self,
        request: TrainRequest,
        checked_pixels: int,
        then: Callable[[dict[str, Any]], None],
    ) -> None:
        """Try a few steps, to say what a training takes; called from `read`."""
        self._then = run(
            "roteq_core.training.cost:iter_cost",
            request,
            checked_pixels,
            on_result=then,
            on_error=leave_to_the_bar,
            title="Trying a few steps",
        )

    def start(self, planned: TrainRun) -> None:
        """Begin a run; called from `read`."""
        self._train(planned, "iter_run", planned.request, planned.data.items)

    def resume(self, folder: Path) -> None:
        """Go on with the run in a folder."""
        layers = [layer for layer in self._viewer.layers if is_source_image(layer)]
        self._watch(
            run_in_thread(
                open_run,
                folder,
                layers,
                on_result=lambda opened: self._train(opened, "iter_resume"),
                on_error=leave_to_the_bar,
                title="Opening the run",
            )
        )

    def _train(self, planned: TrainRun, job: str, *args: Any) -> None:
        self.run = planned
        self.began.emit(planned)
        self._training = self._then = run(
            f"{_JOBS}:{job}",
            str(planned.folder),
            *args,
            on_report=lambda report: self._on_report(planned, report),
            on_result=self.model_ready.emit,
            on_error=leave_to_the_bar,
            title="Training",
        )

    def update(self, reader: Callable[[], TrainingData]) -> None:
        """Read labels again and send them to the running training."""
        planned, training = self.run, self._training
        if planned is None or training is None:
            return

        def send(data: TrainingData) -> None:
            if not training.is_running:
                self.noted.emit("The training had ended before the labels were read.")
                return
            planned.data = data
            training.send(data.items)
            self.noted.emit("New labels count from the next epoch on.")

        run_in_thread(
            reader,
            on_result=send,
            on_error=lambda error: self.noted.emit(f"⚠ {error.sentence}"),
            title="Reading the labels",
        )

    def discard(self) -> None:
        """End the training and remove its run."""
        if self.run is not None and self.is_training:
            self.run.is_discarded = True
            self._bar.stop()

    def save(self, path: str, card: CardText) -> None:
        """Write the model of the present run to a file, with a card."""
        if self.run is not None:
            self._watch(
                run(
                    f"{_JOBS}:save_model",
                    str(self.run.folder),
                    path,
                    card,
                    on_result=self.saved.emit,
                    on_error=leave_to_the_bar,
                    title="Saving the model",
                )
            )

    def _on_report(self, planned: TrainRun, report: Report) -> None:
        values = report.values
        if "updated" in values:
            self.noted.emit(f"New labels are in use from step {report.done} on.")
        if "is_best" in values:
            numbers = {k: v for k, v in values.items() if isinstance(v, (int, float))}
            self.epoch_done.emit(numbers)
            planned.show_prediction(self._viewer, values)

    def _watch(self, job: RunningJob) -> None:
        """Show a job in the bar, and after it the one that it led to."""
        self._then = None
        self._bar.watch(job)
        job.finished.connect(lambda: self._on_finished(job))

    def _on_finished(self, job: RunningJob) -> None:
        if self._then is not None:
            self._watch(self._then)
        elif job is self._training and self.run is not None:
            self._training = None
            self._end(job, self.run)

    def _end(self, job: RunningJob, ended: TrainRun) -> None:
        """A training is over: keep the best of it, whatever ended it."""
        if ended.is_discarded:
            ended.discard(self._viewer)
            self.run = None
            self._bar.tell("Stopped; the run and its weights are removed.")
            self.discarded.emit()
        elif not ended.is_begun:
            self.noted.emit("Nothing was learnt: no epoch came to its end.")
        elif job.is_stopped or job.error is not None:
            keeping = run(
                f"{_JOBS}:keep_run",
                str(ended.folder),
                on_result=self.model_ready.emit,
                title="Keeping the best model",
            )
            if job.error is None:  # the bar goes on showing an error
                self._watch(keeping)
