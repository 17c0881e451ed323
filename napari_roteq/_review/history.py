"""What was done in a review: undo, redo, the journal, saving (no Qt)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from napari_roteq._review.cars import ReviewedCars
from napari_roteq._review.edits import Change, Edit, record_of
from napari_roteq._review.journal import Journal, journal_path, retire_journal
from napari_roteq._review.stats import ReviewPace, Tally
from roteq_core.tables import (
    CarTable,
    FileChangedError,
    fingerprint,
    fingerprint_of,
    render_cars,
    write_rendered,
)

Operation = Literal["do", "undo", "redo"]
SAVING = "saving"


class History:
    """The cars of a review and everything that was done to them.

    An edit is first written to the journal, then done: what cannot be written down
    does not happen.

    Parameters
    ----------
    table : CarTable
        As it was opened.
    path : Path, optional
        Its file; without one there is no journal.
    clock : function
        Gives the time.
    """

    def __init__(
        self, table: CarTable, path: Path | None, clock: Callable[[], datetime]
    ) -> None:
        self.path = path
        self.cars = ReviewedCars(table)
        self.tally = Tally(self.cars.by_id)
        self.pace = ReviewPace()
        self.is_saved = True
        self.undone: list[Edit] = []
        self.done: list[Edit] = []
        self._clock = clock
        self._source = table
        self._journal: Journal | None = None

    @property
    def table(self) -> CarTable:
        """The table as it is now; its fingerprint is the file's."""
        return self._source.with_cars(self.cars)

    def do(self, action: str, changes: tuple[Change, ...], by: str) -> Edit:
        """Write an edit down and do it."""
        edit = Edit(action, changes, by, self.now())
        self._run("do", edit)
        return edit

    def undo(self) -> Edit | None:
        """Take the last edit back; gives what was done for it, or None."""
        if not self.done:
            return None
        return self._run("undo", self.done[-1].reversed())

    def redo(self) -> Edit | None:
        """Do again what was undone last; gives the edit, or None."""
        if not self.undone:
            return None
        return self._run("redo", self.undone[-1])

    def now(self) -> str:
        """Give the time as it is written down."""
        return self._clock().isoformat(timespec="seconds")

    def _run(self, operation: Operation, edit: Edit) -> Edit:
        self._write_down(edit_record(operation, edit))
        self.commit(operation, edit)
        self.pace.note(self._clock(), *(change.car_id for change in edit.changes))
        return edit

    def commit(self, operation: Operation, edit: Edit) -> None:
        """Do an edit that is already written down.

        Parameters
        ----------
        operation : {"do", "undo", "redo"}
            How it came about.
        edit : Edit
            What is to be done; for "undo" the reverse of what was done first.
        """
        for change in edit.changes:
            self.cars.apply(change)
            self.tally.update(change.car_id, change.before, change.after)
        self.is_saved = False
        if operation == "undo":
            del self.done[-1:]
            self.undone.append(edit.reversed())
            return
        if operation == "redo":
            del self.undone[-1:]
        else:
            self.undone.clear()
        self.done.append(edit)

    def header(self, reviewer: str = "") -> dict[str, Any]:
        """Give the first line of a journal for the file as it is."""
        return {
            "table": "" if self.path is None else self.path.name,
            "fingerprint": self._source.fingerprint,
            "reviewer": reviewer,
            "started": self.now(),
        }

    def go_on_with(self, size: int) -> None:
        """Write on in the journal that is there, after its first `size` bytes."""
        assert self.path is not None
        self._journal = Journal(journal_path(self.path), self.header(), size)

    def _write_down(self, record: dict[str, Any]) -> None:
        if self.path is None:
            return
        if self._journal is None:
            by = str(record.get("by", ""))
            self._journal = Journal(journal_path(self.path), self.header(by))
        self._journal.append(record)

    def save(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        overwrite_changed: bool = False,
        **options: Any,
    ) -> None:
        """Write the table and retire the journal; see `ReviewQueue.save`."""
        target = self.path if path is None else Path(path)
        if target is None:
            raise ValueError("a path must be given: the review was not opened from one")
        is_own = self.path is not None and _is_same(target, self.path)
        if is_own:
            options["format"] = options.get("format") or self._source.format
        known = self._source.fingerprint if is_own else ""
        if not overwrite_changed and fingerprint(target) != known:
            raise FileChangedError(
                f"{target.name} has changed on disk since it was opened"
                if is_own
                else f"{target.name} exists already"
            )
        contents = render_cars(self.table, target, **options)
        if is_own and self._journal is not None:
            # If the power fails between here and the last line of this function, the
            # table itself tells whether these actions are in it.
            promised = fingerprint_of(contents)
            self._journal.append({"op": SAVING, "fingerprint": promised})
        expected = None if overwrite_changed else known
        written = write_rendered(contents, target, if_changed_since=expected)
        self.close()
        if self.path is not None:
            retire_journal(self.path)
        self.path = target
        self._source = replace(self._source, fingerprint=written)
        self.is_saved = True

    def close(self) -> None:
        """Let go of the journal; it stays where it is."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None


def edit_record(operation: Operation, edit: Edit) -> dict[str, Any]:
    """Write an edit as a line of the journal."""
    return {
        "op": operation,
        "action": edit.action,
        "by": edit.by,
        "at": edit.at,
        "changes": [record_of(change) for change in edit.changes],
    }


def _is_same(a: Path, b: Path) -> bool:
    return os.path.realpath(a) == os.path.realpath(b)
