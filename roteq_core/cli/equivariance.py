"""`roteq equivariance`: how well random layers turn their answer, at every angle."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.progress import track

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from roteq_core.equivariance import EquivarianceError, Network, Probes

BASES = ("bilinear", "spread", "smooth")
ORIENTATIONS = (8, 16, 17, 32)
NOISES = (1.5, 3.0)
LAYERS, MAPS, KERNEL = 3, 8, 9
SIDE = 1 + LAYERS * (KERNEL - 1)
# By this share of a step, angles are none that filters are turned to.
SHIFT = 0.37


@dataclass(frozen=True)
class Setting:
    """What is measured: how filters turn, and on which noise."""

    basis: str
    orientations: int
    refine: bool
    noise_sigma: float


@dataclass(frozen=True)
class Curve:
    """The errors of one setting around the circle, and at a quarter turn."""

    setting: Setting
    errors: list[EquivarianceError]
    quarter: EquivarianceError

    def mean(self, name: str) -> float:
        """Average an error over the angles."""
        values = [getattr(error, name) for error in self.errors]
        return float(sum(values) / len(values))

    def worst(self, name: str) -> float:
        """Give an error at its worst angle."""
        return float(max(getattr(error, name) for error in self.errors))


def equivariance(
    out: Path = typer.Option(Path("equivariance_output"), help="Folder for results."),
    angles: int = typer.Option(25, help="Angles around the circle.", min=1),
    probes: int = typer.Option(24, help="Points of noise for each network.", min=2),
    networks: int = typer.Option(6, help="Random networks for each setting.", min=1),
) -> None:
    """Measure the equivariance of random layers at all angles: table, plot and JSON."""
    out.mkdir(parents=True, exist_ok=True)
    degrees = [360 * (n + SHIFT) / angles for n in range(angles)]
    wanted = list(settings())
    noise = {sigma: probes_of(sigma, probes) for sigma in NOISES}
    curves = [
        measure(setting, noise[setting.noise_sigma], degrees, networks)
        for setting in track(wanted, description="Measuring")
    ]
    (out / "equivariance.md").write_text(table(curves), encoding="utf-8")
    (out / "equivariance.json").write_text(as_json(curves), encoding="utf-8")
    figure(curves).savefig(out / "equivariance.png", dpi=90)
    typer.echo(f"Table, plot and figures: {out}")


def settings() -> Iterator[Setting]:
    """Give every setting of the table."""
    for each in itertools.product(BASES, ORIENTATIONS, (False, True), NOISES):
        yield Setting(*each)


def probes_of(sigma: float, count: int) -> Probes:
    """Make points of noise whose patches are as large as the receptive field."""
    from roteq_core.equivariance import Probes

    return Probes(sigma, SIDE, count=count)


def random_layers(setting: Setting, seed: int) -> Network:
    """Stack three random layers of eight maps, without padding."""
    import torch
    from torch import nn

    from roteq_core.layers import RotConv

    def layer(index: int) -> RotConv:
        return RotConv(
            MAPS if index else 1,
            MAPS,
            KERNEL,
            orientations=setting.orientations,
            vector_input=index > 0,
            basis=setting.basis,
            refine=setting.refine,
            bias=False,
            padding=0,
        )

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(*(layer(index) for index in range(LAYERS))).eval()


def measure(
    setting: Setting, noise: Probes, degrees: list[float], networks: int
) -> Curve:
    """Average the errors of some random networks at each angle."""
    from roteq_core.equivariance import EquivarianceError, probe_errors

    angles = [*(math.radians(d) for d in degrees), math.pi / 2]
    each = [
        [asdict(error) for error in probe_errors(network, noise, angles)]
        for network in (random_layers(setting, seed) for seed in range(networks))
    ]
    errors = [
        EquivarianceError(**{k: sum(e[k] for e in same) / networks for k in same[0]})
        for same in zip(*each, strict=True)
    ]
    return Curve(setting, errors[:-1], errors[-1])


def table(curves: list[Curve]) -> str:
    """Write a Markdown table, one row a way of turning, both noises side by side."""
    head = "angle: median, worst; mean | vector: RMS, worst; median | magnitude | 90°"
    heads = " | ".join(f"σ {sigma:g}: {head}" for sigma in NOISES)
    lines = [
        f"| basis | R | refine | {heads} |",
        "|---|---|---" + "|---|---|---|---" * len(NOISES) + "|",
    ]
    by_way: dict[tuple[str, int, bool], list[Curve]] = {}
    for curve in curves:
        way = curve.setting
        key = (way.basis, way.orientations, way.refine)
        by_way.setdefault(key, []).append(curve)
    for (basis, count, refine), both in by_way.items():
        cells = [basis, str(count), "yes" if refine else "no"]
        cells += [cell for curve in both for cell in _cells(curve)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cells(curve: Curve) -> list[str]:
    median, rms = "angle_median_deg", "vector_rms"
    return [
        f"{curve.mean(median):.1f}°, {curve.worst(median):.1f}°; "
        f"{curve.mean('angle_mean_deg'):.1f}°",
        f"{curve.mean(rms):.2f}, {curve.worst(rms):.2f}; "
        f"{curve.mean('vector_median'):.2f}",
        f"{curve.mean('magnitude'):.2f}",
        f"{curve.quarter.vector_rms:.2g}",
    ]


def as_json(curves: list[Curve]) -> str:
    """Write settings and errors at each angle."""
    return json.dumps([asdict(curve) for curve in curves], indent=1)


def figure(curves: list[Curve]) -> Figure:
    """Draw errors around the circle: of the bases, and of the default for each R."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(14, 7.5), layout="constrained")
    rows = drawing.subplots(len(NOISES), 3, sharex=True)
    for axes, sigma in zip(rows, NOISES, strict=True):
        here = [curve for curve in curves if curve.setting.noise_sigma == sigma]
        bases = [c for c in here if c.setting.orientations == 16]
        default = [c for c in here if c.setting.basis == "smooth" and c.setting.refine]
        _draw_bases(axes[0], bases, "angle_mean_deg")
        _draw_bases(axes[1], bases, "magnitude")
        for curve in default:
            count = f"R = {curve.setting.orientations}"
            _draw(axes[2], curve, "angle_mean_deg", label=count)
        axes[0].set(title=f"bases, R = 16, noise σ = {sigma:g} px")
        axes[1].set(title=f"bases, R = 16, noise σ = {sigma:g} px")
        axes[2].set(title=f"smooth, refined, noise σ = {sigma:g} px")
        labels = "mean angle error (°)", "error of magnitude", "mean angle error (°)"
        for axis, label in zip(axes, labels, strict=True):
            axis.set(ylabel=label, ylim=(0, None), xlim=(0, 360))
            axis.set(xticks=range(0, 361, 90))
    for axis in rows[-1]:
        axis.set(xlabel="turned by (°)")
    lines, labels = rows[0][0].get_legend_handles_labels()
    drawing.legend(lines, labels, loc="outside lower left", ncols=6, fontsize="small")
    lines, labels = rows[0][2].get_legend_handles_labels()
    drawing.legend(lines, labels, loc="outside lower right", ncols=6, fontsize="small")
    return drawing


def _draw_bases(axis: Axes, curves: list[Curve], name: str) -> None:
    for curve in curves:
        basis, refine = curve.setting.basis, curve.setting.refine
        _draw(
            axis,
            curve,
            name,
            label=f"{basis}, refined" if refine else basis,
            linestyle="-" if refine else ":",
            color=f"C{BASES.index(basis)}",
        )


def _draw(axis: Axes, curve: Curve, name: str, **style: Any) -> None:
    degrees = [error.turned_deg for error in curve.errors]
    axis.plot(degrees, [getattr(error, name) for error in curve.errors], **style)
