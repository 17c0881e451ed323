"""Learning membranes from labelled pieces of any size: batches, loss, validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from roteq_core.config import TrainConfig
from roteq_core.jobs import Job, Report, drain
from roteq_core.membranes.labelled_stack import Piece
from roteq_core.metrics import MembraneScore, score_stack
from roteq_core.net_config import MembraneNetConfig
from roteq_core.networks import MembraneMaps
from roteq_core.predict import iter_predict_maps
from roteq_core.tasks.membrane_loss import membrane_loss
from roteq_core.tasks.membrane_planes import (
    Maps,
    plane_direction_error,
    plane_maps,
    raw_maps,
)
from roteq_core.tasks.membrane_targets import CENTER, IGNORED, membrane_targets
from roteq_core.training.augment import as_batch, random_intensity, random_warp

# What pixels without a label are called while scoring.
UNKNOWN = 255
# Pieces labelled less than this are drawn around their labels, and scored by pixels.
SPARSE = 0.5
QUICK_THRESHOLDS = tuple(i / 10 for i in range(1, 10))


class MembranePieces:
    """Training data, loss and validation of a membrane network.

    Parameters
    ----------
    pieces : sequence of Piece
    network : MembraneNetConfig, optional
    most_checked : int, optional
        Held-out pieces to validate on after each epoch, spread evenly; all if not
        given.
    """

    def __init__(
        self,
        pieces: Sequence[Piece],
        *,
        network: MembraneNetConfig | None = None,
        most_checked: int | None = None,
    ):
        self.network = network or MembraneNetConfig()
        self.most_checked = most_checked
        self.set_pieces(pieces)

    def set_pieces(self, pieces: Sequence[Piece]) -> None:
        """Learn from and validate on these from now on."""
        self.pieces = list(pieces)
        self.images = [piece.image for piece in pieces]
        self.truth = [piece.membranes for piece in pieces]
        self.known = [piece.known for piece in pieces]
        self.held_out = [i for i, piece in enumerate(pieces) if piece.is_held_out]
        self.targets = {
            i: membrane_targets(piece.membranes, piece.known).maps()
            for i, piece in enumerate(pieces)
            if not piece.is_held_out and piece.known.any()
        }
        self._checks: dict[int, dict[str, Tensor]] = {}
        self._strokes = {i: _strokes(pieces[i]) for i in self.targets}
        if not self.targets:
            raise ValueError("no pixel of the training slices is labelled")

    @property
    def is_sparse(self) -> bool:
        """Whether what is held out is labelled too little to compare whole cells."""
        known = [self.known[i] for i in self.held_out]
        pixels = sum(each.size for each in known)
        return sum(int(each.sum()) for each in known) < SPARSE * pixels

    def batch(self, config: TrainConfig, rng: np.random.Generator) -> dict[str, Tensor]:
        """Draw crops and their targets."""
        images, classes, skeletons, axes = [], [], [], []
        chosen = list(self.targets)
        for _ in range(config.batch):
            i = chosen[rng.integers(len(chosen))]
            image, targets = self.images[i], self.targets[i]
            center = _draw_center(self._strokes[i], config.crop, rng)
            warp = random_warp(image.shape, config.crop, config, rng, center=center)
            raw = warp.read(image[None], "bicubic" if config.sharp else "bilinear")
            crop = random_intensity(raw, config.intensity, rng)
            exact = warp.read(targets[:1], "nearest")
            soft = warp.read(targets[1:])
            exact[0][~warp.inside(*image.shape)] = IGNORED
            images.append(crop)
            classes.append(exact)
            skeletons.append(soft[:1])
            axes.append(warp.turn_axes(soft[1:]))
        return {
            "image": as_batch(images),
            "classes": as_batch(classes)[:, 0].long(),
            "skeleton": as_batch(skeletons),
            "axes": as_batch(axes),
        }

    def loss(
        self, network: nn.Module, batch: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, float]]:
        """Give the loss of a batch, and its parts for the log."""
        return membrane_loss(network(batch["image"]), batch)

    def validate(self, network: nn.Module, device: torch.device) -> dict[str, Any]:
        """Score what is held out; see `iter_validate`."""
        return drain(self.iter_validate(network, device))

    def iter_validate(
        self, network: nn.Module, device: torch.device
    ) -> Job[dict[str, Any]]:
        """Score what is held out quickly, with a report for each piece.

        ``score`` is V-Rand or, where labels are sparse, the share of labelled pixels
        that are right, membrane and cell counting alike.
        """
        if not self.held_out:
            return {}
        checked = _spread(self.held_out, self.most_checked)
        maps, losses = [], []
        for count, i in enumerate(checked):
            raw = drain(
                iter_predict_maps(
                    network, self.images[i][None], raw_maps, device=device
                )
            )
            maps.append(plane_maps(raw))
            losses.append(self._validation_loss(i, raw))
            yield Report(count + 1, len(checked), "validating")
        row = self._scores(maps, checked)
        row["validation_loss"] = float(np.mean(losses))
        row["preview"], row["preview_piece"] = maps[0][0], self._place(checked[0])
        return row

    def _scores(self, maps: Sequence[Maps], checked: Sequence[int]) -> dict[str, Any]:
        if self.is_sparse:
            right = self.pixels_right(maps, checked)
            return {"score": right, "pixels_right": right}
        result, direction = self.score(maps, QUICK_THRESHOLDS, checked)
        row = {"score": result.v_rand, "v_rand": result.v_rand, "v_info": result.v_info}
        return row if direction is None else {**row, "direction_deg": direction}

    def _place(self, i: int) -> tuple[int, int, int, int]:
        piece = self.pieces[i]
        return piece.stack, piece.plane, piece.top, piece.left

    def _validation_loss(self, i: int, raw: np.ndarray) -> float:
        if i not in self._checks:
            maps = membrane_targets(self.truth[i], self.known[i]).maps()
            asked = torch.from_numpy(maps)[None]
            self._checks[i] = {
                "classes": asked[:, 0].long(),
                "skeleton": asked[:, 1:2],
                "axes": asked[:, 2:],
            }
        found = torch.from_numpy(np.ascontiguousarray(raw))[None]
        told = MembraneMaps(found[:, :-2], found[:, -2:])
        return membrane_loss(told, self._checks[i])[0].item()

    def score(
        self,
        maps: Sequence[Maps],
        thresholds: Sequence[float] | None = None,
        checked: Sequence[int] | None = None,
    ) -> tuple[MembraneScore, float | None]:
        """Score predictions of held-out pieces, unlabelled pixels left out.

        Parameters
        ----------
        maps : sequence of (probability, angle, strength)
            As `predict_plane` gives them, one for each piece.
        thresholds : sequence of float, optional
            Those of `roteq score` if not given.
        checked : sequence of int, optional
            The pieces; all that are held out if not given.

        Returns
        -------
        (MembraneScore, float or None)
            The scores, and the mean axial error in degrees where there are membranes.
        """
        pieces = self.held_out if checked is None else checked
        truth = [self.truth[i] for i in pieces]
        known = [self.known[i] for i in pieces]
        told = [
            np.where(where, membranes, UNKNOWN).astype(np.uint8)
            for membranes, where in zip(truth, known, strict=True)
        ]
        result = score_stack(
            _same_size([m[0] for m in maps], 1.0),  # membrane: nothing joins out there
            _same_size(told, UNKNOWN),
            thresholds=thresholds,
            polarity="membranes",
            truth_kind="membranes",
            ignore=UNKNOWN,
        )
        errors = [
            plane_direction_error(angle, membranes, where)
            for (_, angle, _), membranes, where in zip(maps, truth, known, strict=True)
        ]
        found = [error for error in errors if error is not None]
        return result, float(np.mean(found)) if found else None

    def pixels_right(self, maps: Sequence[Maps], checked: Sequence[int]) -> float:
        """Give the mean share of center lines and of cell pixels that are right.

        The best over a few thresholds, so that 0.5 is what chance gives.
        """
        lines, cells = [], []
        for (probability, _, _), i in zip(maps, checked, strict=True):
            classes = membrane_targets(self.truth[i], self.known[i]).classes
            lines.append(probability[classes == CENTER])
            cells.append(probability[self.known[i] & ~self.truth[i]])
        on_line, in_cell = np.concatenate(lines), np.concatenate(cells)
        if not on_line.size or not in_cell.size:
            return 0.5
        shares = [
            ((on_line >= t).mean() + (in_cell < t).mean()) / 2 for t in QUICK_THRESHOLDS
        ]
        return float(max(shares))


def _strokes(piece: Piece) -> list[np.ndarray]:
    """Give the labelled pixels (n, 2) of each class of a sparse piece, else nothing."""
    if piece.known.mean() >= SPARSE:
        return []
    both = (piece.membranes & piece.known, piece.known & ~piece.membranes)
    return [np.argwhere(pixels) for pixels in both if pixels.any()]


def _draw_center(
    strokes: list[np.ndarray], crop: int, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Draw a place near a label, each class as often; None for anywhere."""
    if not strokes:
        return None
    pixels = strokes[rng.integers(len(strokes))]
    row, column = pixels[rng.integers(len(pixels))]
    shift = rng.uniform(-crop / 4, crop / 4, 2)
    return float(row + shift[0]), float(column + shift[1])


def _spread(numbers: list[int], most: int | None) -> list[int]:
    if most is None or len(numbers) <= most:
        return numbers
    places = np.linspace(0, len(numbers) - 1, most).round().astype(int)
    return [numbers[place] for place in places]


def _same_size(planes: list[np.ndarray], fill: float) -> np.ndarray:
    """Stack planes (H, W), the smaller ones filled up at the right and below."""
    height = max(len(plane) for plane in planes)
    width = max(plane.shape[1] for plane in planes)
    return np.stack(
        [
            np.pad(
                plane,
                ((0, height - plane.shape[0]), (0, width - plane.shape[1])),
                constant_values=fill,
            )
            for plane in planes
        ]
    )
