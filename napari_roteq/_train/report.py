"""What a training will learn from and cost, in words; how it goes (no Qt)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from napari_roteq._pace import spell_duration
from roteq_core.cars.examples import CarFrame
from roteq_core.membranes.held_parts import HeldPart
from roteq_core.membranes.label_meaning import MEANINGS
from roteq_core.membranes.labelled_stack import LabelledStack

WARNING = "⚠"
_FEW_PIXELS = 300  # labelled pixels of a class that are few
_FEW_CARS = 30
_RISING = 3  # epochs in which the validation loss was higher than its lowest
_SPARSE = 0.5  # as in the core: below, pixels are compared instead of cells


def data_lines(
    task: str, items: Sequence[Any], left_out: Mapping[str, int]
) -> list[str]:
    """Say what was read: how much, of which kind, what is held out."""
    return frame_lines(items, left_out) if task == "cars" else stack_lines(items)


def stack_lines(stacks: Sequence[LabelledStack]) -> list[str]:
    """Say what is labelled and what is held out."""
    lines = []
    for stack in stacks:
        count, height, width = stack.known.shape
        plural = "slice" if count == 1 else "slices"
        lines.append(
            f"<b>{escape(stack.name)}</b> with {escape(stack.labels_name)}: {count} "
            f"labelled {plural} of {height} × {width}"
        )
        meaning = MEANINGS.get(stack.meaning, stack.meaning)  # type: ignore[call-overload]
        lines.append(f"Labels: {escape(meaning)} ({escape(stack.reason)})")
        lines += _label_shares(stack)
        lines.append(held_text(stack))
    lines.append(f"Score: {score_name(stacks)}")
    return lines


def _label_shares(stack: LabelledStack) -> list[str]:
    membranes = int((stack.membranes & stack.known).sum())
    cells = int(stack.known.sum()) - membranes
    share = (membranes + cells) / stack.known.size
    lines = [
        f"Labelled: {share:.2%} of these slices; {membranes} pixels of membrane, "
        f"{cells} of cell"
    ]
    for name, pixels in (("membrane", membranes), ("cell", cells)):
        if pixels < _FEW_PIXELS:
            lines.append(
                f"{WARNING} “{escape(stack.labels_name)}” has only {pixels} pixels of "
                f"{name}: label some more"
            )
    return lines


def held_text(stack: LabelledStack) -> str:
    """Say what of a stack is held out."""
    if not stack.held:
        return (
            f"{WARNING} Nothing of “{escape(stack.labels_name)}” is held out: nobody "
            "can tell how well the model does elsewhere. Label membranes and cells in "
            "another part"
        )
    first, planes = stack.held[0], [stack.planes[part.plane] for part in stack.held]
    where = _side(first, stack.known.shape)
    return f"Held out: {where}{_numbers(planes)}, never learnt from"


def _side(part: HeldPart, shape: tuple[int, ...]) -> str:
    if part.left:
        return f"columns {part.left}-{shape[2] - 1} of "
    return f"rows {part.top}-{shape[1] - 1} of " if part.top else ""


def _numbers(planes: Sequence[int]) -> str:
    if len(planes) == 1:
        return f"slice {planes[0]}"
    if list(planes) == list(range(planes[0], planes[-1] + 1)):
        return f"slices {planes[0]}-{planes[-1]}"
    return "slices " + ", ".join(map(str, planes))


def score_name(stacks: Sequence[LabelledStack]) -> str:
    """Name the score that matters: cells if they are labelled, else pixels."""
    return "labelled pixels right" if _is_sparse(stacks) else "V-Rand"


def _is_sparse(stacks: Sequence[LabelledStack]) -> bool:
    held = [stack.known[p.plane][p.area] for stack in stacks for p in stack.held]
    pixels = sum(each.size for each in held)
    return bool(sum(int(each.sum()) for each in held) < _SPARSE * pixels)


def frame_lines(frames: Sequence[CarFrame], left_out: Mapping[str, int]) -> list[str]:
    """Say how many cars there are and what is held out."""
    held = sum(sum(frame.held) for frame in frames)
    learnt = sum(len(frame.cars) for frame in frames) - held
    names = dict.fromkeys(frame.cars_name for frame in frames)
    lines = [
        f"<b>{escape(frame.name)}</b>: {frame.shape[0]} × {frame.shape[1]}, "
        f"{len(frame.cars)} cars"
        for frame in frames[:6]
    ]
    if len(frames) > 6:
        lines.append(f"… and {len(frames) - 6} more images")
    lines.append(f"Cars: {learnt} to learn from, {held} held out")
    lines += [f"Left out: {count} {reason}" for reason, count in left_out.items()]
    if learnt < _FEW_CARS:
        lines.append(
            f"{WARNING} {escape(', '.join(names))} has few cars: review more, or learn "
            "from synthetic ones besides"
        )
    lines += _held_regions(frames)
    lines.append("Score: mean error of the heading")
    return lines


def _held_regions(frames: Sequence[CarFrame]) -> list[str]:
    lines = []
    for frame in frames:
        if frame.region is None:
            continue
        top, left, bottom, right = frame.region
        where = f"columns {left}-{right - 1} of " if left else ""
        where = f"rows {top}-{bottom - 1} of " if top else where
        lines.append(f"Held out: {where}{escape(frame.name)}, never learnt from")
    if not lines:
        lines.append(
            f"{WARNING} No car is held out: synthetic ones are checked instead"
        )
    return lines


def cost_lines(cost: Mapping[str, Any], free_bytes: float | None = None) -> list[str]:
    """Say what a training will take on this device."""
    count = cost["threads"]
    threads = f", {count} thread{'s' if count > 1 else ''}"
    threads = threads if cost["device"] == "cpu" else ""
    lines = [
        f"Expected: about {spell_duration(cost['seconds'])} and "
        f"{cost['bytes'] / 1e9:.1f} GB on {cost['device']}{threads}"
    ]
    if free_bytes is not None and cost["bytes"] > 0.9 * free_bytes:
        lines.append(
            f"{WARNING} Only {free_bytes / 1e9:.1f} GB of memory are free: choose a "
            "smaller crop or batch under Advanced"
        )
    return lines


def as_html(lines: Sequence[str]) -> str:
    """Put lines below each other."""
    return "<br>".join(lines)


def overfitting_since(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """Give the step from which the validation loss only rose while training went on.

    That is where it was lowest, if it has been clearly higher in each of the last
    epochs and the training loss has fallen since.
    """
    seen = [row for row in rows if "validation_loss" in row]
    losses = np.array([row["validation_loss"] for row in seen])
    if len(losses) <= _RISING:
        return None
    best = int(losses.argmin())
    after = losses[best + 1 :]
    clear = 0.05 * max(abs(float(losses[best])), 1e-6)
    rises = len(after) >= _RISING and bool(
        (after[-_RISING:] > losses[best] + clear).all()
    )
    falls = seen[-1]["loss"] < seen[best]["loss"]
    return int(seen[best]["step"]) if rises and falls else None


def ended_early(rows: Sequence[Mapping[str, Any]], patience: int) -> bool:
    """Whether a training ended because its score had not grown for long."""
    scores = [row["score"] for row in rows if "score" in row]
    if not patience or not scores:
        return False
    return len(scores) - 1 - int(np.argmax(scores)) >= patience


def progress_text(rows: Sequence[Mapping[str, Any]], name: str) -> str:
    """Say how a training stands: the score that matters, the best one, overfitting."""
    scored = [row for row in rows if "score" in row]
    if not scored:
        return ""
    best = max(scored, key=lambda row: row["score"])
    lines = [
        f"{name}: {_spell(scored[-1]['score'])} at step {scored[-1]['step']}, best "
        f"{_spell(best['score'])} at step {best['step']}"
    ]
    since = overfitting_since(rows)
    if since is not None:
        lines.append(
            f"{WARNING} Overfitting since step {since}: the validation loss rises "
            "while the training loss falls. The best model is kept; more labels help"
        )
    return "<br>".join(lines)


def _spell(score: float) -> str:
    return f"{-score:.1f}°" if score < 0 else f"{score:.3f}"
