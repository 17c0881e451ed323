"""Which tables were reviewed last, so that a review can be offered after a crash."""

from __future__ import annotations

import json
from pathlib import Path

from qtpy.QtCore import QStandardPaths

from roteq_core.tables import write_atomically

_MOST = 20


def recent_tables() -> dict[str, str]:
    """Give the tables reviewed last, the latest first, each with its image's file."""
    try:
        listed = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(listed, dict):
        return {}
    return {str(table): str(image) for table, image in listed.items()}


def remember_table(table: Path, image: str | None) -> None:
    """Note that a table is being reviewed; not being able to is no fault."""
    own = str(table.resolve())
    listed = {own: str(image or "")}
    listed |= {each: its for each, its in recent_tables().items() if each != own}
    kept = dict(list(listed.items())[:_MOST])
    try:
        _file().parent.mkdir(parents=True, exist_ok=True)
        write_atomically(_file(), json.dumps(kept, indent=1).encode())
    except OSError:
        return


def image_of(table: Path) -> str | None:
    """Give the image a table was last reviewed over, if it is still there."""
    image = recent_tables().get(str(table.resolve()))
    return image if image and Path(image).exists() else None


def _file() -> Path:
    location = QStandardPaths.StandardLocation.GenericDataLocation
    folder = QStandardPaths.writableLocation(location)
    return Path(folder) / "napari-roteq" / "reviews.json"
