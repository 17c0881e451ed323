"""The compute process: `python -m roteq_core.serving.worker` runs jobs for another.

It stays alive between jobs, so that torch and loaded models stay warm, and it ends when
its parent does. Requests come in and replies go out as frames over stdin and stdout:

    in    ("run", number, "module:function", args, kwargs)
          ("stop" | "pause" | "resume", number)      ("message", number, value)
    out   ("report", number, Report)                 as the job goes, then one of
          ("done", number, result)                   it came to its end
          ("stopped", number, partial result)        it was stopped
          ("error", number, type, message, traceback)

Stopping is cooperative: at its next report the job is closed. A job that has something
to keep catches `GeneratorExit` and returns it. No torch is imported until a job does.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO

from roteq_core.jobs import Job, Report
from roteq_core.serving.frames import FrameError, read_frame, write_frame

NICENESS = 10
GRACE_AFTER_PARENT = 2.0  # seconds for a job to close once the parent is gone


class Control:
    """What may be said to a running job from outside; safe to use from any thread."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._going = threading.Event()
        self._going.set()
        self._messages: SimpleQueue[Any] = SimpleQueue()

    def stop(self) -> None:
        """Ask the job to end at its next report, also when it is paused."""
        self._stopped.set()
        self._going.set()

    def pause(self) -> None:
        """Hold the job at its next report."""
        self._going.clear()
        if self._stopped.is_set():
            self._going.set()

    def resume(self) -> None:
        """Let a paused job go on."""
        self._going.set()

    def send(self, message: Any) -> None:
        """Leave a message for the job; see `inbox`."""
        self._messages.put(message)

    def messages(self) -> list[Any]:
        """Take the messages that have come, oldest first."""
        taken = []
        with contextlib.suppress(Empty):
            while True:
                taken.append(self._messages.get_nowait())
        return taken

    @property
    def is_stopped(self) -> bool:
        """Whether a stop was asked for."""
        return self._stopped.is_set()

    @property
    def is_paused(self) -> bool:
        """Whether the job is to be held at its next report."""
        return not self._going.is_set()

    def wait_while_paused(self) -> None:
        """Return as soon as the job may go on or must stop."""
        self._going.wait()


_current: ContextVar[Control | None] = ContextVar("control of this job", default=None)


def inbox() -> list[Any]:
    """Take the messages sent to the running job; empty when nobody can send any.

    A training job looks here between batches for labels drawn in the meantime.
    """
    control = _current.get()
    return [] if control is None else control.messages()


@dataclass(frozen=True)
class Outcome:
    """How a steered job ended."""

    result: Any
    is_stopped: bool = False


def steer(job: Job[Any], control: Control) -> Generator[Report, None, Outcome]:
    """Run a job under a control: pass its reports on, hold it, close it."""
    _current.set(control)
    while not control.is_stopped:
        try:
            report = next(job)
        except StopIteration as end:
            return Outcome(end.value)
        yield report
        control.wait_while_paused()
    return Outcome(_close(job), is_stopped=True)


def _close(job: Job[Any]) -> Any:
    """Close a job and give what it returns on the way out (Python 3.13's `close`)."""
    try:
        job.throw(GeneratorExit)
    except GeneratorExit:
        return None
    except StopIteration as end:
        return end.value
    raise RuntimeError("a job must not yield another report after it was stopped")


def find_job(address: str, packages: tuple[str, ...]) -> Callable[..., Any]:
    """Import the function at "module:function" from one of the allowed packages."""
    module, _, name = address.partition(":")
    if module.partition(".")[0] not in packages or not name:
        raise ValueError(
            f"a job is addressed as 'module:function' within {', '.join(packages)}, "
            f"got {address!r}"
        )
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def import_torch() -> str:
    """Import torch ahead of need and give its version: a job to warm a worker up."""
    version = str(importlib.import_module("torch").__version__)
    return version


@dataclass(frozen=True)
class _Request:
    number: int | None
    address: str = ""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    control: Control = field(default_factory=Control)
    fault: str = ""


def serve(incoming: BinaryIO, outgoing: BinaryIO, packages: tuple[str, ...]) -> None:
    """Answer requests one after the other until the parent closes the pipe."""
    requests: SimpleQueue[_Request | None] = SimpleQueue()
    threading.Thread(target=_listen, args=(incoming, requests), daemon=True).start()
    while (request := requests.get()) is not None:
        try:
            for reply in _replies(request, packages):
                write_frame(outgoing, reply)
        except BrokenPipeError:
            return
        except (Exception, SystemExit) as error:
            write_frame(outgoing, _error_reply(request, error))


def _replies(request: _Request, packages: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    if request.fault:
        raise ValueError(request.fault)
    job = find_job(request.address, packages)(*request.args, **request.kwargs)
    if not isinstance(job, Generator):  # a plain function: nothing to report
        yield "done", request.number, job
        return
    steered = steer(job, request.control)
    while True:
        try:
            yield "report", request.number, next(steered)
        except StopIteration as end:
            outcome: Outcome = end.value
            break
    kind = "stopped" if outcome.is_stopped else "done"
    yield kind, request.number, outcome.result


def _error_reply(request: _Request, error: BaseException) -> tuple[Any, ...]:
    text = "".join(traceback.format_exception(error))
    return "error", request.number, type(error).__name__, str(error), text


def _listen(incoming: BinaryIO, requests: SimpleQueue[_Request | None]) -> None:
    """Sort what comes in: requests to the queue, the rest to the job it is for."""
    controls: dict[int, Control] = {}
    while True:
        try:
            kind, number, *rest = read_frame(incoming)
        except FrameError as error:
            requests.put(_Request(None, fault=f"the request is unreadable ({error})"))
            continue
        except (EOFError, OSError):
            break
        if kind == "run":
            request = _Request(number, *rest)
            controls = {number: request.control}  # one job at a time
            requests.put(request)
        elif number in controls:
            action = "send" if kind == "message" else kind
            getattr(controls[number], action)(*rest)
    for control in controls.values():
        control.stop()
    requests.put(None)
    threading.Timer(GRACE_AFTER_PARENT, os._exit, args=(0,)).start()


def _claim_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Keep stdin and stdout for frames; whatever else prints goes to stderr."""
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    return incoming, outgoing


def _step_back() -> None:
    """Leave the viewer its share: lower priority, and not every core on big machines.

    A precaution: what keeps the window answering is that this is another process. No
    effect of either could be measured (docs/plugin_architecture.md).
    """
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    cores = cores or os.cpu_count() or 1
    os.environ.setdefault("OMP_NUM_THREADS", str(cores if cores <= 4 else cores - 1))


def main() -> None:
    """Serve the parent process; arguments name further packages that hold jobs."""
    incoming, outgoing = _claim_pipes()
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    _step_back()
    serve(incoming, outgoing, ("roteq_core", *sys.argv[1:]))
    os._exit(0)  # no thread of a library may keep it alive


if __name__ == "__main__":
    # Jobs import this module by its name; run that one, so that `inbox` is theirs.
    from roteq_core.serving.worker import main as serve_parent

    serve_parent()
