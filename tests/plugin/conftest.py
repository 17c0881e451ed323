"""Fixtures for the tests that need Qt or a viewer."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(Path(__file__).parent))  # for `shown`


class EventLoopGap:
    """Measure the longest time during which the event loop did not answer.

    Use as a context manager around a wait that keeps the loop running. In seconds,
    `longest` is what the user would feel, `own` the same without the time in which the
    main thread was ready but other programs had the CPU (Linux; elsewhere the two are
    equal). `ticks` says how often the loop came round.
    """

    def __init__(self, interval_ms: int = 5) -> None:
        from qtpy.QtCore import QTimer

        self.longest = self.own = 0.0
        self.ticks = 0
        self._timer = QTimer()
        self._timer.setInterval(interval_ms)
        self._timer.timeout.connect(self._on_timeout)

    def __enter__(self) -> EventLoopGap:
        self.longest = self.own = 0.0
        self.ticks = 0
        self._last = time.perf_counter(), _seconds_without_cpu()
        self._timer.start()
        return self

    def __exit__(self, *exception) -> None:
        self._timer.stop()
        self._on_timeout()

    def _on_timeout(self) -> None:
        now, without_cpu = time.perf_counter(), _seconds_without_cpu()
        gap = now - self._last[0]
        self.longest = max(self.longest, gap)
        self.own = max(self.own, gap - (without_cpu - self._last[1]))
        self._last = now, without_cpu
        self.ticks += 1


def _seconds_without_cpu() -> float:
    """Give how long this thread was ready to run and had to wait for a CPU."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


@pytest.fixture
def event_loop_gap(qapp):
    """Give an `EventLoopGap`; it starts anew each time it is entered."""
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


@pytest.fixture(scope="session")
def membrane_model(tmp_path_factory) -> str:
    """Give the file of a tiny membrane model, whose weights nobody trained."""
    import torch

    from roteq_core.model import make_model
    from roteq_core.net_config import MembraneNetConfig, TurningConfig
    from roteq_core.networks import build_network

    turning = TurningConfig(orientations=4, frequencies=1)
    torch.manual_seed(0)
    network = build_network(MembraneNetConfig(width=1, kernel_size=3, turning=turning))
    path = tmp_path_factory.mktemp("models") / "tiny.safetensors"
    make_model(
        [network],
        name="tiny",
        task="membranes",
        summary="A tiny model for tests.",
        pixel_size=4.0,
        pixel_unit="nm",
        scores={"v_rand": 0.5},
    ).save(path)
    return str(path)
