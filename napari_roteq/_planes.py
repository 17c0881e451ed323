"""Go through a stack that need not fit into memory, the plane in view first (no Qt)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from napari_roteq._worker_process import RemoteControl
from roteq_core.jobs import Report
from roteq_core.serving.worker import Outcome

Index = int | tuple[int, ...]
Steered = Generator[Report, None, Outcome]


class PlaneOrder:
    """Which plane comes next; the focus may move while another thread takes planes."""

    def __init__(self, indices: Sequence[Index], focus: Index | None = None) -> None:
        self._rest = list(indices)
        self._focus = focus
        self._lock = threading.Lock()
        self.total = len(self._rest)

    def look_at(self, index: Index) -> None:
        """Put this plane first, then the ones nearest to it."""
        with self._lock:
            self._focus = index

    def peek(self) -> Index | None:
        """Give the next plane without taking it; None when all are taken."""
        with self._lock:
            return min(self._rest, key=self._distance, default=None)

    def take(self) -> Index | None:
        """Take the next plane; None when all are taken."""
        with self._lock:
            index = min(self._rest, key=self._distance, default=None)
            if index is not None:
                self._rest.remove(index)
            return index

    def _distance(self, index: Index) -> int:
        if self._focus is None:
            return 0
        return int(np.abs(np.subtract(index, self._focus)).sum())


def steer_planes(
    order: PlaneOrder,
    read: Callable[[Index], Any],
    compute: Callable[[Any], Steered],
    control: RemoteControl,
) -> Steered:
    """Read and compute plane after plane; the next is read while one is computed.

    Parameters
    ----------
    order : PlaneOrder
        Says which plane comes next.
    read : callable
        `read(index)` gives a plane.
    compute : callable
        `compute(plane)` steers the job of one plane.
    control : RemoteControl
        Stops and holds; the job of the plane obeys it too.

    Yields
    ------
    Report
        Counted in planes; a finished plane comes as `values` "index" and "result".
    """
    done = 0
    ahead: tuple[Index | None, Future[Any] | None] = (None, None)
    while not control.is_stopped and (index := order.take()) is not None:
        future = ahead[1] if ahead[0] == index else None
        plane = (future or _start_reading(read, index)).result()
        following = order.peek()
        if following is not None:
            ahead = (following, _start_reading(read, following))
        name = f"plane {done + 1} of {order.total}"
        outcome = yield from _within(compute(plane), done, order.total, name)
        if outcome.is_stopped:
            break
        done += 1
        values = {"index": index, "result": outcome.result}
        yield Report(done, order.total, name, values)
        control.wait_while_paused()
    return Outcome(None, is_stopped=control.is_stopped)


def _within(steered: Steered, done: int, total: int, name: str) -> Steered:
    """Pass on the reports of one plane as progress of the stack."""
    while True:
        try:
            report = next(steered)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome
        yield Report(done, total, ": ".join(filter(None, (name, report.text))))


def _start_reading(read: Callable[[Index], Any], index: Index) -> Future[Any]:
    """Read in a daemon thread, which does not hold up the end of the program."""
    future: Future[Any] = Future()

    def work() -> None:
        try:
            future.set_result(read(index))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future
