"""Results as Markdown: a table for each workload, and the targets, met or missed."""

from __future__ import annotations

from typing import Any

from benchmarks.workloads import ESCNN_VECTOR, FLOORS, NAIVE, OURS, UNET

Results = dict[str, Any]
COLUMNS = ("forward s", "step s", "forward MB", "step MB")


def as_markdown(results: Results) -> str:
    """Write all tables and the targets."""
    machine = results.get("machine", {})
    parts = [
        "# Benchmark results\n",
        "Made by `make bench`. A step is forward and backward. Times are the minimum "
        "of interleaved runs, ratios are to ours, memory is the peak growth of a fresh "
        f"process. torch {machine.get('torch')}, {machine.get('threads')} threads.\n",
    ]
    for name, rows in results.items():
        if name == "sizes":
            parts.append(_sizes(rows))
        elif name != "machine":
            parts.append(_table(name, rows))
    checks = [check for check in _targets(results) if check]
    parts.append(
        "## Targets\n\n| target | measured | |\n|---|---|---|\n" + "".join(checks)
    )
    return "\n".join(parts)


def _table(name: str, rows: dict[str, dict[str, float]]) -> str:
    head = "| | forward s | ratio | step s | ratio | forward MB | step MB |\n"
    lines = [f"## {name}\n\n{head}|---|---|---|---|---|---|---|\n"]
    ours = rows[OURS]
    for rival, row in rows.items():
        forward, step = row["forward s"], row["step s"]
        cells = [
            f"{forward:.3f}",
            f"{forward / ours['forward s']:.2f}",
            f"{step:.3f}",
            f"{step / ours['step s']:.2f}",
            *(f"{row[key]:.0f}" if key in row else "–" for key in COLUMNS[2:]),
        ]
        lines.append(f"| {rival} | {' | '.join(cells)} |\n")
    return "".join(lines)


def _sizes(rows: dict[str, dict[str, float]]) -> str:
    head = (
        "## Time per pixel, layer R=16, forward\n\n| side | ns per pixel |\n|---|---|\n"
    )
    return head + "".join(
        f"| {side} | {row['ns per pixel']:.0f} |\n" for side, row in rows.items()
    )


def _floor(rows: dict[str, dict[str, float]], key: str) -> float:
    """The best layout."""
    return min(rows[name][key] for name in FLOORS if name in rows)


def _targets(results: Results) -> list[str]:
    """The bars that the layer and the membrane network were built to."""
    lines = []
    for name in ("layer R=16, 512", "layer R=17, 512"):
        if rows := results.get(name):
            ours, naive = rows[OURS], rows[NAIVE]
            pairs = [
                ("forward to floor", "forward s", _floor(rows, "forward s"), 1.25),
                ("step to floor", "step s", _floor(rows, "step s"), 1.4),
                ("forward to naive", "forward s", naive["forward s"], 1 / 4),
                ("forward memory to naive", "forward MB", naive["forward MB"], 1 / 5),
                ("step memory to naive", "step MB", naive["step MB"], 1 / 3),
            ]
            lines += [_line(f"{name}: {t}", ours[k] / o, bar) for t, k, o, bar in pairs]
    if rows := results.get("membranes, 512"):
        for rival in (UNET, ESCNN_VECTOR):
            if rival in rows:
                for key in COLUMNS:
                    ratio = rows[OURS][key] / rows[rival][key]
                    lines.append(_line(f"membranes: {key} to {rival}", ratio, 0.5))
    if rows := results.get("sizes"):
        times = [row["ns per pixel"] for row in rows.values()]
        lines.append(
            _line("time per pixel, largest to smallest", max(times) / min(times), 1.25)
        )
    return lines


def _line(text: str, ratio: float, bar: float) -> str:
    verdict = "met" if ratio <= bar else "missed"
    return f"| {text} ≤ {bar:.2f} | {ratio:.2f} | {verdict} |\n"
