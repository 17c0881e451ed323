"""The journal of a review: one JSON line an action, on disk before the next (no Qt).

It lies beside the table, as `cars.csv.review.jsonl`, while there is something to lose.
The first line says which table it belongs to; when the table is saved, the lines move
to `cars.csv.review.done.jsonl`, which only grows.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roteq_core.tables.files import sync_folder

try:
    import fcntl
except ImportError:  # Windows: a second program is not noticed there
    fcntl = None  # type: ignore[assignment]

VERSION = 1
_KIND = "roteq_review"


class JournalError(ValueError):
    """A journal that cannot be used: of a newer version, broken, or in use."""


def journal_path(table: Path) -> Path:
    """Give the journal of unsaved actions beside a table."""
    return table.with_name(table.name + ".review.jsonl")


def done_path(table: Path) -> Path:
    """Give the log of actions that have been saved."""
    return table.with_name(table.name + ".review.done.jsonl")


@dataclass(frozen=True)
class JournalContent:
    """What a journal holds.

    Parameters
    ----------
    header : dict
        The first line.
    records : tuple of dict
        The actions.
    size : int
        Bytes up to the end of the last whole line; what follows was torn by a crash.
    """

    header: dict[str, Any]
    records: tuple[dict[str, Any], ...]
    size: int


def read_journal(path: Path) -> JournalContent:
    """Read a journal; a last line without its end is left out."""
    content = path.read_bytes()
    size = content.rfind(b"\n") + 1
    rows = []
    for number, line in enumerate(content[:size].splitlines(), 1):
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise JournalError(
                f"{path.name}: line {number} must be JSON: {error}"
            ) from error
    if not rows:
        return JournalContent({}, (), 0)
    header = rows[0]
    if not isinstance(header, dict) or header.get(_KIND) != VERSION:
        raise JournalError(
            f"{path.name}: a journal must begin with {_KIND} version {VERSION}, got "
            f"{str(header)[:80]}"
        )
    return JournalContent(header, tuple(rows[1:]), size)


class Journal:
    """An open journal that nobody else may write.

    Parameters
    ----------
    path : Path
        The file.
    header : mapping
        Its first line, where it is new.
    size : int, optional
        To go on with an old one: the bytes to keep; see `JournalContent`.
    """

    def __init__(
        self, path: Path, header: Mapping[str, Any], size: int | None = None
    ) -> None:
        self.path = path
        flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
        if size is None:
            flags |= os.O_CREAT | os.O_EXCL
        self._file = os.open(path, flags, 0o666)
        try:
            self._lock()
            if size is not None:
                os.ftruncate(self._file, size)
            if not size:
                self.append({_KIND: VERSION, **header})
                sync_folder(path.parent)
        except BaseException:
            self.close()
            raise

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise JournalError(
                f"{self.path.name} is in use: the table is being reviewed in another "
                "window"
            ) from error

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one line and wait until it is on disk."""
        line = _line(record)
        start = os.fstat(self._file).st_size
        try:
            _write_all(self._file, line)
            os.fsync(self._file)
        except OSError:
            # Half a line must not stand before the next whole one.
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, start)
            raise

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def retire_journal(table: Path) -> None:
    """Move the lines of a table's journal to its log of saved actions."""
    path = journal_path(table)
    if not path.exists():
        return
    content = read_journal(path)
    journal = Journal(path, content.header, content.size)  # or it is in use
    try:
        lines = path.read_bytes()[: content.size]
        with done_path(table).open("ab") as log:
            log.write(lines)
            log.flush()
            os.fsync(log.fileno())
    finally:
        journal.close()
    path.unlink()
    sync_folder(table.parent)


def aside_path(table: Path, when: str) -> Path:
    """Give a name for a journal that is set aside; it exists not yet."""
    tag = "".join(c for c in when if c.isalnum())
    aside = table.with_name(f"{table.name}.review.{tag}.jsonl")
    count = 1
    while aside.exists():
        count += 1
        aside = table.with_name(f"{table.name}.review.{tag}-{count}.jsonl")
    return aside


def journal_bytes(
    header: Mapping[str, Any], records: Iterable[Mapping[str, Any]]
) -> bytes:
    """Write a whole journal."""
    rows = ({_KIND: VERSION, **header}, *records)
    return b"".join(_line(row) for row in rows)


def _line(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(record, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def _write_all(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]
