"""What to learn membranes from: layers or folders, read and checked (no Qt).

What needs a layer is taken on the main thread (`membrane_pair`), what takes time is
done with plain arrays in another (`read_*`). Every mistake names the layer at fault.
Cars are read in `_train.cars`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from napari_roteq._errors import JobError
from napari_roteq._images import Planes, planes_of
from napari_roteq._segment.source import Source, pixel_size_nm, source_of
from roteq_core.files.volumes import open_volume
from roteq_core.membranes.label_meaning import Meaning
from roteq_core.membranes.labelled_stack import LabelledStack, make_stack, pieces_of
from roteq_core.normalize import fit_normalization

MOST_CHECKED = 4  # as in the core: pieces validated on after each epoch
_APART = 0.5  # pixels that labels may lie beside their image


@dataclass(frozen=True)
class MembranePair:
    """An image and its labels, ready to be read in a thread."""

    name: str
    labels_name: str
    image: Source
    labels: Planes
    pixel_size_nm: float | None = None


@dataclass(frozen=True)
class TrainingData:
    """What was read, as the compute process gets it.

    Parameters
    ----------
    task : {"membranes", "cars"}
    items : list of LabelledStack, or list of CarFrame
    left_out : dict of str to int
        Cars that are not learnt from, by reason.
    regions : mapping
        What is held out of images with cars, by name.
    """

    task: str
    items: list[Any]
    left_out: Mapping[str, int] = field(default_factory=dict)
    regions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The first image's, for names of runs."""
        return str(self.items[0].name) if self.items else self.task

    @property
    def checked_pixels(self) -> int:
        """Pixels that are validated on after an epoch, at most."""
        if self.task == "cars":
            return 0
        held = [
            piece.image.size for piece in pieces_of(self.items) if piece.is_held_out
        ]
        return sum(sorted(held)[-MOST_CHECKED:])


def membrane_pair(image: Any, labels: Any) -> MembranePair:
    """Take an image and a labels layer; errors name what does not fit."""
    if image is None:
        raise JobError("There is no image: open one with File ▸ Open.")
    if labels is None:
        raise JobError(
            "There are no labels: add a Labels layer, paint 1 on membranes and 2 in "
            "cells. A few strokes of each are enough to begin."
        )
    source, drawn = source_of(image), planes_of(labels)
    if source.planes.shape != drawn.shape:
        raise JobError(
            f"“{labels.name}” must have the shape of its image “{image.name}”, "
            f"{source.planes.shape}, but it has {drawn.shape}. Make a new Labels layer "
            "with that image selected."
        )
    _check_place(image, labels)
    size = pixel_size_nm(image)
    return MembranePair(image.name, labels.name, source, drawn, size)


def check_once(images: Sequence[Any]) -> None:
    """See that no image is learnt from twice: one would show what the other hides."""
    for image in images:
        if image is not None and sum(each is image for each in images) > 1:
            raise JobError(
                f"“{image.name}” is chosen twice: put its labels into one layer."
            )


def _check_place(image: Any, labels: Any) -> None:
    far = np.array(planes_of(image).shape, float)
    for corner in (np.zeros(len(far)), far):
        there = image.world_to_data(labels.data_to_world(corner))
        if np.abs(np.asarray(there) - corner).max() > _APART:
            raise JobError(
                f"“{labels.name}” does not lie over “{image.name}”: their scale, "
                "position or turn differ. Give both the same."
            )


def read_membrane_layers(
    pairs: Sequence[MembranePair],
    meaning: Meaning | None,
    held_out: str,
    before: TrainingData | None = None,
) -> TrainingData:
    """Read the labelled slices of pairs; slow, for a thread.

    Parameters
    ----------
    pairs : sequence of MembranePair
    meaning : str, optional
        What the labels mean; found out if not given.
    held_out : str
        See `roteq_core.membranes.held_parts.plan_held_parts`.
    before : TrainingData, optional
        What a running training has: the same is held out again.
    """
    olds: Sequence[Any] = [None] * len(pairs) if before is None else before.items
    if len(olds) != len(pairs):
        raise JobError(
            f"The training runs with {len(olds)} images, but {len(pairs)} are chosen "
            "now: choose the same again."
        )
    stacks = [
        _read_stack(pair, meaning, held_out, old)
        for pair, old in zip(pairs, olds, strict=True)
    ]
    _check_pieces(stacks)
    return TrainingData("membranes", stacks)


def _read_stack(
    pair: MembranePair,
    meaning: Meaning | None,
    held_out: str,
    old: LabelledStack | None,
) -> LabelledStack:
    indices = pair.labels.indices()
    labels = [pair.labels.read(index).copy() for index in indices]
    _, normalization = pair.image.read(indices[0], inverted=False)
    return make_stack(
        lambda z: pair.image.read(indices[z], inverted=False)[0],
        labels,
        normalization,
        name=pair.name,
        labels_name=pair.labels_name,
        meaning=meaning if old is None else old.meaning,  # type: ignore[arg-type]
        held_out=held_out,
        keep_held=None if old is None else old.held,
        keep_planes=() if old is None else old.planes,
    )


def read_membrane_files(
    images: str, labels: str, meaning: Meaning | None, held_out: str
) -> TrainingData:
    """Read a stack and its labels from files or folders; slow, for a thread."""
    for name, path in (("images", images), ("labels", labels)):
        if not path.strip():
            raise JobError(f"There is no folder of {name} yet: choose one.")
    raw, truth = open_volume(images), open_volume(labels)
    if raw.shape != truth.shape:
        raise JobError(
            f"“{Path(labels).name}” must have the shape of “{Path(images).name}”, "
            f"{raw.shape}, but it has {truth.shape}."
        )
    stack = make_stack(
        raw.__getitem__,
        [truth[z] for z in range(len(truth))],
        fit_normalization(raw),
        name=Path(images).name,
        labels_name=Path(labels).name,
        meaning=meaning,
        held_out=held_out,
    )
    _check_pieces([stack])
    return TrainingData("membranes", [stack])


def _check_pieces(stacks: Sequence[LabelledStack]) -> None:
    if all(piece.is_held_out for piece in pieces_of(stacks)):
        names = ", ".join(f"“{stack.labels_name}”" for stack in stacks)
        raise JobError(
            f"Every label of {names} lies in what is held out: label more elsewhere."
        )
