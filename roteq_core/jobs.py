"""Jobs: long work as a generator that yields reports and returns its result.

A script drains a job, the command line draws a bar from its reports, the viewer runs it
in another process and may stop it. Inputs, reports and results are plain picklable
values.
No torch.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class Report:
    """How far a job has come.

    Parameters
    ----------
    done, total : int
        Steps behind and in all; `total` is 0 while it is not known.
    text : str
        What is going on, for a person ("slice 3 of 30").
    values : dict
        What a caller may show as it comes: losses, scores, a finished plane.
    """

    done: int
    total: int
    text: str = ""
    values: dict[str, Any] = field(default_factory=dict)


Job = Generator[Report, None, Result]


def drain(job: Job[Result]) -> Result:
    """Run a job to its end and give its result."""
    while True:
        try:
            next(job)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
