"""Run core jobs off the GUI thread: progress, stop, pause, messages, named errors.

`run` uses the compute process (anything that needs torch), `run_in_thread` a thread of
the viewer (short torch-free work), `run_planes` reads a lazy stack plane by plane in a
thread and computes in the process. All give a `RunningJob`; a widget shows it in a
`JobBar`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from napari_roteq import _worker_process
from napari_roteq._planes import Index, PlaneOrder, Steered, steer_planes
from napari_roteq._running import GRACE, RunningJob, RunningPlanes, notify
from napari_roteq._worker_process import (
    Pool,
    RemoteControl,
    WorkerProcess,
    steer_remote,
)
from roteq_core.serving.worker import Control, Outcome, steer

Callback = Callable[..., Any]


def run(
    job: str,
    *args: Any,
    on_report: Callback | None = None,
    on_result: Callback | None = None,
    on_error: Callback | None = None,
    on_finished: Callback | None = None,
    title: str = "",
    grace: float = GRACE,
    **kwargs: Any,
) -> RunningJob:
    """Run a job in the compute process.

    Parameters
    ----------
    job : str
        "module:function" of a job, e.g. "roteq_core.cars.orient:iter_orient".
    *args, **kwargs
        For the job; picklable, and not to be changed until it has begun.
    on_report, on_result, on_error, on_finished : callables, optional
        Called on the main thread with a Report, the result, a JobError, nothing.
        Without `on_error` the error is shown as a notification of napari.
    title : str
        What the job does, for a person.
    grace : float
        Seconds it gets to stop by itself.

    Returns
    -------
    RunningJob
    """
    control = RemoteControl()

    def steer_one(worker: WorkerProcess) -> Steered:
        return steer_remote(worker, job, args, kwargs, control)

    steered = _with_worker(_worker_process.POOL, steer_one)
    running = RunningJob(steered, control, title=title, grace=grace)
    _connect(running, on_report, on_result, on_error, on_finished)
    return running


def run_in_thread(
    function: Callable[..., Any],
    *args: Any,
    on_report: Callback | None = None,
    on_result: Callback | None = None,
    on_error: Callback | None = None,
    on_finished: Callback | None = None,
    title: str = "",
    grace: float = GRACE,
    **kwargs: Any,
) -> RunningJob:
    """Run a job, or a plain function, in a thread of this process; see `run`.

    For short torch-free work only: it shares the interpreter with the window.
    """
    control = Control()
    steered = _in_thread(function, args, kwargs, control)
    running = RunningJob(steered, control, title=title, grace=grace)
    _connect(running, on_report, on_result, on_error, on_finished)
    return running


def run_planes(
    job: str,
    read: Callable[[Index], Any],
    indices: Sequence[Index],
    *args: Any,
    focus: Index | None = None,
    on_plane: Callback | None = None,
    on_report: Callback | None = None,
    on_error: Callback | None = None,
    on_finished: Callback | None = None,
    title: str = "",
    grace: float = GRACE,
    **kwargs: Any,
) -> RunningPlanes:
    """Run a job on each plane of a stack that need not fit into memory.

    Parameters
    ----------
    job : str
        Called in the compute process with a plane and what follows; see `run`.
    read : callable
        `read(index)` gives one plane as a numpy array; called in a thread, one plane
        ahead of the computation.
    indices : sequence of int or tuple of int
        The planes to do, in order; `look_at` of the result changes the order.
    *args, **kwargs
        For the job, after the plane.
    focus : int or tuple of int, optional
        The plane to begin with.
    on_plane : callable, optional
        Called on the main thread with (index, result) as each plane is ready.
    on_report, on_error, on_finished, title, grace
        See `run`.

    Returns
    -------
    RunningPlanes
    """
    control = RemoteControl()
    order = PlaneOrder(indices, focus)

    def steer_all(worker: WorkerProcess) -> Steered:
        def compute(plane: Any) -> Steered:
            return steer_remote(worker, job, (plane, *args), kwargs, control)

        return steer_planes(order, read, compute, control)

    steered = _with_worker(_worker_process.POOL, steer_all)
    running = RunningPlanes(steered, control, order, title=title, grace=grace)
    if on_plane is not None:
        running.plane_done.connect(_guarded(running, on_plane))
    _connect(running, on_report, None, on_error, on_finished)
    return running


def _with_worker(pool: Pool, steer_in: Callable[[WorkerProcess], Steered]) -> Steered:
    """Borrow a process for as long as the job runs."""
    worker = pool.take()
    try:
        return (yield from steer_in(worker))
    finally:
        pool.give_back(worker)


def _in_thread(function: Callback, args: Any, kwargs: Any, control: Control) -> Steered:
    job = function(*args, **kwargs)
    if not isinstance(job, Generator):  # a plain function: nothing to report
        return Outcome(job, control.is_stopped)
    return (yield from steer(job, control))


def _connect(
    running: RunningJob,
    on_report: Callback | None,
    on_result: Callback | None,
    on_error: Callback | None,
    on_finished: Callback | None,
) -> None:
    pairs = (
        (running.reported, on_report),
        (running.returned, on_result),
        (running.failed, on_error or notify),
        (running.finished, on_finished),
    )
    for signal, callback in pairs:
        if callback is not None:
            signal.connect(_guarded(running, callback))


def _guarded(running: RunningJob, callback: Callback) -> Callback:
    """Make a fault in a callback end the job with an error, not the program."""

    def guarded(*values: Any) -> None:
        try:
            callback(*values)
        except Exception as error:
            running.fail(error)

    return guarded
