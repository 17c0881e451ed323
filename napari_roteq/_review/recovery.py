"""Going on with a review after a crash (no Qt)."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from napari_roteq._review.cars import ReviewedCars
from napari_roteq._review.edits import Change, Edit, change_of
from napari_roteq._review.history import SAVING, History, Operation, edit_record
from napari_roteq._review.journal import (
    JournalContent,
    JournalError,
    aside_path,
    journal_bytes,
    journal_path,
    read_journal,
    retire_journal,
)
from roteq_core.tables import Car, fingerprint, write_atomically

# A car of a changed table is the one that was reviewed if it is as near as this.
_NEAR_PX = 20.0
Record = Mapping[str, Any]


@dataclass(frozen=True)
class Unfinished:
    """A review that was not saved.

    Parameters
    ----------
    table : Path
        What was reviewed.
    actions : int
        How many are waiting, undone ones and undos included.
    reviewer, started, last : str
        Who, since when, until when.
    is_table_changed : bool
        Whether the table is another one than that which was reviewed.
    """

    table: Path
    actions: int
    reviewer: str
    started: str
    last: str
    is_table_changed: bool


class UnfinishedReviewError(ValueError):
    """A table cannot simply be opened: an unsaved review of it waits.

    `unfinished` tells about it.
    """

    def __init__(self, unfinished: Unfinished) -> None:
        super().__init__(
            f"{unfinished.table.name} has a review of {unfinished.actions} actions "
            "that was not saved: recover or discard it"
        )
        self.unfinished = unfinished


class TableChangedError(UnfinishedReviewError):
    """An unsaved review waits, but its table has been changed since."""


def find_unfinished(table: Path) -> Unfinished | None:
    """Look for a review of a table that was not saved."""
    if not journal_path(table).exists():
        return None
    content = read_journal(journal_path(table))
    records, is_changed = pending(content, fingerprint(table))
    if not records:
        return None
    header = content.header
    return Unfinished(
        table,
        len(records),
        str(header.get("reviewer", "")),
        str(header.get("started", "")),
        str(records[-1].get("at", "")),
        is_changed,
    )


def discard_unfinished(table: Path, when: str) -> Path | None:
    """Set a table's journal aside under another name, and give that name."""
    journal = journal_path(table)
    if not journal.exists():
        return None
    return journal.rename(aside_path(table, when))


def pending(content: JournalContent, current: str) -> tuple[list[Record], bool]:
    """Tell which records of a journal are not in the table.

    Parameters
    ----------
    content : JournalContent
        The journal.
    current : str
        The table's fingerprint.

    Returns
    -------
    records : list
        What is to be done again.
    is_changed : bool
        Whether the table is neither the one reviewed nor the one saved.
    """
    rows = content.records
    saved = [
        number
        for number, row in enumerate(rows, 1)
        if row.get("op") == SAVING and row.get("fingerprint") == current
    ]
    later = rows[saved[-1] :] if saved else rows
    is_changed = not saved and content.header.get("fingerprint") != current
    return [row for row in later if row.get("op") != SAVING], is_changed


def resume(history: History, *, replay_changed: bool) -> tuple[str, ...]:
    """Do again what the journal of a history's table says.

    Parameters
    ----------
    history : History
        Of the table as it is on disk, with nothing done yet.
    replay_changed : bool
        Whether to go on if the table has changed: then cars are found by id and place,
        the old journal is kept aside, and a new one begins.

    Returns
    -------
    tuple of str
        What could not be done again.
    """
    assert history.path is not None
    journal = journal_path(history.path)
    content = read_journal(journal)
    records, is_changed = pending(content, history.table.fingerprint)
    if is_changed and not replay_changed:
        unfinished = find_unfinished(history.path)
        if unfinished is not None:
            raise TableChangedError(unfinished)
    if not records:
        retire_journal(history.path)
        return ()
    history.go_on_with(content.size)
    steps, conflicts = _replay(history, records, is_lenient=is_changed)
    if is_changed:
        history.close()
        shutil.copy2(journal, aside_path(history.path, history.now()))
        header = history.header(str(content.header.get("reviewer", "")))
        lines = journal_bytes(header, [edit_record(*step) for step in steps])
        write_atomically(journal, lines)
        history.go_on_with(len(lines))
    return conflicts


def _replay(
    history: History, records: Sequence[Record], *, is_lenient: bool
) -> tuple[list[tuple[Operation, Edit]], tuple[str, ...]]:
    finder = _Finder(history.cars, is_lenient)
    steps = []
    for number, record in enumerate(records, 1):
        try:
            changes = finder.changes(record)
            edit = Edit(record["action"], changes, record["by"], record["at"])
            operation: Operation = record["op"]
        except (KeyError, TypeError, ValueError) as error:
            raise JournalError(f"action {number} cannot be done: {error}") from error
        history.commit(operation, edit)
        steps.append((operation, edit))
    return steps, tuple(finder.conflicts)


class _Finder:
    """Finds the cars of a journal's records in a table that may be another one."""

    def __init__(self, cars: ReviewedCars, is_lenient: bool) -> None:
        self.conflicts: list[str] = []
        self._cars = cars
        self._is_lenient = is_lenient
        self._found: dict[str, str | None] = {}

    def changes(self, record: Record) -> tuple[Change, ...]:
        """Read the changes of a record; those of unknown cars become conflicts."""
        changes = []
        for row in record["changes"]:
            car_id = self._id_of(row)
            if car_id is None:
                self._refuse(record, row)
                continue
            change = change_of({**row, "id": car_id}, self._cars.by_id.get(car_id))
            if change.before is None and change.after is not None:
                change = replace(change, after=replace(change.after, id=car_id))
            changes.append(change)
        return tuple(changes)

    def _id_of(self, row: Record) -> str | None:
        car_id = row["id"]
        if not self._is_lenient:
            is_there = car_id in self._cars.by_id
            return car_id if is_there != ("add" in row) else None
        if car_id not in self._found:
            is_new = "add" in row
            self._found[car_id] = self._new_id(row) if is_new else self._nearest(row)
        found = self._found[car_id]
        is_there = found in self._cars.by_id
        return found if is_there != ("add" in row) else None

    def _new_id(self, row: Record) -> str:
        car_id: str = row["id"]
        return self._cars.new_id() if car_id in self._cars.by_id else car_id

    def _nearest(self, row: Record) -> str | None:
        same = self._cars.by_id.get(row["id"])
        if same is not None and _distance(same, row) <= _NEAR_PX:
            return same.id
        taken = set(self._found.values())
        free = [car for car in self._cars if car.id not in taken]
        nearest = min(free, key=lambda car: _distance(car, row), default=None)
        if nearest is None or _distance(nearest, row) > _NEAR_PX:
            return None
        return nearest.id

    def _refuse(self, record: Record, row: Record) -> None:
        x, y = row.get("near", (math.nan, math.nan))
        what = f"{record['action']} of car {row['id']} at ({x:.0f}, {y:.0f})"
        if not self._is_lenient:
            raise ValueError(f"{what}: there is no such car")
        self.conflicts.append(f"{what}: there is no such car in the table any more")


def _distance(car: Car, row: Record) -> float:
    if car.file != row.get("file", ""):
        return math.inf
    x, y = row["near"]
    return math.hypot(car.cx - x, car.cy - y)
