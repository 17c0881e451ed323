"""The review queue: order, edits, undo and redo, provenance, journal (no Qt).

Every action makes an `Edit`, which is written to the journal, then done. The widget
draws what `changed` tells it and asks for `car`, `table` and `stats`.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from napari_roteq._review.actions import ReviewActions
from napari_roteq._review.edits import Edit
from napari_roteq._review.history import History
from napari_roteq._review.journal import retire_journal
from napari_roteq._review.order import Order, ordered
from napari_roteq._review.recovery import (
    UnfinishedReviewError,
    find_unfinished,
    resume,
)
from napari_roteq._review.stats import ReviewStats
from roteq_core.tables import REVIEWED, CarTable, Format, read_cars, write_cars


def utc_now() -> datetime:
    """Give the time, with its zone."""
    return datetime.now(UTC)


class ReviewQueue(ReviewActions):
    """A review of a table of cars: an order to see them in, and what one does there.

    Parameters
    ----------
    table : CarTable
        What is reviewed.
    path : path, optional
        The table's file, beside which the journal is kept; without it there is none.
        Use `open` for files, and `start` for cars that are in none yet.
    reviewer : str
        Goes into the cars one touches.
    clock : function
        Gives the time.
    """

    def __init__(
        self,
        table: CarTable,
        *,
        path: str | os.PathLike[str] | None = None,
        reviewer: str = "",
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        file = None if path is None else Path(path)
        super().__init__(History(table, file, clock), reviewer)
        self.conflicts: tuple[str, ...] = ()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        reviewer: str = "",
        clock: Callable[[], datetime] = utc_now,
        **reading: Any,
    ) -> ReviewQueue:
        """Open a table for review.

        Parameters
        ----------
        path : path
            Of the table.
        reviewer : str
            Goes into the cars one touches.
        clock : function
            Gives the time.
        **reading
            Options of `roteq_core.tables.read_cars`.

        Raises
        ------
        UnfinishedReviewError
            If a review of this table was not saved: `recover` or discard it first.
        """
        path = Path(path)
        unfinished = find_unfinished(path)
        if unfinished is not None:
            raise UnfinishedReviewError(unfinished)
        retire_journal(path)
        table = read_cars(path, **reading)
        return cls(table, path=path, reviewer=reviewer, clock=clock)

    @classmethod
    def recover(
        cls,
        path: str | os.PathLike[str],
        *,
        reviewer: str = "",
        clock: Callable[[], datetime] = utc_now,
        replay_changed: bool = False,
        **reading: Any,
    ) -> ReviewQueue:
        """Go on with a review that was not saved, with all of its undo and redo.

        Parameters
        ----------
        path, reviewer, clock, **reading
            As for `open`.
        replay_changed : bool
            Do the actions again although the table has changed since; cars are then
            found by id and place, and `conflicts` lists what could not be done.

        Raises
        ------
        TableChangedError
            If the table has changed and `replay_changed` is not set.
        """
        path = Path(path)
        table = read_cars(path, **reading)
        queue = cls(table, path=path, reviewer=reviewer, clock=clock)
        queue.conflicts = resume(queue._history, replay_changed=replay_changed)
        queue._route.set_order([car.id for car in queue._cars], None)
        return queue

    @classmethod
    def start(
        cls,
        table: CarTable,
        path: str | os.PathLike[str],
        *,
        reviewer: str = "",
        clock: Callable[[], datetime] = utc_now,
        **writing: Any,
    ) -> ReviewQueue:
        """Begin a review of cars that are in no file yet: they are written first.

        Parameters
        ----------
        table : CarTable
            From a model, or drawn by hand.
        path : path
            A new file.
        reviewer, clock
            As for `open`.
        **writing
            Options of `roteq_core.tables.write_cars`.

        Raises
        ------
        FileChangedError
            If there is such a file already.
        """
        write_cars(table, path, if_changed_since="", **writing)
        return cls.open(path, reviewer=reviewer, clock=clock)

    def __len__(self) -> int:
        return len(self._cars)

    @property
    def path(self) -> Path | None:
        """The table's file."""
        return self._history.path

    @property
    def table(self) -> CarTable:
        """The table as it is now."""
        return self._history.table

    @property
    def is_saved(self) -> bool:
        """Whether the file holds everything."""
        return self._history.is_saved

    @property
    def can_undo(self) -> bool:
        """Whether there is an action to take back."""
        return bool(self._history.done)

    @property
    def can_redo(self) -> bool:
        """Whether there is an action to do again."""
        return bool(self._history.undone)

    def stats(self) -> ReviewStats:
        """Give the review in numbers."""
        return self._history.tally.stats(self._history.pace.cars_per_minute)

    @property
    def ids(self) -> list[str]:
        """The ids to be seen, in order."""
        return self._route.ids

    @property
    def skipped(self) -> list[str]:
        """The ids in the order that were passed without a decision, in order."""
        ids = itertools.takewhile(lambda car_id: car_id != self.current, self.ids)
        return [car_id for car_id in ids if self.car(car_id).status not in REVIEWED]

    def set_order(
        self,
        order: Order = "uncertain",
        *,
        statuses: Iterable[str] | None = None,
        file: str | None = None,
        seed: int = 0,
        sample: int | None = None,
    ) -> None:
        """Put the cars in a new order, show those of some statuses, and start over.

        The order stays as it is until it is set again, whatever edits change. With
        `file`, only cars of that image, and those that name none, are on the way. See
        `napari_roteq._review.order.ordered`.
        """
        shown = None if statuses is None else frozenset(statuses)
        cars = {
            car.id: car
            for car in self._cars
            if (shown is None or car.status in shown)
            and (file is None or car.file in ("", file))
        }
        self._route.set_order(ordered(cars, order, seed=seed, sample=sample), shown)
        self.moved.emit(self.current)

    def next(self) -> str | None:
        """Go to the next car; None, and no step, at the end."""
        return self._step(1)

    def previous(self) -> str | None:
        """Go to the car before; None, and no step, at the start."""
        return self._step(-1)

    def _step(self, by: int) -> str | None:
        car_id = self._route.step(by)
        if car_id is not None:
            self.moved.emit(car_id)
        return car_id

    def go_to(self, which: str | int) -> None:
        """Go to a car by id or row."""
        self._route.go_to(self.id_of(which))
        self.moved.emit(self.current)

    def undo(self) -> Edit | None:
        """Take the last action back and go to its car; None if there is none."""
        edit = self._history.undo()
        if edit is not None:
            self._show(edit, follow=True)
        return edit

    def redo(self) -> Edit | None:
        """Do again what was undone last and go to its car; None if there is none."""
        edit = self._history.redo()
        if edit is not None:
            self._show(edit, follow=True)
        return edit

    def save(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        overwrite_changed: bool = False,
        format: Format | None = None,
        **options: Any,
    ) -> None:
        """Write the table; the journal has then done its work. Undo goes on working.

        Parameters
        ----------
        path : path, optional
            Another file, which is then the one that is reviewed.
        overwrite_changed : bool
            Write although the file was changed by others, or is there already.
        format, **options
            As for `roteq_core.tables.write_cars`.

        Raises
        ------
        FileChangedError
            Nothing was written: ask the reviewer, then set `overwrite_changed`.
        """
        self._history.save(
            path, overwrite_changed=overwrite_changed, format=format, **options
        )

    def close(self) -> None:
        """Let go of the journal; unsaved actions stay in it."""
        self._history.close()
