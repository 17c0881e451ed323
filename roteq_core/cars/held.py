"""Which cars are validated on instead of being learnt from. No torch.

What is held out is the last images or, of one or two images, everything behind a line;
cars whose crops would cross that line are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from roteq_core.cars.examples import CarFrame

# How far from its center a car's patch reaches, in lengths of the car.
PATCH_REACH = 80 / 36 / 2
SMALLEST_SHARE, LARGEST_SHARE = 0.15, 0.45
FEWEST = 4  # cars to learn from


def hold_out_cars(frames: Sequence[CarFrame], wish: str = "auto") -> list[CarFrame]:
    """Choose what is validated on; cars whose crops would reach it are dropped.

    Parameters
    ----------
    frames : sequence of CarFrame
    wish : {"auto", "images", "side", "none"}
        The last fifth of the images, one side of each, or nothing. "auto": images if
        there are three or more, else a side.
    """
    count = sum(len(frame.cars) for frame in frames)
    if count < FEWEST:
        raise ValueError(f"there must be at least {FEWEST} cars, got {count}")
    if wish == "auto":
        wish = "images" if len(frames) > 2 else "side"
    if wish == "images" and len(frames) < 2:
        raise ValueError("images can be held out only where there are two or more")
    if wish == "images":
        first = len(frames) - max(1, len(frames) // 5)
        return [_held_whole(f, i >= first) for i, f in enumerate(frames)]
    if wish == "none":
        return [_held_whole(frame, False) for frame in frames]
    return [_held_side(frame) for frame in frames]


def _held_whole(frame: CarFrame, is_held: bool) -> CarFrame:
    region = (0, 0, *frame.shape) if is_held else None
    return replace(frame, held=(is_held,) * len(frame.cars), region=region)


def _held_side(frame: CarFrame) -> CarFrame:
    """Put the line where a fair share lies behind it and the fewest are dropped."""
    places = np.array([(car.cy, car.cx) for car in frame.cars])
    reach = np.array([PATCH_REACH * (car.length or 0.0) for car in frame.cars])
    best: tuple[int, int, int] | None = None  # dropped, axis, line
    for axis in (1, 0):
        for line in range(1, frame.shape[axis]):
            behind = places[:, axis] >= line
            share = behind.mean()
            if not SMALLEST_SHARE <= share <= LARGEST_SHARE:
                continue
            dropped = int((~behind & (places[:, axis] + reach >= line)).sum())
            if best is None or dropped < best[0]:
                best = dropped, axis, line
    if best is None:
        return _held_whole(frame, False)
    return _cut_at(frame, *best[1:])


def _cut_at(frame: CarFrame, axis: int, line: int) -> CarFrame:
    """Hold out what lies behind a line across an axis; drop what would cross it."""
    kept, held = [], []
    for car in frame.cars:
        place = (car.cy, car.cx)[axis]
        reach = PATCH_REACH * (car.length or 0.0)
        if place >= line or place + reach < line:
            kept.append(car)
            held.append(place >= line)
    top, left = (0, line) if axis == 1 else (line, 0)
    region = (top, left, *frame.shape)
    return replace(frame, cars=tuple(kept), held=tuple(held), region=region)


def hold_out_again(
    frames: Sequence[CarFrame], regions: Mapping[str, Sequence[int] | None]
) -> list[CarFrame]:
    """Hold the same regions out of frames whose cars have changed.

    Parameters
    ----------
    frames : sequence of CarFrame
    regions : mapping of str to (top, left, bottom, right) or None
        By the name of the image.
    """
    again = []
    for frame in frames:
        region = regions.get(frame.name)
        if region is None or not any(region[:2]):
            again.append(_held_whole(frame, region is not None))
        else:
            axis = 1 if region[1] else 0
            again.append(_cut_at(frame, axis, region[axis]))
    return again
