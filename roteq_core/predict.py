"""Prediction: a network over an image of any size, in exact tiles and bounded memory.

This is the seam between numpy and torch: arrays go in and come out. When memory runs
out the tile is halved and the work goes on.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from roteq_core.jobs import Job, Report
from roteq_core.tiles import Span, Tile, plan_tiles, symmetric_padding

DEFAULT_TILE = 1024
SMALLEST_TILE = 64

# From what a network returns for a batch of one to maps (M, H, W).
ToMaps = Callable[[nn.Module, Tensor], Tensor]


class OutOfMemory(MemoryError):
    """Even the smallest tile does not fit."""


def iter_predict_maps(
    network: nn.Module,
    image: np.ndarray,
    to_maps: ToMaps,
    *,
    tile: int | None = None,
    device: torch.device | str = "cpu",
) -> Job[np.ndarray]:
    """Predict maps for one normalized image, tile by tile.

    Parameters
    ----------
    network : nn.Module
        With `stride` and `reach`; with `window`, which computes a part of the maps,
        if it can do that with less work.
    image : float32 array of shape (C, H, W)
    to_maps : callable
        Runs the network on a tensor (1, C, h, w) and gives maps (M, h, w).
    tile : int, optional
        Side of what is computed at once; 1024 if not given.
    device : torch.device or str

    Returns
    -------
    float32 array of shape (M, H, W)
        The same for any tile, to float rounding. A report whose values have ``tile``
        says to which side it was halved.
    """
    if image.ndim != 3:
        raise ValueError(f"image must have shape (C, H, W), got {image.shape}")
    stride, reach = int(network.stride), int(network.reach)  # type: ignore[arg-type]
    side = DEFAULT_TILE if tile is None else tile
    if side < 1:
        raise ValueError(f"tile must be at least 1 pixel, got {side}")
    pads = [symmetric_padding(n, stride) for n in image.shape[1:]]
    padded = np.pad(image, [(0, 0), *pads])
    size = padded.shape[1:]
    waiting = plan_tiles(*size, tile=side, reach=reach, stride=stride)
    maps: np.ndarray | None = None
    done = 0
    while waiting:
        piece = _try_tile(network, padded, waiting[0], to_maps, device)
        if piece is None:
            side = _halve(side)
            waiting = _replan(waiting, size, side, reach, stride)
            text = f"memory ran out: tile {side}"
            yield Report(done, done + len(waiting), text, {"tile": side})
            continue
        current = waiting.pop(0)
        if maps is None:
            maps = np.empty((len(piece), *size), np.float32)
        maps[:, *current.target] = piece
        done += 1
        yield Report(done, done + len(waiting), f"tile {done} of {done + len(waiting)}")
    assert maps is not None
    (top, _), (left, _) = pads
    return maps[:, top : top + image.shape[1], left : left + image.shape[2]]


def _try_tile(
    network: nn.Module,
    image: np.ndarray,
    tile: Tile,
    to_maps: ToMaps,
    device: torch.device | str,
) -> np.ndarray | None:
    """Run one tile; None if memory ran out.

    The error is gone when this returns, and with it what its frames held on to.
    """
    try:
        return _run_tile(network, image, tile, to_maps, device)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return None


def _run_tile(
    network: nn.Module,
    image: np.ndarray,
    tile: Tile,
    to_maps: ToMaps,
    device: torch.device | str,
) -> np.ndarray:
    crop = np.ascontiguousarray(image[:, *tile.source])
    with torch.inference_mode():
        given = torch.from_numpy(crop)[None].to(device)
        if hasattr(network, "window"):
            maps = to_maps(_Window(network, *tile.kept), given)
        else:
            maps = to_maps(network, given)[:, *tile.kept]
        return np.asarray(maps.float().cpu().numpy())


class _Window(nn.Module):
    """A network that gives its maps in a window of the image alone."""

    def __init__(self, network: nn.Module, rows: slice, columns: slice):
        super().__init__()
        self.network, self.rows, self.columns = network, rows, columns

    def forward(self, image: Tensor) -> Any:
        return self.network.window(  # type: ignore[operator]
            image, self.rows, self.columns
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on any device."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error).lower()
    return "out of memory" in text or "can't allocate memory" in text


def _halve(side: int) -> int:
    """Give a smaller tile, and the memory of the larger one back."""
    if side // 2 < SMALLEST_TILE:
        raise OutOfMemory(
            f"memory ran out even with tiles of {side} pixels: close other programs, "
            "or run on the CPU"
        )
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return side // 2


def _replan(
    waiting: list[Tile], size: tuple[int, ...], side: int, reach: int, stride: int
) -> list[Tile]:
    """Cover what is left with smaller tiles."""
    smaller = plan_tiles(size[0], size[1], tile=side, reach=reach, stride=stride)
    areas = [t.keep for t in waiting]
    return [t for t in smaller if any(_overlap(t.keep, keep) for keep in areas)]


def _overlap(a: tuple[Span, Span], b: tuple[Span, Span]) -> bool:
    return all(x.start < y.stop and y.start < x.stop for x, y in zip(a, b, strict=True))
