"""Labelled slices to learn membranes from, cut into pieces, kept in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from roteq_core.membranes.held_parts import HeldPart, plan_held_parts
from roteq_core.membranes.label_meaning import MEANINGS, Meaning, read_labels
from roteq_core.normalize import Normalization
from roteq_core.training.run_data import read_npz, write_npz
from roteq_core.training.run_folder import fingerprint


@dataclass(frozen=True)
class LabelledStack:
    """The slices of one image that carry labels.

    Parameters
    ----------
    name, labels_name : str
        Of image and labels, for people.
    images : array of shape (P, H, W)
        Raw gray slices.
    membranes, known : bool arrays of shape (P, H, W)
    planes : tuple of int
        The number of each slice in its source.
    held : tuple of HeldPart
        What is validated on.
    normalization : Normalization
        Fitted to the whole source.
    meaning, reason : str
        How the labels were read, and why.
    """

    name: str
    labels_name: str
    images: np.ndarray
    membranes: np.ndarray
    known: np.ndarray
    planes: tuple[int, ...]
    held: tuple[HeldPart, ...]
    normalization: Normalization
    meaning: str
    reason: str


@dataclass(frozen=True)
class Piece:
    """A rectangle of a slice that is learnt from or validated on, never both.

    Parameters
    ----------
    image : float32 array of shape (H, W)
        Normalized.
    membranes, known : bool arrays of shape (H, W)
    is_held_out : bool
    stack, plane, top, left : int
        Where it was cut: which stack, which slice of its source, its first pixel.
    """

    image: np.ndarray
    membranes: np.ndarray
    known: np.ndarray
    is_held_out: bool = False
    stack: int = 0
    plane: int = 0
    top: int = 0
    left: int = 0


def make_stack(
    read_image: Callable[[int], np.ndarray],
    labels: Sequence[np.ndarray],
    normalization: Normalization,
    *,
    name: str,
    labels_name: str,
    meaning: Meaning | None = None,
    held_out: str = "auto",
    keep_held: Sequence[HeldPart] | None = None,
    keep_planes: Sequence[int] = (),
) -> LabelledStack:
    """Read the slices that carry labels, and plan what to hold out.

    Parameters
    ----------
    read_image : callable
        Gives slice z of the image, (H, W).
    labels : sequence of int arrays of shape (H, W)
        All slices.
    normalization : Normalization
        Of the image.
    name, labels_name : str
        For messages; mistakes name the one at fault.
    meaning : str, optional
        See `label_meaning`.
    held_out : str
        See `plan_held_parts`.
    keep_held, keep_planes : sequences, optional
        Held-out parts of a run that gets new labels, and the slices they count.
    """
    chosen = [z for z, plane in enumerate(labels) if np.any(plane)]
    if not chosen:
        raise ValueError(
            f"“{labels_name}” has no label yet: paint 1 on membranes and 2 in cells, "
            "or choose labels of whole cells"
        )
    try:
        found = read_labels(np.stack([labels[z] for z in chosen]), meaning)
    except ValueError as error:
        raise ValueError(f"“{labels_name}”: {error}") from error
    _check_classes(found.membranes, found.known, labels_name, found.meaning.value)
    images = np.stack([read_image(z) for z in chosen])
    _check_image(images, name)
    if keep_held is None:
        try:
            held = plan_held_parts(
                found.membranes, found.known, held_out, tuple(chosen)
            )
        except ValueError as error:
            raise ValueError(f"“{labels_name}”: {error}") from error
    else:
        held = _again(keep_held, keep_planes, chosen)
    return LabelledStack(
        name,
        labels_name,
        images,
        found.membranes,
        found.known,
        tuple(chosen),
        held,
        normalization,
        found.meaning.value,
        found.meaning.reason,
    )


def _check_classes(
    membranes: np.ndarray, known: np.ndarray, name: str, meaning: str
) -> None:
    for seen, what in ((membranes & known, "membrane"), (known & ~membranes, "cell")):
        if not seen.any():
            raise ValueError(
                f"“{name}” shows no labelled {what}, read as {MEANINGS[meaning]}"  # type: ignore[index]
            )


def _check_image(images: np.ndarray, name: str) -> None:
    if images.dtype.kind not in "biuf":
        raise ValueError(f"“{name}” must hold real numbers, got {images.dtype}")
    if images.dtype.kind == "f" and not np.isfinite(images).any():
        raise ValueError(f"“{name}” has no finite value in the labelled slices")
    if images.size and images.min() == images.max():
        raise ValueError(
            f"“{name}” has the same value, {images.flat[0]}, everywhere in the "
            "labelled slices"
        )


def _again(
    held: Sequence[HeldPart], planes: Sequence[int], chosen: Sequence[int]
) -> tuple[HeldPart, ...]:
    """Hold the same out of other slices; a side is held out of new ones as well."""
    is_side = any(part.top or part.left for part in held)
    if is_side:
        first = asdict(held[0])
        return tuple(HeldPart(**{**first, "plane": p}) for p in range(len(chosen)))
    numbers = {planes[part.plane] for part in held}
    first = asdict(held[0]) if held else {}
    return tuple(
        HeldPart(**{**first, "plane": p}) for p, z in enumerate(chosen) if z in numbers
    )


def pieces_of(stacks: Sequence[LabelledStack]) -> list[Piece]:
    """Cut stacks into pieces that are learnt from or validated on."""
    pieces = []
    for number, stack in enumerate(stacks):
        held = {part.plane: part for part in stack.held}
        for p in range(len(stack.planes)):
            part = held.get(p)
            whole = slice(0, stack.known.shape[1]), slice(0, stack.known.shape[2])
            rest = whole if part is None else part.rest(*stack.known.shape[1:])
            if rest is not None:
                pieces.append(_piece(stack, number, p, rest, False))
            if part is not None:
                pieces.append(_piece(stack, number, p, part.area, True))
    return [piece for piece in pieces if piece.known.any()]


def _piece(
    stack: LabelledStack, number: int, p: int, area: Any, is_held_out: bool
) -> Piece:
    rows, columns = area
    return Piece(
        stack.normalization.apply(stack.images[p][area]),
        stack.membranes[p][area],
        stack.known[p][area],
        is_held_out,
        number,
        stack.planes[p],
        rows.start,
        columns.start,
    )


def describe_stacks(stacks: Sequence[LabelledStack]) -> dict[str, Any]:
    """Give plain values for a run folder and a card: sources, shares, fingerprint."""
    known = sum(int(stack.known.sum()) for stack in stacks)
    membranes = sum(int((stack.membranes & stack.known).sum()) for stack in stacks)
    pixels = sum(stack.known.size for stack in stacks)
    arrays = [
        array
        for s in stacks
        for array in (s.images, s.membranes, s.known, np.array(_held_numbers(s)))
    ]
    return {
        "images": ", ".join(stack.name for stack in stacks),
        "labels": ", ".join(stack.labels_name for stack in stacks),
        "slices": sum(len(stack.planes) for stack in stacks),
        "shapes": [list(stack.images.shape) for stack in stacks],
        "held_out": [[asdict(part) for part in stack.held] for stack in stacks],
        "labels_read_as": [stack.meaning for stack in stacks],
        "labelled_share": round(known / pixels, 6),
        "membrane_share": round(membranes / known, 4),
        "fingerprint": fingerprint(*arrays),
    }


def _held_numbers(stack: LabelledStack) -> list[list[int]]:
    return [[*asdict(part).values()] for part in stack.held] or [[]]


_ARRAYS = ("images", "membranes", "known")


def save_stacks(path: Path, stacks: Sequence[LabelledStack]) -> None:
    """Keep stacks in one file, so that a run can go on without viewer or files."""
    arrays = {
        f"{number}/{name}": getattr(stack, name)
        for number, stack in enumerate(stacks)
        for name in _ARRAYS
    }
    about = [
        {name: value for name, value in asdict(stack).items() if name not in _ARRAYS}
        for stack in stacks
    ]
    write_npz(path, arrays, about)


def load_stacks(path: Path) -> list[LabelledStack]:
    """Read what `save_stacks` wrote."""
    arrays, about = read_npz(path)
    stacks = []
    for number, values in enumerate(about):
        values = dict(values)
        values["planes"] = tuple(values["planes"])
        values["held"] = tuple(HeldPart(**part) for part in values["held"])
        values["normalization"] = Normalization(**values["normalization"])
        values |= {name: arrays[f"{number}/{name}"] for name in _ARRAYS}
        stacks.append(LabelledStack(**values))
    return stacks
