"""A job on its way, as a Qt object that lives on the main thread.

A thread drives the job and leaves what comes in a short queue; a timer on the main
thread empties it. A queue rather than signals across threads: nothing can reach a
widget that is being destroyed, bare progress that comes faster than the eye is dropped,
and a job that makes results faster than the viewer takes them waits instead of filling
the memory.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from typing import Any

from napari.utils.notifications import show_error
from qtpy.QtCore import QObject, QTimer, Signal  # type: ignore[attr-defined]

from napari_roteq._errors import JobError, explain_exception
from napari_roteq._pace import Pace
from napari_roteq._planes import Index, PlaneOrder, Steered
from napari_roteq._worker_process import RemoteControl
from roteq_core.jobs import Report
from roteq_core.serving.worker import Control, Outcome

GRACE = 1.5  # seconds a job gets to stop by itself
_TICK = 25  # milliseconds between two looks into the queue
_BUDGET = 0.02  # seconds for delivering at each look, so that the window stays alive
_WAITING = 16  # messages the viewer may be behind

Message = Report | Outcome | JobError

_alive: set[RunningJob] = set()  # Python must not collect a job in mid-run


class _LetterBox:
    """A short queue between the job's thread and the main thread."""

    def __init__(self) -> None:
        self._messages: deque[Message] = deque()
        self._changed = threading.Condition()
        self._limit = _WAITING

    def put(self, message: Message) -> None:
        """Add a message; bare progress replaces older bare progress, else wait."""
        with self._changed:
            if self._messages and _is_bare(message) and _is_bare(self._messages[-1]):
                self._messages[-1] = message
                return
            self._changed.wait_for(lambda: len(self._messages) < self._limit)
            self._messages.append(message)

    def take(self) -> Message | None:
        """Take the oldest message, if there is one."""
        with self._changed:
            message = self._messages.popleft() if self._messages else None
            self._changed.notify()
            return message

    def open(self) -> None:
        """Never hold the job up again, because nobody may be reading."""
        with self._changed:
            self._limit = sys.maxsize
            self._changed.notify()


def _is_bare(message: Message) -> bool:
    return isinstance(message, Report) and not message.values


class RunningJob(QObject):
    """A job on its way. Signals arrive on the main thread, `finished` always and last.

    Parameters
    ----------
    steered : generator
        Yields reports and returns an `Outcome`; runs in a thread of its own.
    control : Control
        Reaches the job from outside.
    title : str
        What it does, for a person ("Segment membranes").
    grace : float
        Seconds after `stop` until the job is ended by force.
    """

    reported = Signal(object)  # a Report
    returned = Signal(object)  # the result; after a stop what the job could save
    failed = Signal(object)  # a JobError
    finished = Signal()

    def __init__(
        self,
        steered: Steered,
        control: Control,
        *,
        title: str = "",
        grace: float = GRACE,
    ) -> None:
        super().__init__()
        self.title = title
        self.report = Report(0, 0)
        self.error: JobError | None = None
        self.is_running = True
        self._control = control
        self._pace = Pace()
        self._grace = grace
        self._box = _LetterBox()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._on_tick)
        self._timer.start(_TICK)
        _alive.add(self)
        threading.Thread(target=self._drive, args=(steered,), daemon=True).start()

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._control.is_stopped

    @property
    def is_paused(self) -> bool:
        """Whether the job is held, or will be at its next report."""
        return self._control.is_paused

    @property
    def elapsed(self) -> float:
        """Seconds since the start, without pauses."""
        return self._pace.elapsed()

    @property
    def time_left(self) -> float | None:
        """Seconds still needed, if that can be said."""
        return self._pace.time_left()

    def stop(self) -> None:
        """End the job at its next report, or by force after the grace period."""
        if not self.is_running or self.is_stopped:
            return
        self._control.stop()
        QTimer.singleShot(int(1000 * self._grace), self._on_grace_over)

    def pause(self) -> None:
        """Hold the job at its next report."""
        self._control.pause()
        self._pace.pause()

    def resume(self) -> None:
        """Let a held job go on."""
        self._control.resume()
        self._pace.resume()

    def send(self, message: Any) -> None:
        """Leave a message that the job reads with `roteq_core.serving.worker.inbox`."""
        self._control.send(message)

    def abandon(self) -> None:
        """Stop, and tell nobody: for a widget that is going away."""
        self._box.open()
        self.blockSignals(True)
        self.stop()

    def fail(self, error: Exception) -> None:
        """End the job because what is done with its reports went wrong."""
        if self.error is not None:  # the error's own callback failed
            notify(explain_exception(error))
            return
        self.error = explain_exception(error)
        self.failed.emit(self.error)
        self.stop()

    def _drive(self, steered: Steered) -> None:
        """Run the job to its end; in its own thread."""
        try:
            while True:
                try:
                    self._box.put(next(steered))
                except StopIteration as end:
                    self._box.put(end.value)
                    return
        except Exception as error:
            self._box.put(explain_exception(error))

    def _on_tick(self) -> None:
        until = time.perf_counter() + _BUDGET
        while self.is_running and time.perf_counter() < until:
            message = self._box.take()
            if message is None:
                return
            self._deliver(message)

    def _deliver(self, message: Message) -> None:
        if isinstance(message, Report):
            self.report = message
            self._pace.step(message.done, message.total)
            self.reported.emit(message)
            return
        if isinstance(message, JobError) and not self.is_stopped:
            self.error = message
            self.failed.emit(message)
        elif isinstance(message, Outcome) and (
            message.result is not None or not self.is_stopped
        ):
            self.returned.emit(message.result)
        self._finish()

    def _on_grace_over(self) -> None:
        if not self.is_running:
            return
        if isinstance(self._control, RemoteControl):
            self._control.kill()
        self._box.open()  # a thread cannot be killed; let it run dry
        self._finish()

    def _finish(self) -> None:
        self.is_running = False
        self._pace.pause()
        self._timer.stop()
        _alive.discard(self)
        self.finished.emit()


class RunningPlanes(RunningJob):
    """A job that goes through a stack; `plane_done` brings (index, result)."""

    plane_done = Signal(object, object)

    def __init__(
        self, steered: Steered, control: Control, order: PlaneOrder, **options: Any
    ) -> None:
        super().__init__(steered, control, **options)
        self._order = order
        self.reported.connect(self._on_reported)

    def look_at(self, index: Index) -> None:
        """Do this plane next, and the ones nearest to it after that."""
        self._order.look_at(index)

    def _on_reported(self, report: Report) -> None:
        if "result" in report.values:
            self.plane_done.emit(report.values["index"], report.values["result"])


def notify(error: JobError) -> None:
    """Show an error as a notification of napari."""
    show_error(error.sentence)
