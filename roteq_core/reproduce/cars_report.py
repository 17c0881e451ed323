"""The figures of `reproduce.cars` as lines of text and as a picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HISTOGRAM_STEP = 5  # degrees


def table_lines(result: dict[str, Any]) -> list[str]:
    """Give the table as lines of text, the paper's rows first."""
    head = f"{'':36}{'mean':>8}{'median':>8}{'<15°':>8}{'>150°':>8}{'weights':>9}"
    lines = [head, "the paper, on its own data set:"]
    lines += [_line(name, row) for name, row in result["paper"].items()]
    lines.append(f"here, {result['test_cars']} cars of another data set:")
    lines += [_line(name, row) for name, row in result["rows"].items()]
    return lines


def detail_lines(result: dict[str, Any]) -> list[str]:
    """Give the judged model's errors by size, heading, turn of the crops and R."""
    name, row = next(iter(result["rows"].items()))
    lines = [f"errors of {name}:"]
    for index, cars in enumerate(row["histogram_5_deg"]):
        if cars:
            low = index * HISTOGRAM_STEP
            lines.append(f"  {low:3d}-{low + HISTOGRAM_STEP:3d}°: {cars:4d} cars")
    lines.append("by heading, clockwise from up:")
    lines += [
        f"  {b['low']:6.1f}° to {b['high']:6.1f}°: {b['count']:4d} cars, mean "
        f"{b['mean']:.2f}°, flipped {100 * b['share_flipped']:.1f}%"
        for b in row["by_heading"]
        if b["count"]
    ]
    lines.append("crops turned, mean error:")
    lines += [
        f"  {float(t):5.1f}°: {mean:.2f}°" for t, mean in result["by_turn"].items()
    ]
    lines.append("orientations R at test time, one reading:")
    lines += [
        f"  R = {r['orientations']:2d}: {r['mean_deg']:6.2f}°, "
        f"{100 * r['share_above_150']:.1f}% above 150°, "
        f"{r['ms_per_car']:.2f} ms per car"
        for r in result["sweep"]
    ]
    return lines


def finder_lines(finder: dict[str, Any]) -> list[str]:
    """Give what `iter_finder_scores` found as lines of text."""
    lines = [
        f"cars found by {finder['model']} (score at least {finder['threshold']:.3f}), "
        f"headings by {finder['heading_model']}:",
        f"{'':31}{'cars':>5}{'found':>7}{'matched':>9}{'precision':>11}{'recall':>8}"
        f"{'F1':>7}{'heading error':>15}{'median':>8}{'>150°':>7}",
    ]
    for name, row in finder["rows"].items():
        lines.append(
            f"{name.replace('_', ' '):31}{row['cars']:>5}{row['found']:>7}"
            f"{row['matched']:>9}{row['precision']:>11.3f}{row['recall']:>8.3f}"
            f"{row['f1']:>7.3f}{_heading_cells(row['heading'])}"
        )
    skipped = finder["rows"]["test_frames"]["not_counted"]
    rule = finder["matching"]["rule"]
    lines.append(f"Here {rule} ({skipped} finds in the test frames, length given).")
    return lines


def _heading_cells(heading: dict[str, float]) -> str:
    if not heading["cars"]:
        return f"{'-':>15}{'-':>8}{'-':>7}"
    return (
        f"{heading['mean_deg']:>14.1f}°{heading['median_deg']:>7.1f}°"
        f"{100 * heading['share_above_150']:>6.1f}%"
    )


def _line(name: str, row: dict[str, Any]) -> str:
    def cell(key: str, form: Callable[[float], str], width: int = 8) -> str:
        return f"{form(row[key]) if key in row else '-':>{width}}"

    return (
        f"{name:36}"
        + cell("mean_deg", lambda v: f"{v:.2f}°")
        + cell("median_deg", lambda v: f"{v:.2f}°")
        + cell("share_under_15", lambda v: f"{100 * v:.1f}%")
        + cell("share_above_150", lambda v: f"{100 * v:.1f}%")
        + cell("weights", lambda v: f"{v:.0f}", 9)
    )


def draw_figures(result: dict[str, Any], path: Path) -> None:
    """Draw the errors, the errors by heading, and the sweep over R, to a PNG file."""
    from matplotlib.figure import Figure

    name, row = next(iter(result["rows"].items()))
    figure = Figure(figsize=(13, 4), layout="constrained")
    errors, bins, sweep = figure.subplots(1, 3)
    errors.bar(np.arange(36) * HISTOGRAM_STEP + 2.5, row["histogram_5_deg"], width=4.5)
    errors.set(xlabel="error (degrees)", ylabel="cars", title=name)
    middle = [(b["low"] + b["high"]) / 2 for b in row["by_heading"]]
    bins.bar(middle, [b["mean"] for b in row["by_heading"]], width=40)
    bins.set(xlabel="heading, clockwise from up (degrees)", ylabel="mean error")
    count = [r["orientations"] for r in result["sweep"]]
    sweep.plot(count, [r["mean_deg"] for r in result["sweep"]], "o-")
    sweep.set(xlabel="orientations R at test time", ylabel="mean error (degrees)")
    cost = sweep.twinx()
    cost.plot(count, [r["ms_per_car"] for r in result["sweep"]], "s--", color="gray")
    cost.set_ylabel("ms per car (gray)")
    figure.savefig(path, dpi=120)
