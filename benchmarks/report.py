"""The figures as Markdown: ratios to ours within one run, and what is to be reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.results import Results
from benchmarks.targets import verdicts
from benchmarks.workloads import OURS

TITLES = {
    "forward_s": "forward",
    "step_s": "forward + backward",
    "forward_mb": "memory forward",
    "step_mb": "memory forward + backward",
}


def write_report(results: Results) -> None:
    text = "\n".join(lines(results.sections)) + "\n"
    results.path.with_suffix(".md").write_text(text, encoding="utf-8")


def lines(sections: dict[str, Any]) -> Iterator[str]:
    yield "# Benchmarks"
    yield ""
    yield "Written by `make bench`; how it is measured: docs/performance.md."
    yield from _verdict_lines(sections)
    for section, content in sections.items():
        machine = content["machine"]
        yield f"\n## {section}\n"
        yield (
            f"{machine['date']}, {machine['cpu']} ({machine['instructions']}), "
            f"{machine['threads']} threads, torch {machine['torch']}, load before "
            f"{machine['load_before']}{_duration(content)}."
        )
        for name, people in content["workloads"].items():
            yield f"\n### {name}\n"
            is_race = any("forward_s" in figures for figures in people.values())
            yield from _race(people) if is_race else _plain(people)


def _duration(content: dict[str, Any]) -> str:
    """How long it took, of a section that was run to its end."""
    return f", {content['minutes']:.1f} minutes" if "minutes" in content else ""


def _verdict_lines(sections: dict[str, Any]) -> Iterator[str]:
    yield "\n| to reach | ratio | at most | |"
    yield "|---|---|---|---|"
    for v in verdicts(sections):
        outcome = "met" if v.met else "**missed**"
        yield f"| {v.what} | {v.ratio:.2f} | {v.limit:.2f} | {outcome} |"


def _race(people: dict[str, Any]) -> Iterator[str]:
    """Ours in seconds and megabytes, others as multiples of it."""
    ours = people.get(OURS, {})
    yield "| | " + " | ".join(TITLES.values()) + " |"
    yield "|---" * (len(TITLES) + 1) + "|"
    for who, figures in people.items():
        cells = [_cell(who, key, figures, ours) for key in TITLES]
        yield f"| {who} | " + " | ".join(cells) + " |"


def _cell(who: str, key: str, figures: dict[str, float], ours: dict[str, float]) -> str:
    value, reference = figures.get(key), ours.get(key)
    if value is None:
        return ""
    unit = "s" if key.endswith("_s") else "MB"
    if who == OURS or not reference:
        return f"{value:.3g} {unit}"
    return f"× {value / reference:.2f}"


def _plain(people: dict[str, Any]) -> Iterator[str]:
    keys = list(dict.fromkeys(k for figures in people.values() for k in figures))
    yield "| | " + " | ".join(k.replace("_", " ") for k in keys) + " |"
    yield "|---" * (len(keys) + 1) + "|"
    for who, figures in people.items():
        cells = [f"{figures[k]:.4g}" if k in figures else "" for k in keys]
        yield f"| {who} | " + " | ".join(cells) + " |"
