"""Fixtures for the tests that need Qt or a viewer."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


class EventLoopGap:
    """Measure the longest time during which the event loop did not answer.

    Use as a context manager around a wait that keeps the loop running; `longest` is in
    seconds, `ticks` says how often the loop came round.
    """

    def __init__(self, interval_ms: int = 5) -> None:
        from qtpy.QtCore import QTimer

        self.longest = 0.0
        self.ticks = 0
        self._timer = QTimer()
        self._timer.setInterval(interval_ms)
        self._timer.timeout.connect(self._on_timeout)

    def __enter__(self) -> EventLoopGap:
        self._last = time.perf_counter()
        self._timer.start()
        return self

    def __exit__(self, *exception) -> None:
        self._timer.stop()
        self._on_timeout()

    def _on_timeout(self) -> None:
        now = time.perf_counter()
        self.longest = max(self.longest, now - self._last)
        self._last = now
        self.ticks += 1


@pytest.fixture
def event_loop_gap(qapp):
    """Give a fresh `EventLoopGap`."""
    return EventLoopGap()


@pytest.fixture(scope="session")
def sample_pool():
    """Give a pool whose processes also know the jobs of tests/sample_jobs.py."""
    from napari_roteq._worker_process import Pool

    pool = Pool(packages=("sample_jobs",), path=(str(TESTS),))
    yield pool
    pool.close()


@pytest.fixture
def sample_jobs(sample_pool, monkeypatch):
    """Let `run` find the jobs of tests/sample_jobs.py."""
    from napari_roteq import _worker_process

    monkeypatch.setattr(_worker_process, "POOL", sample_pool)
    return sample_pool
