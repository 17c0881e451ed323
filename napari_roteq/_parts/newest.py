"""Run a quick function in a thread for the newest request; older ones are dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qtpy.QtCore import QObject, Signal  # type: ignore[attr-defined]

from napari_roteq._jobs import run_in_thread
from napari_roteq._running import RunningJob


class Newest(QObject):
    """Keep up with a slider: one call at a time, always with the latest arguments.

    Parameters
    ----------
    function : callable
        Called in a thread.
    parent : QObject
        The widget it serves and ends with.
    """

    ready = Signal(object, object)  # the arguments, the result

    def __init__(self, function: Callable[..., Any], parent: QObject) -> None:
        super().__init__(parent)
        self._function = function
        self._waiting: tuple[Any, ...] | None = None
        self._job: RunningJob | None = None

    @property
    def is_busy(self) -> bool:
        """Whether an answer is still to come."""
        return self._job is not None

    def ask(self, *args: Any) -> None:
        """Call the function with these arguments, soon."""
        self._waiting = args
        if self._job is None:
            self._start()

    def _start(self) -> None:
        args, self._waiting = self._waiting, None
        assert args is not None
        self._job = run_in_thread(
            self._function,
            *args,
            on_result=lambda result: self.ready.emit(args, result),
            on_finished=self._on_finished,
        )
        self.destroyed.connect(self._job.abandon)

    def _on_finished(self) -> None:
        self._job = None
        if self._waiting is not None:
            self._start()
