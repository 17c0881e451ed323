"""What a training keeps beside its weights: its data, its last prediction. No torch."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from roteq_core.jobs import Job

Result = TypeVar("Result")
DATA, PREVIEW = "data.npz", "preview.npz"
_SHOWN = ("preview", "preview_angles")  # arrays of a report that are kept


def write_npz(path: Path, arrays: dict[str, np.ndarray], about: Any) -> None:
    """Write arrays and plain values at once: the old file stays until then."""
    partial = path.with_name(path.name + ".partial")
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with partial.open("wb") as file:
        np.savez_compressed(file, about=text, **arrays)  # type: ignore[arg-type]
    os.replace(partial, path)


def read_npz(path: Path) -> tuple[dict[str, np.ndarray], Any]:
    """Read what `write_npz` wrote; never a pickle."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(arrays.pop("about").tobytes().decode())
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path} does not hold the data of a run: {error}") from error
    return arrays, about


def keep_preview(job: Job[Result], folder: Path | str) -> Job[Result]:
    """Run a training, and keep what it predicted last of what is held out."""
    path = Path(folder) / PREVIEW
    while True:
        try:
            report = next(job)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if "updated" in report.values:  # what is held out may have changed
            path.unlink(missing_ok=True)
        if arrays := _shown_in(report.values):
            write_npz(path, arrays, report.values.get("preview_piece"))
        yield report


def _shown_in(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.asarray(values[name]) for name in _SHOWN if name in values}


def read_preview(folder: Path | str) -> dict[str, Any]:
    """Give what a run predicted last, named as in its reports; empty if nothing."""
    path = Path(folder) / PREVIEW
    if not path.is_file():
        return {}
    arrays, piece = read_npz(path)
    return {**arrays, **({} if piece is None else {"preview_piece": tuple(piece)})}
