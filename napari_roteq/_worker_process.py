"""The viewer's side of the compute process: start, talk, kill; a pool (no Qt)."""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import roteq_core.serving.worker
from napari_roteq._errors import explain, explain_death
from roteq_core.jobs import Report
from roteq_core.serving.frames import FrameError, pack_frame, read_frame, write_packed
from roteq_core.serving.worker import Control, Outcome

_KEPT_LINES = 200  # of the worker's stderr, for the details of an error


class WorkerProcess:
    """One compute process and the pipes to it.

    Parameters
    ----------
    packages : tuple of str
        Further packages, besides `roteq_core`, whose functions may be jobs.
    path : tuple of str
        Folders in which the process finds those packages.
    """

    def __init__(
        self, packages: tuple[str, ...] = (), path: tuple[str, ...] = ()
    ) -> None:
        self._process = subprocess.Popen(
            # `-m`, not multiprocessing's spawn, which may open the viewer once more.
            [sys.executable, "-m", "roteq_core.serving.worker", *packages],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(path),
            creationflags=_quiet_and_low(),
        )
        self._is_killed = False
        self._numbers = 0
        self._outbox: SimpleQueue[list[memoryview] | None] = SimpleQueue()
        self._last_words: deque[str] = deque(maxlen=_KEPT_LINES)
        self._listener = _start_thread(self._keep_last_words)
        _start_thread(self._write_outbox)

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs and nobody killed it."""
        return not self._is_killed and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def request(
        self, address: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> int:
        """Ask for a job and give its number; raises if the values cannot be sent."""
        self._numbers += 1
        self.tell("run", self._numbers, address, args, dict(kwargs))
        return self._numbers

    def tell(self, *message: Any) -> None:
        """Send a message without waiting for the process to read it."""
        self._outbox.put(pack_frame(message))

    def receive(self) -> tuple[Any, ...]:
        """Wait for the next reply; `JobError` if the process died."""
        assert self._process.stdout is not None
        try:
            reply: tuple[Any, ...] = read_frame(self._process.stdout, refuse=("torch",))
        except FrameError as error:
            self.kill()  # its job may be going on
            raise explain("FrameError", str(error), str(error)) from error
        except (EOFError, OSError, ValueError):
            raise self._obituary() from None
        return reply

    def kill(self) -> None:
        """End the process at once."""
        self._is_killed = True  # the system may take a moment to notice
        self._process.kill()

    def close(self) -> None:
        """Let the process end by itself: it stops its job when the pipe closes."""
        self._outbox.put(None)

    def _obituary(self) -> Exception:
        try:
            exit_code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:  # it closed the pipe but lives on
            self.kill()
            exit_code = self._process.wait()
        self._listener.join(timeout=1)
        if self._process.stdout is not None:
            self._process.stdout.close()
        return explain_death(exit_code, "".join(self._last_words))

    def _write_outbox(self) -> None:
        assert self._process.stdin is not None
        while (pieces := self._outbox.get()) is not None:
            # It may have died; whoever receives will notice.
            with contextlib.suppress(OSError):
                write_packed(self._process.stdin, pieces)
        self._leave()

    def _leave(self) -> None:
        """Close the pipes of a process that nobody uses any more, and see it end."""
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._process.wait()

    def _keep_last_words(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                self._last_words.append(line.decode(errors="replace"))


class Pool:
    """Compute processes, reused so that torch and models stay warm.

    A job takes an idle process or starts one; when it is done one idle process is
    kept and any further one is let go. See `WorkerProcess` for the parameters.
    """

    def __init__(
        self, packages: tuple[str, ...] = (), path: tuple[str, ...] = ()
    ) -> None:
        self._packages = packages
        self._path = path
        self._idle: list[WorkerProcess] = []
        self._lock = threading.Lock()

    def take(self) -> WorkerProcess:
        """Give a process nobody else uses."""
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.is_alive:
                    return worker
        return WorkerProcess(self._packages, self._path)

    def give_back(self, worker: WorkerProcess) -> None:
        """Keep a process for the next job, if it lives and no other one waits."""
        with self._lock:
            if worker.is_alive and not self._idle:
                self._idle.append(worker)
                return
        worker.close()

    def warm_up(self) -> None:
        """Start a process and let it import torch while the user looks around."""
        worker = self.take()
        worker.request("roteq_core.serving.worker:import_torch", (), {})
        self.give_back(worker)

    def close(self) -> None:
        """Let every idle process end."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()


class RemoteControl(Control):
    """A control that also reaches the job's half in the compute process."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self._link: tuple[WorkerProcess, int] | None = None

    def attach(self, worker: WorkerProcess, number: int) -> None:
        """Connect to a running job; what was said before is said again."""
        with self._lock:
            self._link = worker, number
            if self.is_stopped:
                self._pass_on("stop")
            elif self.is_paused:
                self._pass_on("pause")
            for message in self.messages():
                self._pass_on("message", message)

    def detach(self) -> None:
        """Disconnect, before another job uses the process."""
        with self._lock:
            self._link = None

    def stop(self) -> None:
        """See `Control.stop`."""
        super().stop()
        self._pass_on("stop")

    def pause(self) -> None:
        """See `Control.pause`."""
        super().pause()
        self._pass_on("pause")

    def resume(self) -> None:
        """See `Control.resume`."""
        super().resume()
        self._pass_on("resume")

    def send(self, message: Any) -> None:
        """See `Control.send`."""
        with self._lock:
            if self._link is None:
                super().send(message)
            else:
                self._pass_on("message", message)

    def kill(self) -> None:
        """End the process that runs the job, if there is one."""
        with self._lock:
            if self._link is not None:
                self._link[0].kill()

    def _pass_on(self, kind: str, *values: Any) -> None:
        with self._lock:
            if self._link is not None:
                worker, number = self._link
                worker.tell(kind, number, *values)


def steer_remote(
    worker: WorkerProcess,
    address: str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    control: RemoteControl,
) -> Generator[Report, None, Outcome]:
    """Run one job in a process; like `serving.worker.steer`, but over there."""
    number = worker.request(address, args, kwargs)
    control.attach(worker, number)
    try:
        while True:
            kind, of_number, *rest = worker.receive()
            if of_number not in (number, None):
                continue  # the rest of an earlier job
            if kind == "report":
                yield rest[0]
            elif kind == "error":
                raise explain(*rest)
            else:
                return Outcome(rest[0], is_stopped=kind == "stopped")
    except GeneratorExit:
        worker.tell("stop", number)
        raise
    finally:
        control.detach()


def _environment(path: tuple[str, ...]) -> dict[str, str]:
    """Make sure the process imports this very `roteq_core`, and nothing by accident."""
    here = str(Path(roteq_core.serving.worker.__file__).parents[2])
    inherited = os.environ.get("PYTHONPATH")
    folders = [*path, here, *([inherited] if inherited else [])]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(folders),
        "PYTHONSAFEPATH": "1",  # a torch.py in the working folder is not torch
    }


def _quiet_and_low() -> int:
    """On Windows: no console window, and a priority below the viewer's."""
    quiet = getattr(subprocess, "CREATE_NO_WINDOW", 0)
    return int(quiet | getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0))


def _start_thread(target: Any) -> threading.Thread:
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


POOL = Pool()
atexit.register(POOL.close)
