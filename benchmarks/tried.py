"""What was tried, beside what was kept: ways to the same result, in one run.

Each pair computes the same to float rounding, which is checked before it is timed.
"""

from __future__ import annotations

import functools
import unittest.mock
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.measure import Effort, interleaved_minima
from benchmarks.results import Results
from roteq_core.engine import fused
from roteq_core.engine.fused import CPU_STRIP, Pooling, fused_conv_pool
from roteq_core.engine.peaks import find_maximum
from roteq_core.engine.strips import DirectConv
from roteq_core.jobs import drain
from roteq_core.layers import RotConv
from roteq_core.net_config import MembraneNetConfig
from roteq_core.networks import build_network
from roteq_core.predict import iter_predict_maps
from roteq_core.tasks.membranes import membrane_maps

SECTION = "tried"
Ways = dict[str, Callable[[], object]]


def measure_tried(results: Results, side: int, effort: Effort) -> None:
    """Time all pairs on images of a side; what was kept comes last."""
    torch.manual_seed(0)
    comparisons = {
        "strips of a convolution, 20 to 88 maps, 9×9": strip_heights(side),
        "largest of 16 and its place": maxima(side),
        "1×1 layer, 20 to 10 fields": one_by_one(20, 10, side),
        "1×1 layer, 8 fields to 16 magnitudes": one_by_one(8, 16, side, "magnitude"),
        "layer, 10 to 8 fields, 9×9, to predict": convolutions(side),
        "layer, 10 to 8 fields, 9×9, terms": blocks(side),
        f"membrane network, {2 * side}², tiles of {side}": windows(side),
    }
    for name, ways in comparisons.items():
        with torch.inference_mode():
            seconds = interleaved_minima(ways, effort)
        for way, value in seconds.items():
            results.put(SECTION, name, way, seconds=value)


def strip_heights(side: int) -> Ways:
    """The convolution of a layer alone, in strips of more or fewer rows."""
    conv = DirectConv(torch.randn(1, 20, side, side), torch.randn(88, 20, 9, 9), 4, 1)

    def run(rows: int) -> None:
        for strip in conv.strips(rows * side):
            conv.coefficients(strip)

    return {f"{rows} rows": functools.partial(run, rows) for rows in (4, 9, 16, 64, 36)}


def maxima(side: int) -> Ways:
    """The winner of R = 16 responses, of 8 filters at each pixel, part by part."""
    responses = torch.randn(16, 8 * side**2)
    parts = [p.contiguous() for p in responses.split(CPU_STRIP // 16, 1)]
    ways: Ways = {
        "max with index": lambda: torch.cat([p.max(0).indices for p in parts]),
        "maximum, comparison, product": lambda: torch.cat(
            [find_maximum(p)[1] for p in parts]
        ),
    }
    return _agreeing(ways)


def one_by_one(in_maps: int, filters: int, side: int, pool: str = "vector") -> Ways:
    """A 1×1 layer on fields: all responses, or the phase of their wave."""
    layer = RotConv(in_maps, filters, 1, pool=pool).eval()  # type: ignore[arg-type]
    pooling = _pooling(layer)
    field = torch.randn(1, in_maps, 2, side, side)
    ways: Ways = {
        "responses": _pooled(layer, field, replace(pooling, one_wave=False)),
        "phase": _pooled(layer, field, replace(pooling, one_wave=True)),
    }
    return _agreeing(ways)


def convolutions(side: int) -> Ways:
    """A layer's forward: by spectra, or directly."""
    layer = RotConv(10, 8, 9).eval()
    field = torch.randn(1, 10, 2, side, side)
    pooling = _pooling(layer)
    ways: Ways = {
        "spectra": _pooled(layer, field, replace(pooling, method="spectral")),
        "direct": _pooled(layer, field, replace(pooling, method="direct")),
    }
    return _agreeing(ways)


def blocks(side: int) -> Ways:
    """A layer's forward: with the terms there are, or with full blocks of maps."""
    layer = RotConv(10, 8, 9).eval()
    field = torch.randn(1, 10, 2, side, side)
    forward = _pooled(layer, field, replace(_pooling(layer), method="direct"))

    def half_empty() -> object:
        with unittest.mock.patch.object(fused, "BLOCKS", {}):
            return forward()

    return _agreeing({"as they are": half_empty, "full blocks": forward})


def windows(side: int) -> Ways:
    """The last layers of a tile: for all that it reads, or for what it keeps."""
    network = build_network(MembraneNetConfig()).eval()
    image = np.random.default_rng(0).standard_normal(
        (1, 2 * side, 2 * side), dtype=np.float32
    )

    def run(whole: bool) -> Tensor:
        wanted = _WithoutWindow(network) if whole else network
        maps = drain(iter_predict_maps(wanted, image, membrane_maps, tile=side))
        return torch.from_numpy(maps)

    ways: Ways = {
        "of what is read": functools.partial(run, True),
        "of what is kept": functools.partial(run, False),
    }
    return _agreeing(ways)


class _WithoutWindow(nn.Module):
    """A network that can only do all of its image."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network
        self.stride, self.reach = network.stride, network.reach

    def forward(self, image: Tensor) -> object:
        return self.network(image)


def _pooling(layer: RotConv) -> Pooling:
    return Pooling(
        layer.filters,
        layer.angles,
        layer.refine,
        layer.stride,
        layer.padding,
        keep="vector" if layer.pool == "vector" else "magnitude",
    )


def _pooled(layer: RotConv, field: Tensor, pooling: Pooling) -> Callable[[], Tensor]:
    maps, trig = field.flatten(1, 2), layer.operator.trig
    with torch.inference_mode():
        bank = layer._cached_bank()
    return lambda: fused_conv_pool(maps, bank, trig, layer.bias, pooling)


def _agreeing(ways: Ways) -> Ways:
    """Give the ways back if their results agree nearly everywhere.

    Where two orientations answer alike, rounding decides which one wins.
    """
    with torch.inference_mode():
        one, other = (way() for way in ways.values())
    assert isinstance(one, Tensor)
    assert isinstance(other, Tensor)
    share = float(torch.isclose(one, other, rtol=1e-3, atol=1e-4).float().mean())
    if share < 0.999:
        raise RuntimeError(f"{list(ways)} must agree, but do so in {share:.1%} only")
    return ways
