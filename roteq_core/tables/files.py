"""Reading text strictly, writing it at once or not at all, noticing other writers."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

SIDECAR_SUFFIX = ".roteq.csv"


class FileChangedError(OSError):
    """A file that was to be overwritten is not the one that was read."""


def sidecar_path(path: Path) -> Path:
    """Give the file beside a text table that holds what the format cannot."""
    return path.with_name(path.name + SIDECAR_SUFFIX)


def read_text(path: Path) -> str:
    """Read UTF-8 text, with or without a byte order mark."""
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path.name}: tables must be UTF-8 text, got byte "
            f"0x{content[error.start]:02x} in line {line}; save it as UTF-8"
        ) from error


def fingerprint(path: str | os.PathLike[str]) -> str:
    """Identify a table's content, the file beside it included; empty if there is none.

    Parameters
    ----------
    path : path
        Of the table.

    Returns
    -------
    str
        Changes whenever the content does, and not with the time of writing.
    """
    path = Path(path)
    both = (path, sidecar_path(path))
    return fingerprint_of({file: file.read_bytes() for file in both if file.is_file()})


def fingerprint_of(contents: Mapping[Path, bytes]) -> str:
    """Give the fingerprint that files will have once these bytes are written."""
    if not contents:
        return ""
    digest = hashlib.sha256()
    for path in sorted(contents):
        digest.update(b"%d:" % len(contents[path]))
        digest.update(contents[path])
    return digest.hexdigest()


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file by new content, so that a crash leaves either the old or the new.

    Links are followed and the file's permissions kept.
    """
    path = Path(os.path.realpath(path))
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, _mode_for(path))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    sync_folder(path.parent)


def _mode_for(path: Path) -> int:
    if path.exists():
        return path.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the system lets us."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def summarize(names: Iterable[str], most: int = 5) -> str:
    """List a few names for an error message."""
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
