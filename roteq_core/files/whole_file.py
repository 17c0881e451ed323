"""Files that appear under their name only when they are whole. No torch."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a name to write to; what is written then takes the path's place.

    A full disk or an error leaves what was there before, and nothing beside it.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
        os.replace(partial, path)
    except OSError as error:
        raise OSError(f"could not write {path}: {in_words(error)}") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def in_words(error: OSError) -> str:
    """Say what is wrong with a disk in plain words."""
    return "the disk is full" if error.errno == errno.ENOSPC else str(error)
