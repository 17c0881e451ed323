"""What of labelled slices is held out: whole slices, or one side of each. No torch.

A held-out part and the rest are cut apart before training, so that no training crop can
reach into it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roteq_core.membranes.slices import parse_slices

SMALLEST_SIDE = 32  # pixels of a part that is cut off, and of what is left
_SHARES = (0.2, 0.3, 0.4)  # of the labelled pixels, tried in turn


@dataclass(frozen=True)
class HeldPart:
    """A rectangle [top, bottom) × [left, right) of one slice, at its right or foot.

    `plane` counts the slices given, not those of the source.
    """

    plane: int
    top: int
    left: int
    bottom: int
    right: int

    def rest(self, height: int, width: int) -> tuple[slice, slice] | None:
        """Give the rows and columns of the slice that are left; None if none are."""
        if self.left > 0:
            return slice(0, height), slice(0, self.left)
        return (slice(0, self.top), slice(0, width)) if self.top > 0 else None

    @property
    def area(self) -> tuple[slice, slice]:
        """Rows and columns of the part."""
        return slice(self.top, self.bottom), slice(self.left, self.right)


def plan_held_parts(
    membranes: np.ndarray,
    known: np.ndarray,
    wish: str = "auto",
    planes: tuple[int, ...] | None = None,
) -> tuple[HeldPart, ...]:
    """Choose what to hold out, with both classes in it and in what is left.

    Parameters
    ----------
    membranes, known : bool arrays of shape (P, H, W)
        Slices with labels.
    wish : str
        "auto" (the last fifth of three slices or more, else one side of each),
        "slices", "side", "none", or slices of the source such as "24-29".
    planes : tuple of int, optional
        The number of each slice in its source; 0, 1, … if not given.

    Returns
    -------
    tuple of HeldPart
        Empty if nothing can be held out, which only "auto" and "none" accept.
    """
    numbers = tuple(range(len(known))) if planes is None else planes
    if wish == "none":
        return ()
    if wish == "auto":
        by_slices = _last_slices(membranes, known) if len(known) > 2 else ()
        return by_slices or _one_side(membranes, known)
    if wish == "slices":
        parts = _last_slices(membranes, known)
    elif wish == "side":
        parts = _one_side(membranes, known)
    else:
        named = parse_slices(wish, max(numbers) + 1)
        parts = _whole([p for p, z in enumerate(numbers) if z in named], known)
        if not _is_fair(membranes, known, parts):
            parts = ()
    if not parts:
        raise ValueError(
            f"what is held out ({wish}) and what is left must both show labelled "
            "membranes and cells: label more, or hold out something else"
        )
    return parts


def _last_slices(membranes: np.ndarray, known: np.ndarray) -> tuple[HeldPart, ...]:
    count = len(known)
    for held in range(max(1, count // 5), count // 2 + 1):
        parts = _whole(range(count - held, count), known)
        if _is_fair(membranes, known, parts):
            return parts
    return ()


def _whole(chosen: range | list[int], known: np.ndarray) -> tuple[HeldPart, ...]:
    height, width = known.shape[1:]
    return tuple(HeldPart(p, 0, 0, height, width) for p in chosen)


def _one_side(membranes: np.ndarray, known: np.ndarray) -> tuple[HeldPart, ...]:
    """Cut the right side off, or the foot, with about a fifth of the labels."""
    height, width = known.shape[1:]
    for share in _SHARES:
        for axis in (1, 0):  # columns, then rows
            cut = _cut(known.sum((0, 1 + (1 - axis))), share)
            if cut is None:
                continue
            top, left = (0, cut) if axis == 1 else (cut, 0)
            parts = tuple(
                HeldPart(p, top, left, height, width) for p in range(len(known))
            )
            if _is_fair(membranes, known, parts):
                return parts
    return ()


def _cut(labelled: np.ndarray, share: float) -> int | None:
    """Find the place behind which `share` of the labelled pixels lie."""
    size = len(labelled)
    if size < 2 * SMALLEST_SIDE or not labelled.any():
        return None
    behind = np.cumsum(labelled[::-1])[::-1] / labelled.sum()
    cut = int(np.flatnonzero(behind >= share)[-1])
    return int(np.clip(cut, SMALLEST_SIDE, size - SMALLEST_SIDE))


def _is_fair(
    membranes: np.ndarray, known: np.ndarray, parts: tuple[HeldPart, ...]
) -> bool:
    """Whether both classes are labelled in the parts and in the rest."""
    is_held = np.zeros(known.shape, bool)
    for part in parts:
        is_held[(part.plane, *part.area)] = True
    return all(
        (membranes & known & side).any() and (~membranes & known & side).any()
        for side in (is_held, ~is_held)
    )
