"""What every command shares: a progress bar over a job, and errors in one sentence."""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from roteq_core.cli.option_names import in_options
from roteq_core.jobs import Job, Report

Result = TypeVar("Result")
console = Console(stderr=True)
STOPPED = 130  # what shells give for a program that Ctrl-C ended


def follow(
    job: Job[Result],
    label: str,
    on_report: Callable[[Report], str | None] | None = None,
    on_stop: Callable[[], None] | None = None,
) -> Result:
    """Run a job under a progress bar on the terminal; Ctrl-C stops it cleanly.

    Parameters
    ----------
    job : Job
    label : str
        What stands before the bar.
    on_report : callable, optional
        Sees each report; a text that it returns is printed above the bar.
    on_stop : callable, optional
        Called after Ctrl-C, when the job has ended.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[text]}", markup=False),
    )
    try:
        with Progress(*columns, console=console, transient=True) as bar:
            line = bar.add_task(label, total=None, text="")
            while True:
                report = next(job)
                total = report.total or None
                bar.update(line, total=total, completed=report.done, text=report.text)
                if on_report and (text := on_report(report)):
                    say(text)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    except KeyboardInterrupt:
        job.close()
        say("stopped")
        if on_stop:
            on_stop()
        raise typer.Exit(STOPPED) from None


def say(text: str) -> None:
    """Print a line for the person at the terminal; standard output is for results."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _full_disk(error: Exception) -> str | None:
    """Name the file for which there was no room, if that is what went wrong."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"could not write {error.filename or 'a file'}: the disk is full"
    return None


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Show users' mistakes as one sentence and exit with 1, without a traceback."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except (ValueError, OSError, MemoryError) as error:
            console.print("[red]error:[/red]", end=" ")
            text = _full_disk(error) or str(error)
            say(in_options(text) or type(error).__name__)
            raise typer.Exit(1) from None

    return run
