"""Segmentation as a job: membranes, cells and directions of a plane or a stack."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import ndimage
from torch import Tensor, nn

from roteq_core.card import file_hash, find_model
from roteq_core.cells import cells_from_membranes
from roteq_core.config import SegmentOptions
from roteq_core.device import choose_device
from roteq_core.geometry import turn_image
from roteq_core.jobs import Job, Report
from roteq_core.linking import iter_link_slices
from roteq_core.model import Model, load_model
from roteq_core.normalize import Normalization, fit_normalization
from roteq_core.predict import iter_predict_maps
from roteq_core.tasks.membranes import CENTER
from roteq_core.volumes import open_volume, write_planes


@dataclass
class SegmentedPlane:
    """What is known of one plane.

    Parameters
    ----------
    probability : float32 array of shape (H, W)
        Of being a membrane's center.
    angle, strength : float32 arrays of shape (H, W), or None
        Axis of the membrane in [0, π), from right towards down, and how sure.
    cells : int32 array of shape (H, W), or None
        Numbered cells.
    """

    probability: np.ndarray
    angle: np.ndarray | None = None
    strength: np.ndarray | None = None
    cells: np.ndarray | None = None


class Segmenter:
    """A loaded membrane model on a device, ready for planes.

    Parameters
    ----------
    options : SegmentOptions
    model : Model, optional
        Instead of the one that the options name.
    """

    def __init__(self, options: SegmentOptions, model: Model | None = None):
        self.options = options
        self.model = model or load_model(options.model, task="membranes")
        self.device = choose_device(options.device)
        self.model.to(self.device)

    def normalization(self, volume: Any) -> Normalization:
        """Fit to a whole image or stack."""
        return fit_normalization(volume, inverted=self.options.inverted)

    def recipe(self, **more: Any) -> dict[str, Any]:
        """Give what made a result: model, its hash, options, version."""
        recipe = {
            "job": "segment",
            "version": version("napari-roteq"),
            "model": self.model.card.name,
            "options": asdict(self.options),
            **more,
        }
        try:
            recipe["model_hash"] = file_hash(find_model(self.options.model))
        except ValueError:
            recipe["model_hash"] = None
        return recipe

    def iter_plane(
        self, plane: np.ndarray, normalization: Normalization
    ) -> Job[SegmentedPlane]:
        """Segment a raw plane (H, W)."""
        if plane.ndim != 2:
            raise ValueError(f"a plane must have shape (H, W), got {plane.shape}")
        image = normalization.apply(plane)
        factor = self._zoom()
        scaled = _resize(image, factor)
        maps = yield from self._average(scaled)
        if factor != 1:
            exact = (image.shape[0] / maps.shape[1], image.shape[1] / maps.shape[2])
            maps = np.stack([_stretch(m, exact, image.shape) for m in maps])
        return self._finish(maps)

    def _zoom(self) -> float:
        wanted, given = self.model.card.pixel_size, self.options.pixel_size_nm
        return given / wanted if wanted and given else 1.0

    def _average(self, image: np.ndarray) -> Job[np.ndarray]:
        """Mean maps (3, H, W) over networks and copies: probability, cos 2θ, sin 2θ."""
        total = np.zeros((3, *image.shape), np.float32)
        views = [
            (n, c)
            for n in self.model.networks
            for c in turned_copies(self.options.turns)
        ]
        for done, (network, copy) in enumerate(views):
            job = iter_predict_maps(
                network,
                copy.forward(image)[None],
                membrane_maps,
                tile=self.options.tile,
                device=self.device,
            )
            maps = yield from _as_part(job, done, len(views))
            total += copy.backward(maps, image.shape) / len(views)
        return total

    def _finish(self, maps: np.ndarray) -> SegmentedPlane:
        result = SegmentedPlane(np.clip(maps[0], 0, 1))
        if self.options.direction:
            angle = np.mod(np.arctan2(maps[2], maps[1]) / 2, np.pi)
            result.angle = angle.astype(np.float32)
            result.strength = np.hypot(maps[1], maps[2])
        if self.options.cells:
            result.cells = cells_from_membranes(
                result.probability, threshold=self.options.threshold
            )
        return result


def _as_part(job: Job[np.ndarray], part: int, parts: int) -> Job[np.ndarray]:
    """Count the tiles of one of several views."""
    while True:
        try:
            report = next(job)
        except StopIteration as end:
            return np.asarray(end.value)
        done = part * report.total + report.done
        yield Report(done, parts * report.total, report.text)


def membrane_maps(network: nn.Module, image: Tensor) -> Tensor:
    """Run the network: maps (3, H, W) of probability and direction."""
    maps = network(image)
    probability = maps.scores[0].softmax(0)[CENTER : CENTER + 1]
    return torch.cat([probability, maps.direction[0]])


@dataclass(frozen=True)
class TurnedCopy:
    """A turned, perhaps mirrored, copy of an image, and the way back."""

    angle: float
    mirrored: bool

    def forward(self, image: np.ndarray) -> np.ndarray:
        """Turn a normalized image (H, W) on a canvas that holds all of it."""
        if self.mirrored:
            image = image[:, ::-1]
        if self.angle == 0:
            return np.ascontiguousarray(image)
        height, width = image.shape
        side = math.ceil(math.hypot(height, width))
        padded = np.pad(image, _around(height, side) + _around(width, side))
        turned = turn_image(torch.from_numpy(padded.copy()), self.angle, mode="bicubic")
        return turned.numpy()

    def backward(self, maps: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Bring maps (3, …) of the copy back to the image's frame, (3, H, W)."""
        probability, cos2, sin2 = maps
        if self.angle:
            back = turn_image(torch.from_numpy(maps.copy()), -self.angle).numpy()
            height, width = shape
            top, left = (back.shape[1] - height) // 2, (back.shape[2] - width) // 2
            back = back[:, top : top + height, left : left + width]
            probability, c, s = back
            cos, sin = math.cos(2 * self.angle), math.sin(2 * self.angle)
            cos2, sin2 = cos * c + sin * s, cos * s - sin * c
        if self.mirrored:
            probability, cos2, sin2 = (
                probability[:, ::-1],
                cos2[:, ::-1],
                -sin2[:, ::-1],
            )
        return np.stack([probability, cos2, sin2])


def turned_copies(turns: int) -> list[TurnedCopy]:
    """Choose copies to average over.

    The networks answer quarter turns exactly, so the angles lie within one; every other
    copy is mirrored, which no network of ours answers exactly.
    """
    if turns < 1:
        raise ValueError(f"test-time turns must be at least 1, got {turns}")
    angles = math.ceil(turns / 2)
    return [
        TurnedCopy(math.pi / 2 * (i // 2) / angles, bool(i % 2)) for i in range(turns)
    ]


def _around(length: int, side: int) -> list[tuple[int, int]]:
    before = (side - length) // 2
    return [(before, side - length - before)]


def _resize(image: np.ndarray, factor: float) -> np.ndarray:
    if factor == 1:
        return image
    if factor < 1:  # fewer pixels: take away first what they could not hold
        image = ndimage.gaussian_filter(image, 0.4 / factor)
    zoomed = ndimage.zoom(image, factor, order=1, grid_mode=True, mode="grid-constant")
    return np.asarray(zoomed, dtype=np.float32)


def _stretch(
    plane: np.ndarray, factors: tuple[float, float], shape: tuple[int, ...]
) -> np.ndarray:
    out = ndimage.zoom(plane, factors, order=1, grid_mode=True, mode="nearest")
    assert out.shape == shape
    return np.asarray(out)


def iter_segment_planes(
    segmenter: Segmenter, volume: Any
) -> Generator[Report | SegmentedPlane, None, None]:
    """Segment plane after plane of a volume; give reports and finished planes."""
    normalization = segmenter.normalization(volume)
    count = len(volume)
    for index in range(count):
        job = segmenter.iter_plane(volume[index], normalization)
        while True:
            try:
                report = next(job)
            except StopIteration as end:
                yield end.value
                break
            share = report.done / max(report.total, 1)
            text = f"plane {index + 1} of {count}"
            yield Report(round((index + share) * 100), count * 100, text)


def iter_segment_file(
    source: Path | str, output: Path | str, options: SegmentOptions
) -> Job[list[Path]]:
    """Segment a file or folder into TIFF files, plane by plane in bounded memory.

    Writes ``x.tif`` with the membrane probability and, as asked, ``x_cells.tif`` with
    cells that keep their number through the stack, and ``x_direction.tif`` with two
    channels: the axial angle in radians and its strength.
    """
    source, output = Path(source), Path(output)
    volume = open_volume(source)
    if options.pixel_size_nm is None and volume.pixel_size_nm:
        recorded = {"pixel_size_nm": volume.pixel_size_nm}
    else:
        recorded = {}
    segmenter = Segmenter(options)
    recipe = segmenter.recipe(source=source.name, **recorded)
    size = options.pixel_size_nm or volume.pixel_size_nm
    paths = output_paths(output, options)
    cells: list[np.ndarray] = []
    with _open_outputs(paths, size, recipe) as writers:
        linked = iter_link_slices(_drip(cells))
        for item in iter_segment_planes(segmenter, volume):
            if isinstance(item, Report):
                yield item
                continue
            writers["probability"](item.probability)
            if item.angle is not None and item.strength is not None:
                writers["direction"](np.stack([item.angle, item.strength]))
            if item.cells is not None:
                cells.append(item.cells)
                writers["cells"](next(linked))
    return list(paths.values())


def _drip(planes: list[np.ndarray]) -> Generator[np.ndarray, None, None]:
    """Hand out planes as they arrive."""
    while planes:
        yield planes.pop(0)


def output_paths(output: Path, options: SegmentOptions) -> dict[str, Path]:
    """Name the files that a segmentation writes."""
    paths = {"probability": output}
    if options.cells:
        paths["cells"] = output.with_name(f"{output.stem}_cells{output.suffix}")
    if options.direction:
        paths["direction"] = output.with_name(f"{output.stem}_direction{output.suffix}")
    return paths


@contextlib.contextmanager
def _open_outputs(
    paths: dict[str, Path], size: float | None, recipe: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Open a writer for each path."""
    with contextlib.ExitStack() as stack:
        writers = {}
        for name, path in paths.items():
            axes = "ZCYX" if name == "direction" else "ZYX"
            content = {**recipe, "content": name}
            writers[name] = stack.enter_context(
                write_planes(path, pixel_size_nm=size, recipe=content, axes=axes)
            )
        yield writers
