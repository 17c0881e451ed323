"""python -m benchmarks.bases [--points 80] [--angles 4] [--networks 6]

How well random layers turn their answer in variations of the smooth basis: a Markdown
table, as in docs/method.md. It takes minutes, and a busy machine does not change it.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import nn

from roteq_core.equivariance import EquivarianceError, Probes, probe_errors
from roteq_core.geometry import Basis
from roteq_core.layers import RotConv

NOISES = (1.5, 3.0)
MAPS, KERNEL = 8, 9
# By this share of a step, angles are none that filters are turned to.
SHIFT = 0.37


@dataclass(frozen=True)
class Variation:
    """A basis, and what is drawn and stacked in it."""

    basis: Basis = field(default_factory=Basis)
    orientations: int = 16
    is_white: bool = False  # first filters, instead of smooth ones
    layers: int = 3

    def network(self, seed: int) -> nn.Module:
        """Draw layers without padding."""
        torch.manual_seed(seed)
        layers = [
            RotConv(
                MAPS if index else 1,
                MAPS,
                KERNEL,
                orientations=self.orientations,
                vector_input=index > 0,
                basis=self.basis,
                bias=False,
                padding=0,
            )
            for index in range(self.layers)
        ]
        if self.is_white:  # the size does not matter: errors are relative
            for layer in layers:
                nn.init.normal_(layer.weight)
        return nn.Sequential(*layers).eval()

    def errors(self, noise: float, options: argparse.Namespace) -> dict[str, float]:
        """Average errors over random networks and angles."""
        side = 1 + self.layers * (KERNEL - 1)
        probes = Probes(noise, side, count=options.points)
        count = options.angles
        angles = [2 * math.pi * (n + SHIFT) / count for n in range(count)]
        found: list[EquivarianceError] = []
        for seed in range(options.networks):
            found += probe_errors(self.network(seed), probes, angles)
        names = ("angle_median_deg", "angle_mean_deg", "vector_rms", "vector_median")
        return {n: sum(getattr(e, n) for e in found) / len(found) for n in names}


def variations() -> Iterator[Variation]:
    """The default, and one thing at a time that differs from it."""
    yield Variation()
    yield Variation(layers=1)
    yield Variation(is_white=True)
    yield Variation(is_white=True, layers=1)
    for basis in (
        Basis(rim=1.0),
        Basis(rim=3.0),
        Basis(sigma=1.0),
        Basis(sigma=1.4),
        Basis(frequencies=2),
        Basis(frequencies=3),
        Basis(frequencies=5),
    ):
        yield Variation(basis)
    yield Variation(orientations=32)


def main() -> None:
    parser = argparse.ArgumentParser("benchmarks.bases", description=__doc__)
    parser.add_argument("--points", type=int, default=80)
    parser.add_argument("--angles", type=int, default=4)
    parser.add_argument("--networks", type=int, default=6)
    options = parser.parse_args()
    heads = [f"noise σ {s:g}: angle median; mean | vector RMS; median" for s in NOISES]
    print(f"| layers | first filters | σ | rim | M | R | {' | '.join(heads)} |")
    print("|---" * 10 + "|")
    for each in variations():
        basis = each.basis
        first = "white" if each.is_white else "smooth"
        cells = [str(each.layers), first, f"{basis.sigma:g}", f"{basis.rim:g}"]
        cells += [str(basis.frequencies), str(each.orientations)]
        for noise in NOISES:
            e = each.errors(noise, options)
            cells.append(f"{e['angle_median_deg']:.2f}°; {e['angle_mean_deg']:.1f}°")
            cells.append(f"{e['vector_rms']:.2f}; {e['vector_median']:.3f}")
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
