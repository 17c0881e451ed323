"""How long a job has been going and how long it still needs (no Qt)."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pace:
    """Measure time without pauses and estimate the rest from the steps so far.

    The time before the first step is left out of the estimate: it goes into starting
    the process and loading the model.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: float | None = clock()
        self._before = 0.0  # seconds up to the last pause
        self._first: tuple[int, float] | None = None  # steps done, at which time
        self._last = (0, 0.0)
        self._total = 0

    def pause(self) -> None:
        """Stop the clock."""
        self._before = self.elapsed()
        self._since = None

    def resume(self) -> None:
        """Let the clock go on."""
        if self._since is None:
            self._since = self._clock()

    def elapsed(self) -> float:
        """Seconds so far."""
        return self._before + (
            0 if self._since is None else self._clock() - self._since
        )

    def step(self, done: int, total: int) -> None:
        """Note that `done` of `total` steps are behind."""
        now = self.elapsed()
        if self._first is None or total != self._total or done < self._last[0]:
            self._first = (done, now)
        self._last = (done, now)
        self._total = total

    def time_left(self) -> float | None:
        """Seconds to go, or None while nobody can know."""
        if self._first is None or not self._total:
            return None
        (first, began), (done, now) = self._first, self._last
        if done <= first:
            return None
        left = (now - began) / (done - first) * (self._total - done)
        return max(0.0, left - (self.elapsed() - now))


def spell_duration(seconds: float) -> str:
    """Write a duration as people say it: "8 s", "3 min", "1 h 20 min"."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
