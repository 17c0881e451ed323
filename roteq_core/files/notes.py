"""What a person may not expect of how files were read, in sentences. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from roteq_core.files.pixel_size import Sides, square_side


def in_one_note(*notes: str) -> str:
    """Put notes together, leaving out empty ones."""
    return "; ".join(note for note in notes if note)


def stacks_of(
    path: Path, lead: tuple[int, ...], times: int, *, is_cut_off: bool = False
) -> tuple[int | None, str]:
    """Give the depth of each time point, and a note; None and "" if all is one stack.

    Time points of one plane each are slices: many writers call them so. `lead` are the
    sizes before rows and columns.
    """
    planes = int(np.prod(lead, dtype=int))
    if is_cut_off:
        return None, f"{path} may be cut off: {planes} planes of it can be read"
    named = [n for n in lead if n > 1]
    if times == 1 and len(named) > 1:
        sizes = " × ".join(map(str, named))
        note = f"{path} was read with its {sizes} planes as one stack of {planes}"
        return None, note
    if times in (1, planes):
        return None, ""
    depth = planes // times
    note = (
        f"{path} was read with its {times} time points of {depth} slices one after the "
        f"other, {planes} in all; cells are linked within each"
    )
    return depth, note


def note_of_sides(path: Path, sides: Sides | None) -> str:
    """Say that pixels are not square, if so: then their size is not taken over."""
    if sides is None or square_side(sides) is not None:
        return ""
    height, width = sides
    return (
        f"{path} says that its pixels are {width:.4g} nm wide and {height:.4g} nm "
        "high: no pixel size is taken from it, since pixels must be square"
    )


def note_of_white(path: Path, *, is_zero: bool) -> str:
    """Say that viewers show the opposite of the numbers, if white is stored as zero."""
    if not is_zero:
        return ""
    return (
        f"{path} is stored with white as zero, and its numbers are read as they are: "
        "what other programs show dark is bright here. If membranes look dark there, "
        "segment with --inverted"
    )


def note_of_stacks(path: Path, depths: Mapping[str, int]) -> str:
    """Say that stacks were put together; images and labels may lie side by side.

    `depths` are the planes of each file by its name.
    """
    if len(depths) == 1 or all(depth == 1 for depth in depths.values()):
        return ""
    return (
        f"the folder {path} was read with its {len(depths)} stacks "
        f"({', '.join([*depths][:4])}) as one of "
        f"{sum(depths.values())} slices; name a file to read it alone"
    )


def note_of_files(notes: Sequence[str]) -> str:
    """Give the first note of the files of a folder, and count the others."""
    told = [note for note in notes if note]
    if len(told) < 2:
        return "".join(told)
    return f"{told[0]} (the first of {len(told)} files with a note)"


def size_of_all(
    path: Path, sizes: Mapping[str, float | None]
) -> tuple[float | None, str]:
    """Give the pixel size of files by name, and a note if they say different ones.

    Files that tell none have that of the others.
    """
    told = {name: size for name, size in sizes.items() if size is not None}
    if not told:
        return None, ""
    least, most = min(told, key=told.__getitem__), max(told, key=told.__getitem__)
    if square_side((told[least], told[most])) is not None:
        return next(iter(told.values())), ""
    return None, (
        f"the files of the folder {path} say different pixel sizes, {told[least]:.4g} "
        f"nm in {least} and {told[most]:.4g} nm in {most}: none is taken from them"
    )
