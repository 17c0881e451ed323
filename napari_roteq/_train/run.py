"""One run of a training as the viewer knows it: folder, data, layers (no Qt)."""

from __future__ import annotations

import datetime
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from napari_roteq._train.data import TrainingData
from napari_roteq._train.layers import (
    HELD_OUT,
    PREDICTION,
    headings_layer,
    held_frame_layer,
    held_stack_layer,
    loose_prediction_layer,
    prediction_layer,
    put,
    remove,
)
from napari_roteq._train.report import score_name
from roteq_core.cars.examples import load_frames
from roteq_core.membranes.labelled_stack import load_stacks
from roteq_core.training.request import TrainRequest, request_from_dict
from roteq_core.training.run_data import DATA, read_preview
from roteq_core.training.run_folder import LAST, RUN, read_log, read_run


@dataclass
class TrainRun:
    """A run, begun here or opened from its folder.

    Parameters
    ----------
    folder : Path
    request : TrainRequest
    data : TrainingData
        What it learns from.
    images : list of Layer or None
        The image layer of each item, where there is one.
    preview : mapping
        What it predicted last of what is held out, if it was opened.
    """

    folder: Path
    request: TrainRequest
    data: TrainingData
    images: list[Any] = field(default_factory=list)
    preview: Mapping[str, Any] = field(default_factory=dict)
    is_discarded: bool = False

    @property
    def score_name(self) -> str:
        """What the score that matters is called."""
        if self.data.task == "cars":
            return "mean error (°)"
        return score_name(self.data.items)

    @property
    def is_begun(self) -> bool:
        """Whether an epoch has come to its end, so that something can be kept."""
        return (self.folder / LAST).is_file()

    @property
    def can_resume(self) -> bool:
        """Whether there are steps left to do."""
        if not (self.folder / RUN).is_file():
            return False
        log = read_log(self.folder)
        return not log or log[-1]["step"] < self.request.train.steps

    def show_held_out(self, viewer: Any) -> None:
        """Mark what is held out."""
        show_held_out(viewer, self.data, self.images)

    def show_prediction(self, viewer: Any, values: Mapping[str, Any]) -> None:
        """Show what the network says now of what is held out."""
        if "preview" in values:
            stack, plane, top, left = values["preview_piece"]
            image = self._image(viewer, stack)
            if image is not None:
                layer = prediction_layer(image, values["preview"], plane, top, left)
            else:
                layer = loose_prediction_layer(values["preview"], self.data.name)
            put(viewer, layer)
        elif "preview_angles" in values and self.data.items:
            for image in _there(viewer, self.images):
                angles = values["preview_angles"]
                put(viewer, headings_layer(image, self.data.items, angles))

    def _image(self, viewer: Any, number: int) -> Any:
        image = self.images[number] if number < len(self.images) else None
        return image if image is not None and image in viewer.layers else None

    def discard(self, viewer: Any) -> None:
        """Remove the folder and what was shown of it."""
        if (self.folder / RUN).is_file():  # never anything but a run
            shutil.rmtree(self.folder)
        for image in _there(viewer, self.images):
            remove(viewer, image, PREDICTION)
            remove(viewer, image, HELD_OUT)


def show_held_out(viewer: Any, data: TrainingData, images: list[Any]) -> None:
    """Mark what is held out of the images that are layers."""
    if data.task == "cars":
        for image in _there(viewer, images):
            put(viewer, held_frame_layer(image, data.items))
        return
    for image, stack in zip(images, data.items, strict=False):
        if image is not None and image in viewer.layers:
            put(viewer, held_stack_layer(image, stack))


def _there(viewer: Any, images: list[Any]) -> list[Any]:
    return [image for image in images if image is not None and image in viewer.layers]


def new_folder(runs: Path, name: str) -> Path:
    """Give a folder that is not there yet, named after an image and the time."""
    plain = re.sub(r"[^\w.-]+", "_", name).strip("_.") or "run"
    now = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    folder, count = runs / f"{plain}_{now}", 1
    while folder.exists():
        count += 1
        folder = runs / f"{plain}_{now}_{count}"
    return folder


def open_run(folder: Path, layers: list[Any]) -> TrainRun:
    """Open a run from its folder; slow, for a thread.

    Parameters
    ----------
    folder : Path
    layers : list of Layer
        Image layers of the viewer, to show predictions in their place.
    """
    asked = read_run(folder)
    request = request_from_dict(asked)
    by_name = {layer.name: layer for layer in layers}
    if request.task == "cars":
        return _open_cars(folder, request, asked["data"]["held_out"], by_name)
    if not (folder / DATA).is_file():
        raise ValueError(
            f"{folder} has no {DATA}: it was begun on the command line; resume it there"
        )
    stacks = load_stacks(folder / DATA)
    images = [by_name.get(stack.name) for stack in stacks]
    data = TrainingData("membranes", stacks)
    return TrainRun(folder, request, data, images, read_preview(folder))


def _open_cars(
    folder: Path,
    request: TrainRequest,
    regions: Mapping[str, Any],
    by_name: Mapping[str, Any],
) -> TrainRun:
    frames = load_frames(folder / DATA)
    names = dict.fromkeys(name.partition(" [")[0] for name in regions)  # of stacks once
    data = TrainingData("cars", frames, regions=regions)
    images = [by_name.get(name) for name in names]
    return TrainRun(folder, request, data, images, read_preview(folder))
