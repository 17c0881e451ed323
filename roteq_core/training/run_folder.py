"""The folder of a training: what it was asked, its log, curves and checkpoints.

    run.json            options, network, data and their fingerprint
    log.csv             one row for each epoch
    curves.png          losses and scores over the steps
    last.safetensors    to go on from; best.safetensors by the held-out score

No torch, so that a viewer may look at a run.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors import SafetensorError, safe_open

from roteq_core.files.whole_file import whole_file
from roteq_core.jobs import Job

Result = TypeVar("Result")
RUN, LOG, CURVES, LAST = "run.json", "log.csv", "curves.png", "last.safetensors"


def run_folder_of(output: Path | str) -> Path:
    """Where the run of a model goes unless told otherwise."""
    output = Path(output)
    return output.with_name(f"{output.stem}_run")


def start_run(folder: Path | str, asked: dict[str, Any], *, resume: bool) -> None:
    """Write down what a run is asked, or see that it is asked the same again.

    Parameters
    ----------
    folder : path
    asked : dict of plain values
        With the fingerprint of the data under ``data``.
    resume : bool
        Whether a run in this folder goes on. A run that is there is never overwritten.
    """
    folder = Path(folder)
    has_run = (folder / LAST).is_file()
    if resume:
        _check_resumable(folder, asked, has_run)
        return
    if has_run:
        raise ValueError(
            f"there is a run in {folder} already: resume it, remove it, or choose "
            "another folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_run(folder, asked)


def _check_resumable(folder: Path, asked: dict[str, Any], has_run: bool) -> None:
    if not has_run:
        raise ValueError(f"there is nothing to resume in {folder}")
    before = read_run(folder).get("data", {})
    now = json.loads(json.dumps(asked.get("data", {})))
    if before.get("fingerprint") != now.get("fingerprint"):
        raise ValueError(
            "a run is resumed with the data it had; images, labels (the table of cars) "
            f"or what is held out are not those of {folder}"
        )


def read_run(folder: Path | str) -> dict[str, Any]:
    """Read what a run was asked."""
    path = Path(folder) / RUN
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} does not describe a run: {error}") from error


def write_run(folder: Path | str, asked: dict[str, Any]) -> None:
    """Write what a run was asked."""
    _write_text(Path(folder) / RUN, json.dumps(asked, indent=2))


def note_data(folder: Path | str, data: dict[str, Any]) -> None:
    """Write down that a run goes on with other data, and which it had before."""
    asked = read_run(folder)
    before = asked.get("data", {}).get("fingerprint")
    asked["earlier_data"] = [*asked.get("earlier_data", []), before]
    asked["data"] = data
    write_run(folder, asked)


def read_log(folder: Path | str) -> list[dict[str, Any]]:
    """Read the log of a run from its last checkpoint; empty before there is one."""
    path = Path(folder) / LAST
    if not path.is_file():
        return []
    try:
        with safe_open(path, framework="numpy") as file:
            return list(json.loads((file.metadata() or {})["record"])["log"])
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is not a readable checkpoint: {error}") from error


def keep_log(
    job: Job[Result],
    folder: Path | str,
    *,
    draw: Callable[[list[dict[str, Any]], Path], None] | None = None,
) -> Job[Result]:
    """Run a training, and bring log and curves up to date after each epoch."""
    folder = Path(folder)
    draw = draw or draw_curves
    written = 0
    while True:
        try:
            report = next(job)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if "is_best" in report.values and report.done != written:
            rows, written = read_log(folder), report.done
            write_log(rows, folder / LOG)
            draw(rows, folder / CURVES)
        yield report


def write_log(rows: list[dict[str, Any]], path: Path) -> None:
    """Write rows as CSV, with all columns that any of them has."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with (
        whole_file(path) as partial,
        partial.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def draw_curves(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw losses and scores over the steps."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    losses, scores = figure.subplots(1, 2)
    for name in ("loss", "validation_loss", "class", "gap", "direction"):
        _draw(losses, rows, name)
    for name in ("v_rand", "v_info", "pixels_right", "error_deg"):
        _draw(scores, rows, name)
    is_positive = all(row.get("loss", 1.0) > 0 for row in rows)
    losses.set(xlabel="step", ylabel="loss", yscale="log" if is_positive else "linear")
    scores.set(xlabel="step", ylabel="held-out score")
    for axis in (losses, scores):
        if axis.get_legend_handles_labels()[1]:
            axis.legend()
    with whole_file(path) as partial:
        figure.savefig(partial, dpi=100, format="png")


def _draw(axis: Any, rows: list[dict[str, Any]], name: str) -> None:
    points = [(row["step"], row[name]) for row in rows if name in row]
    if points:
        axis.plot(*np.array(points).T, marker=".", label=name)


def fingerprint(*arrays: np.ndarray) -> str:
    """Give 16 digits that change with any value, shape or type of the arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.shape} {array.dtype.str}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]


def _write_text(path: Path, text: str) -> None:
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")
