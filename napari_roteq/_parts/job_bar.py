"""The strip at the foot of a widget that shows its running job: progress, stop, errors.

It owns the job: at most one runs, and it stops when the widget or the viewer closes.
"""

from __future__ import annotations

from qtpy.QtCore import Qt, QTimer, Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from napari_roteq._errors import JobError
from napari_roteq._pace import spell_duration
from napari_roteq._running import RunningJob
from roteq_core.jobs import Report

_REFRESH = 500  # milliseconds between two looks at the clock


class JobBar(QWidget):
    """Show one job: a bar with a count, the time left, Stop, Pause, and its error.

    Parameters
    ----------
    parent : QWidget, optional
        As in Qt.
    can_pause : bool
        Whether to offer a Pause button.
    stop_text : str
        What stands on the button that ends the job.
    """

    running_changed = Signal(bool)

    def __init__(
        self,
        parent: QWidget | None = None,
        *,
        can_pause: bool = False,
        stop_text: str = "Stop",
    ):
        super().__init__(parent)
        self._job: RunningJob | None = None
        self._next: RunningJob | None = None
        self._progress = QProgressBar()
        self._pause = QPushButton("Pause")
        self._pause.setToolTip("Hold the run; press again to go on")
        self._stop = QPushButton(stop_text)
        self._stop.setToolTip("End the run and keep what is finished")
        self._state = _wrapped_label()
        self._error = _wrapped_label()
        self._copy = QPushButton("Copy details")
        self._copy.setToolTip("Copy the whole error report, to send to someone")
        self._clock = QTimer(self)
        self._lay_out()
        self._pause.setVisible(can_pause)
        self._show_idle("")
        self._show_error(None)
        self._stop.clicked.connect(self.stop)
        self._pause.clicked.connect(self._on_pause_clicked)
        self._copy.clicked.connect(self._on_copy_clicked)
        self._clock.timeout.connect(self._show_state)

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.addWidget(self._progress, stretch=1)
        row.addWidget(self._pause)
        row.addWidget(self._stop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(row)
        layout.addWidget(self._state)
        layout.addWidget(self._error)
        layout.addWidget(self._copy, alignment=Qt.AlignmentFlag.AlignLeft)

    @property
    def job(self) -> RunningJob | None:
        """The job shown, running or over."""
        return self._job

    @property
    def is_running(self) -> bool:
        """Whether a job is on its way."""
        return self._job is not None and self._job.is_running

    @property
    def error(self) -> JobError | None:
        """The error shown, if there is one."""
        return self._shown

    def watch(self, job: RunningJob) -> None:
        """Show a job from now on; one that still runs is stopped."""
        self.abandon()
        self._job = job
        self._show_error(None)
        # No count yet. Qt's own "busy" moves all the time, and each step redraws the
        # whole window with its canvas: without a GPU that costs a core.
        self._progress.setRange(0, 1)
        self._progress.setValue(0)
        self._progress.setFormat("starting …")
        self._progress.setEnabled(True)
        self._stop.setEnabled(True)
        self._pause.setEnabled(True)
        self._pause.setText("Pause")
        job.reported.connect(self._on_reported)
        job.failed.connect(self._show_error)
        job.finished.connect(self._on_finished)
        self.destroyed.connect(job.abandon)
        self._clock.start(_REFRESH)
        self._show_state()
        self.running_changed.emit(True)

    def watch_next(self, job: RunningJob) -> None:
        """Show a job that the present one led to, once that has ended."""
        self._next = job

    def stop(self) -> None:
        """Stop the job and keep what it has done."""
        if self._job is not None and self._job.is_running:
            self._job.stop()
            self._stop.setEnabled(False)
            self._state.setText("Stopping …")

    def abandon(self) -> None:
        """Stop the job and hear no more of it."""
        self._next = None
        if self._job is not None and self._job.is_running:
            self._job.abandon()
            self._on_finished()
            self._job = None

    def show_error(self, error: JobError) -> None:
        """Show an error that came before any job, such as a wrong choice of layer."""
        self._show_idle("")
        self._show_error(error)

    def tell(self, text: str) -> None:
        """Say how the last job ended, in other words than the usual ones."""
        self._state.setText(text)

    def hideEvent(self, event) -> None:
        """Look, once Qt is done, whether the widget was closed or only hidden."""
        super().hideEvent(event)
        QTimer.singleShot(0, self._on_hidden)

    def _on_hidden(self) -> None:
        top: QWidget = self
        while (parent := top.parentWidget()) is not None:
            top = parent
        if not top.isVisible():  # a hidden dock still has a visible main window
            self.abandon()

    def _on_reported(self, report: Report) -> None:
        if report.total:
            self._progress.setRange(0, report.total)
            self._progress.setValue(report.done)
            self._progress.setFormat("%v of %m")
        self._show_state()

    def _on_pause_clicked(self) -> None:
        job = self._job
        if job is None or not job.is_running:
            return
        if job.is_paused:
            job.resume()
        else:
            job.pause()
        self._pause.setText("Resume" if job.is_paused else "Pause")
        self._show_state()

    def _on_copy_clicked(self) -> None:
        clipboard = QApplication.clipboard()
        if clipboard is not None and self._shown is not None:
            clipboard.setText(f"{self._shown.sentence}\n\n{self._shown.details}")

    def _on_finished(self) -> None:
        self._clock.stop()
        self._show_idle("" if self._job is None else _ending(self._job))
        self.running_changed.emit(False)
        if self._next is not None:
            self.watch(self._next)

    def _show_state(self) -> None:
        if self._job is not None and self._job.is_running and not self._job.is_stopped:
            self._state.setText(_progress_text(self._job))

    def _show_idle(self, text: str) -> None:
        if self._progress.format() == "starting …":  # nothing was ever counted
            self._progress.reset()
        self._progress.setEnabled(False)
        self._stop.setEnabled(False)
        self._pause.setEnabled(False)
        self._state.setText(text)

    def _show_error(self, error: JobError | None) -> None:
        self._shown = error
        self._error.setText("" if error is None else f"⚠ {error.sentence}")
        self._error.setVisible(error is not None)
        self._copy.setVisible(error is not None)


def leave_to_the_bar(error: JobError) -> None:
    """Show no notification of an error: the bar shows it, with its details."""


def _progress_text(job: RunningJob) -> str:
    """Say what a job is doing, and the time it needs or has taken."""
    if job.is_paused:
        time = "paused"
    elif (left := job.time_left) is not None:
        time = f"{spell_duration(left)} left"
    else:
        time = spell_duration(job.elapsed)
    return " · ".join(filter(None, (job.report.text or job.title, time)))


def _ending(job: RunningJob) -> str:
    """Say how a job ended; its error is shown elsewhere."""
    took = spell_duration(job.elapsed)
    if job.error is not None:
        return f"Ended by an error after {took}."
    if job.is_stopped:
        return f"Stopped after {took}; what was finished is kept."
    return f"Done in {took}."


def _wrapped_label() -> QLabel:
    label = QLabel()
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label
