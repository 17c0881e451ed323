"""The files that a segmentation writes: their names, checks and writers. No torch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from roteq_core.config import SegmentOptions
from roteq_core.files.plane_writer import write_planes


def output_paths(output: Path, options: SegmentOptions) -> dict[str, Path]:
    """Name the files that a segmentation writes."""
    paths = {"probability": output}
    if options.cells:
        paths["cells"] = output.with_name(f"{output.stem}_cells{output.suffix}")
    if options.direction:
        paths["direction"] = output.with_name(f"{output.stem}_direction{output.suffix}")
    return paths


def check_outputs(source: Path, paths: dict[str, Path]) -> None:
    """Refuse outputs that are folders, the input itself, or within it."""
    for path in paths.values():
        if path.is_dir():
            raise ValueError(f"cannot write {path}: there is a folder of that name")
        if path.exists() and path.samefile(source):
            raise ValueError(f"the output {path} must not be the input itself")
        inside = source.is_dir() and path.resolve().is_relative_to(source.resolve())
        if inside:
            raise ValueError(f"the output {path} must not lie in the input {source}")


@contextlib.contextmanager
def open_outputs(
    paths: dict[str, Path], planes: int, *, recipe: dict[str, Any], **sizes: Any
) -> Iterator[dict[str, Callable[[np.ndarray], None]]]:
    """Open a writer for each path; `sizes` go to `write_planes`."""
    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(
                write_planes(
                    path,
                    planes,
                    recipe={**recipe, "content": name},
                    channels=name == "direction",
                    **sizes,
                )
            )
            for name, path in paths.items()
        }
