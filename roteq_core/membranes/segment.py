"""Segmentation as a job: membranes, cells and directions of a plane or a stack."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from roteq_core.card import file_hash, find_model
from roteq_core.config import SegmentOptions
from roteq_core.device import choose_device
from roteq_core.files.volumes import Volume, open_volume
from roteq_core.jobs import Job, Report
from roteq_core.membranes.cells import cells_from_membranes
from roteq_core.membranes.gap_joining import join_gaps
from roteq_core.membranes.linking import iter_link_slices
from roteq_core.membranes.outputs import check_outputs, open_outputs, output_paths
from roteq_core.membranes.walls import iter_close_walls
from roteq_core.model import Model, load_model
from roteq_core.normalize import Normalization, fit_normalization
from roteq_core.predict import iter_predict_maps
from roteq_core.resample import resample, scaled_shape
from roteq_core.tasks.membranes import axis_angle, membrane_maps
from roteq_core.turned import turned_copies

# Pixel sizes further from the model's are a mistake, such as a wrong unit.
LARGEST_ZOOM = 8
# Of a pixel that shows something, so that 0 can say that it does not.
_LEAST = 1e-6


@dataclass
class SegmentedPlane:
    """What is known of one plane.

    Parameters
    ----------
    probability : float32 array of shape (H, W)
        Of being a membrane's center: 0 where the plane is fill (see `find_fill`), and
        more than that wherever it shows something.
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

    Attributes
    ----------
    tile : int
        That of the options, or what it was halved to when memory ran out.
    """

    def __init__(self, options: SegmentOptions, model: Model | None = None):
        self.options = options
        self.device = choose_device(options.device)
        self.tile = options.tile
        self.model_hash: str | None = None
        if model is None:
            model = load_model(options.model, task="membranes")
            self.model_hash = file_hash(find_model(options.model))
        self.model = model.to(self.device)

    def normalization(self, volume: Any) -> Normalization:
        """Fit to a whole image or stack."""
        try:
            return fit_normalization(volume, inverted=self.options.inverted)
        except ValueError as error:
            if isinstance(volume, Volume):
                raise ValueError(f"{volume.path}: {error}") from error
            raise

    def recipe(self, **more: Any) -> dict[str, Any]:
        """Give what made a result: model, its hash, options, version."""
        return {
            "job": "segment",
            "version": version("napari-roteq"),
            "model": self.model.card.name,
            "model_hash": self.model_hash,
            "options": asdict(self.options),
            **more,
        }

    def iter_plane(
        self, plane: np.ndarray, normalization: Normalization
    ) -> Job[SegmentedPlane]:
        """Segment a raw plane (H, W)."""
        if plane.ndim != 2:
            raise ValueError(f"a plane must have shape (H, W), got {plane.shape}")
        image = normalization.apply(plane)
        outside = normalization.outside(plane)
        size = scaled_shape(image.shape, self._zoom())
        maps = yield from self._average(resample(image, size))
        maps[0] = join_gaps(maps[0], maps[1], maps[2], self.options.join)
        if self.options.close:
            hidden = None if outside is None else _scaled(outside, size)
            maps[0] = yield from _closing(np.clip(maps[0], 0, 1), hidden)
        found = np.stack([resample(m, image.shape) for m in maps])
        return self._finish(found, outside)

    def check_pixel_size(self) -> None:
        """Refuse a pixel size that a model without one could not use."""
        given = self.options.pixel_size_nm
        if given and not self.model.card.pixel_size:
            raise ValueError(
                f"the model {self.model.card.name} does not know its own pixel size, "
                f"so {given:g} nm cannot be resampled to it: leave --pixel-size out"
            )

    def _zoom(self) -> float:
        wanted, given = self.model.card.pixel_size, self.options.pixel_size_nm
        if not wanted or not given:
            return 1.0
        if not 1 / LARGEST_ZOOM <= given / wanted <= LARGEST_ZOOM:
            raise ValueError(
                f"the pixel size must be within {LARGEST_ZOOM} times the model's "
                f"{wanted:g} nm, got {given:g} nm"
            )
        return given / wanted

    def _average(self, image: np.ndarray) -> Job[np.ndarray]:
        """Mean maps (3, H, W) over networks and copies: probability, cos 2θ, sin 2θ."""
        total = np.zeros((3, *image.shape), np.float32)
        copies = list(turned_copies(self.options.turns))
        members = zip(self.model.networks, self.model.shares, strict=True)
        views = [(n, share / len(copies), c) for n, share in members for c in copies]
        for done, (network, share, copy) in enumerate(views):
            job = iter_predict_maps(
                network,
                copy.forward(image)[None],
                membrane_maps,
                tile=self.tile,
                device=self.device,
            )
            maps = yield from self._one_view(job, done, len(views))
            total += copy.backward(maps, image.shape) * np.float32(share)
        return total

    def _one_view(self, job: Job[np.ndarray], part: int, parts: int) -> Job[np.ndarray]:
        """Count the tiles of one of several views, and remember a halved tile."""
        while True:
            try:
                report = next(job)
            except StopIteration as end:
                return np.asarray(end.value)
            self.tile = report.values.get("tile", self.tile)
            done = part * report.total + report.done
            yield Report(done, parts * report.total, report.text, report.values)

    def _finish(self, maps: np.ndarray, outside: np.ndarray | None) -> SegmentedPlane:
        result = SegmentedPlane(np.clip(maps[0], _LEAST, 1))
        if outside is not None:
            result.probability[outside] = 0
            maps[1:, outside] = 0
        if self.options.direction:
            result.angle = axis_angle(maps[1], maps[2])
            result.strength = np.hypot(maps[1], maps[2])
        if self.options.cells:
            result.cells = cells_from_membranes(
                result.probability, threshold=self.options.threshold, outside=outside
            )
        return result


def _scaled(mask: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    return resample(mask.astype(np.float32), size) > 0.5


def _closing(probability: np.ndarray, outside: np.ndarray | None) -> Job[np.ndarray]:
    """Close walls, with reports that do not count: the tiles are done."""
    job = iter_close_walls(probability, outside)
    while True:
        try:
            report = next(job)
        except StopIteration as end:
            return np.asarray(end.value)
        yield Report(report.total, report.total, report.text)


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
            done = round((index + share) * 100)
            yield Report(done, count * 100, text, report.values)


def iter_segment_file(
    source: Path | str,
    output: Path | str,
    options: SegmentOptions,
    *,
    segmenter: Segmenter | None = None,
) -> Job[list[Path]]:
    """Segment a file or folder into TIFF files, plane by plane in bounded memory.

    Writes ``x.tif`` with the membrane probability and, as asked, ``x_cells.tif`` with
    cells that keep their number through the stack, and ``x_direction.tif`` with two
    channels: the axial angle in radians and its strength. The files appear when they
    are whole; a stop leaves none.

    Parameters
    ----------
    source : path
        A TIFF, another image, a folder of slices or a Zarr array.
    output : path
        The TIFF to write.
    options : SegmentOptions
    segmenter : Segmenter, optional
        One that has loaded the model of these options already.
    """
    source, output = Path(source), Path(output)
    volume = open_volume(source)
    paths = output_paths(output, options)
    check_outputs(source, paths)
    segmenter = segmenter or Segmenter(options)
    segmenter.check_pixel_size()
    size = options.pixel_size_nm or volume.pixel_size_nm
    about: dict[str, Any] = {
        "pixel_size_nm": size,
        "z_spacing_nm": volume.z_spacing_nm,
        "recipe": segmenter.recipe(source=source.name, pixel_size_nm=size),
    }
    cells: list[np.ndarray] = []
    with open_outputs(paths, len(volume), **about) as writers:
        linked = iter_link_slices(_drip(cells), depth=volume.depth)
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
