"""The field of one layer of a network: caught where it is made, in exact tiles.

The rest of the network is not run. Layers that keep only magnitudes, or all R
responses, are asked for their winning orientations instead.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from roteq_core.fields.layers import FieldLayer, input_stride
from roteq_core.fields.tiles import OutputSpan, count_outputs, plan_outputs
from roteq_core.jobs import Job, Report
from roteq_core.layers import RotConv
from roteq_core.predict import SMALLEST_TILE, OutOfMemory, is_out_of_memory
from roteq_core.tiles import symmetric_padding

LARGEST_FIELD = 2**31  # bytes of one result


class _Caught(Exception):
    """Ends a network's run once the wanted layer has answered."""

    def __init__(self, field: Tensor):
        super().__init__()
        self.field = field


def layer_field(network: nn.Module, name: str, image: Tensor) -> Tensor:
    """Run a network up to a layer and give that layer's field.

    Parameters
    ----------
    network : nn.Module
    name : str
        Path of a `RotConv` in it.
    image : Tensor of shape (B, C, H, W)
        What the network takes.

    Returns
    -------
    Tensor of shape (B, F, 2, h, w)
    """
    module = network.get_submodule(name)
    if not isinstance(module, RotConv):
        raise ValueError(f"{name} must be a RotConv, got {type(module).__name__}")
    asked = copy.copy(module)  # shares the weights
    asked.pool = "vector"

    def catch(_module: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> None:
        raise _Caught(output if module.pool == "vector" else asked.forward(given[0]))

    handle = module.register_forward_hook(catch)
    try:
        network(image)
    except _Caught as caught:
        return caught.field
    finally:
        handle.remove()
    raise ValueError(f"the network never runs its layer {name}")


def iter_network_field(
    network: nn.Module,
    layer: FieldLayer,
    image: np.ndarray,
    filters: Sequence[int],
    *,
    tile: int = 512,
    device: torch.device | str = "cpu",
) -> Job[tuple[np.ndarray, tuple[float, float]]]:
    """Compute fields (F, 2, h, w) of a normalized image (C, H, W), tile by tile.

    Returns
    -------
    field, (row, column)
        And where the first vector lies in the image. The same for any tile, to float
        rounding; when memory runs out the tile is halved.
    """
    stride = input_stride(network.config)
    if image.ndim != 3:
        raise ValueError(f"image must have shape (C, H, W), got {image.shape}")
    pads = [symmetric_padding(n, stride) for n in image.shape[1:]]
    padded = np.pad(image, [(0, 0), *pads])
    shape = tuple(count_outputs(n, layer) for n in padded.shape[1:])
    size = 8 * len(filters) * shape[0] * shape[1]
    if size > LARGEST_FIELD:
        raise ValueError(
            f"fields must need at most {LARGEST_FIELD >> 30} GiB at once, "
            f"{len(filters)} of {shape[0]} x {shape[1]} vectors need "
            f"{size / 2**30:.1f}: choose one filter, a part of the image, or a layer "
            "with a larger stride"
        )
    while True:
        field = yield from _iter_tiles(
            network, layer, padded, filters, tile, device, stride
        )
        if field is not None:
            break
        tile = _halve(tile)
        yield Report(0, 0, f"memory ran out: tile {tile}")
    kept, first = [], []
    sides = zip(image.shape[1:], pads, shape, strict=True)
    for length, (before, _), count in sides:
        places = layer.stride * np.arange(count) + layer.offset - before
        inside = np.flatnonzero((places >= -0.5) & (places <= length - 0.5))
        kept.append(slice(inside[0], inside[-1] + 1))
        first.append(float(places[inside[0]]))
    return np.ascontiguousarray(field[:, :, *kept]), (first[0], first[1])


def _iter_tiles(
    network: nn.Module,
    layer: FieldLayer,
    image: np.ndarray,
    filters: Sequence[int],
    tile: int,
    device: torch.device | str,
    stride: int,
) -> Job[np.ndarray | None]:
    """Go through the tiles of a padded image; None if memory ran out."""
    rows, columns = (
        plan_outputs(n, layer, tile=tile, stride=stride) for n in image.shape[1:]
    )
    shape = (len(filters), 2, rows[-1].stop, columns[-1].stop)
    field = np.empty(shape, np.float32)
    total = len(rows) * len(columns)
    spans = ((row, column) for row in rows for column in columns)
    for done, (row, column) in enumerate(spans):
        piece = _try_tile(network, layer, image, filters, (row, column), device)
        if piece is None:
            return None
        field[:, :, row.target, column.target] = piece
        yield Report(done + 1, total, f"tile {done + 1} of {total}")
    return field


def _try_tile(
    network: nn.Module,
    layer: FieldLayer,
    image: np.ndarray,
    filters: Sequence[int],
    spans: tuple[OutputSpan, OutputSpan],
    device: torch.device | str,
) -> np.ndarray | None:
    """Run one tile; None if memory ran out."""
    row, column = spans
    crop = np.ascontiguousarray(image[:, row.source, column.source])
    network.eval()
    try:
        with torch.inference_mode():
            given = torch.from_numpy(crop)[None].to(device)
            field = layer_field(network, layer.name, given)[0]
            field = field[list(filters)][:, :, row.kept, column.kept]
            return np.asarray(field.float().cpu().numpy())
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return None


def _halve(tile: int) -> int:
    if tile // 2 < SMALLEST_TILE:
        raise OutOfMemory(
            f"memory ran out even with tiles of {tile} pixels: close other programs, "
            "or run on the CPU"
        )
    return tile // 2
