"""What `roteq train cars` and `roteq train finder` share: a run that can be stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roteq_core.cli.progress import follow, say
from roteq_core.jobs import Job, Report


def say_orientations(images: Sequence[Path]) -> None:
    """Note images that ask to be turned."""
    from roteq_core.cars.pictures import orientation_notes

    for note in orientation_notes(images):
        say(f"note: {note}")


def follow_run(job: Job[Any], label: str, run: Path, output: Path, make: Any) -> Any:
    """Run a training; after Ctrl-C save the model so far.

    Parameters
    ----------
    job : Job
        Of a model.
    label : str
        What stands before the bar.
    run, output : path
        The run's folder, and the model's file.
    make : MakeModel
        Makes the model of what the run has come to.
    """
    from roteq_core.cars.runs import save_unfinished
    from roteq_core.training.run_folder import LAST

    def keep() -> None:
        if (run / LAST).is_file():
            path = save_unfinished(run, output, make)
            say(f"wrote {path}; --resume goes on from here")
        else:
            say(f"no epoch came to its end: there is nothing to save in {run}")

    say(f"run in {run}")
    return follow(job, label, _line, keep)


def _line(report: Report) -> str | None:
    if "note" in report.values:
        return f"note: {report.text}"
    return report.text if "loss" in report.values else None
