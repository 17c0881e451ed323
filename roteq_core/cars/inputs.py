"""What is given to work on cars, refused by a sentence where it is not there."""

from __future__ import annotations

from pathlib import Path


def check_table_file(path: Path | str) -> None:
    """Refuse a table of cars that is not a file."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"a table of cars must be a file, got the folder {path}")
    if not path.is_file():
        raise ValueError(f"there is no table of cars {path}")
