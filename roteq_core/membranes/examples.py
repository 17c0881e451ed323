"""Images and labels to train a membrane network on: read, checked, described. No torch.

Every mistake is told by the names of the files and the shapes found in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from roteq_core.files.volumes import open_volume
from roteq_core.membranes.label_meaning import Meaning, read_labels
from roteq_core.membranes.slices import held_out_slices
from roteq_core.training.run_folder import fingerprint


class LabelError(ValueError):
    """Labels cannot be read as they are, or not in the way that was found out."""


@dataclass(frozen=True)
class MembraneExamples:
    """What to learn from.

    Parameters
    ----------
    images : array of shape (Z, H, W)
        Raw slices.
    membranes, known : bool arrays of shape (Z, H, W)
        Where membranes are, and where that is known at all.
    held_out : range
        Slices to validate on.
    description : dict
        Plain values for run folder and card: sources, shapes, how the labels were
        read and why, fingerprint.
    """

    images: np.ndarray
    membranes: np.ndarray
    known: np.ndarray
    held_out: range
    description: dict[str, Any]


def read_examples(
    images: Path | str,
    labels: Path | str,
    *,
    held_out: str = "auto",
    kind: Meaning | None = None,
    ignore: int | None = None,
) -> MembraneExamples:
    """Read a stack and its labels from files or folders.

    Parameters
    ----------
    images, labels : path
        Anything that `open_volume` reads.
    held_out : str
        "auto" (the last fifth of those with labels), "none" or slices such as "24-29".
    kind : {"labels", "membranes", "cells", "painted"}, optional
        What label values above 0 are, see `label_meaning`; found out if not given.
    ignore : int, optional
        Label of pixels that nobody labelled.
    """
    raw, truth = open_volume(images), open_volume(labels)
    if raw.shape != truth.shape:
        raise ValueError(
            f"images and labels must have the same shape, got {raw.shape} in {images} "
            f"and {truth.shape} in {labels}"
        )
    try:
        return make_examples(
            raw.read(),
            truth.read(),
            held_out=held_out,
            kind=kind,
            ignore=ignore,
            sources=(Path(images).name, Path(labels).name),
        )
    except ValueError as error:
        is_unclear = isinstance(error, LabelError) and kind is None
        hint = ". --label-kind says what the labels are" if is_unclear else ""
        raise ValueError(
            f"cannot train on {images} and {labels}: {error}{hint}"
        ) from error


def make_examples(
    images: np.ndarray,
    labels: np.ndarray,
    *,
    held_out: str = "auto",
    kind: Meaning | None = None,
    ignore: int | None = None,
    sources: tuple[str, str] = ("images", "labels"),
) -> MembraneExamples:
    """Check arrays (Z, H, W), or (H, W) for one slice, and describe them."""
    images, labels = _as_stack(images), _as_stack(labels)
    if images.shape != labels.shape:
        raise ValueError(
            f"{sources[0]} and {sources[1]} must have the same shape, got "
            f"{images.shape} and {labels.shape}"
        )
    _check_images(images, sources[0])
    if ignore is not None and (labels == ignore).all():
        raise ValueError(f"every pixel has the ignored label {ignore}")
    try:
        found = read_labels(labels, kind, ignore=ignore)
    except ValueError as error:
        raise LabelError(str(error)) from error
    membranes, known = found.membranes, found.known
    if not membranes.any() or not (known & ~membranes).any():
        raise LabelError(
            f"the labels in {sources[1]} must show membranes and cells; only values "
            f"{np.unique(labels)[:8].tolist()} were found"
        )
    labelled = [z for z in range(len(known)) if (known[z] & ~membranes[z]).any()]
    held = held_out_slices(held_out, len(images), labelled)
    description = {
        "images": sources[0],
        "labels": sources[1],
        "shape": list(images.shape),
        "held_out": [held.start, held.stop - 1] if held else None,
        "labels_read_as": found.meaning.value,
        "labels_read_because": found.meaning.reason,
        "labelled_share": round(float(known.mean()), 4),
        "membrane_share": round(float(membranes.sum() / known.sum()), 4),
        "fingerprint": fingerprint(images, membranes, known, np.asarray(held)),
    }
    return MembraneExamples(images, membranes, known, held, description)


def _check_images(images: np.ndarray, name: str) -> None:
    """Refuse images that show nothing: no finite value, or one in each slice."""
    if not np.isfinite(images).any():
        raise ValueError(f"the images in {name} must have a finite value, got none")
    if not any(_has_contrast(plane) for plane in images):
        values = np.unique(images[np.isfinite(images)])[:8].tolist()
        raise ValueError(
            f"the images in {name} must show something, but every slice has one value "
            f"everywhere, got {values}"
        )


def _has_contrast(plane: np.ndarray) -> bool:
    finite = plane[np.isfinite(plane)]
    return bool(finite.size and finite.min() != finite.max())


def _as_stack(planes: np.ndarray) -> np.ndarray:
    planes = np.asarray(planes)
    return planes[None] if planes.ndim == 2 else planes
