"""Time per pixel from small images to large ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from benchmarks.measure import Effort, interleaved_minima
from benchmarks.results import Results
from benchmarks.workloads import OURS, workload
from roteq_core.jobs import drain
from roteq_core.net_config import MembraneNetConfig
from roteq_core.networks import build_network
from roteq_core.predict import DEFAULT_TILE, iter_predict_maps
from roteq_core.tasks.membranes import membrane_maps


def measure_scaling(results: Results, sizes: tuple[int, ...], effort: Effort) -> None:
    """Our layer on whole images, and our membrane network in tiles as in use."""
    work = workload("layer R=16")
    torch.manual_seed(0)
    network = build_network(MembraneNetConfig()).eval()
    makers: dict[str, Callable[[int], Callable[[], object]]] = {
        "layer": lambda size: work.build(OURS, size).forward,
        f"membranes, tiles of {DEFAULT_TILE}": lambda size: _predict(network, size),
    }
    # A small image is over in no time: more rounds, or the noise would be its figure.
    effort = replace(effort, rounds=4 * effort.rounds)
    for name, make in makers.items():
        runs = {str(size): make(size) for size in sizes}
        for size, seconds in interleaved_minima(runs, effort).items():
            per_pixel = seconds / int(size) ** 2 * 1e6
            results.put("scaling", name, size, us_per_pixel=per_pixel)


def _predict(network: torch.nn.Module, size: int) -> Callable[[], object]:
    image = np.random.default_rng(0).standard_normal((1, size, size), dtype=np.float32)
    return lambda: drain(iter_predict_maps(network, image, membrane_maps))
