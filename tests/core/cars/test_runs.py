"""What a training on cars had, told apart by a fingerprint."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from imageio import v3 as imageio

from roteq_core.cars.frames import CarFrames, frames_from_files, hold_out_last
from roteq_core.cars.runs import describe_split


@pytest.fixture
def frames(drawn_frames, tmp_path) -> CarFrames:
    folder: Path = tmp_path / "data"
    shutil.copytree(drawn_frames((96, 128)), folder)
    return frames_from_files([folder], folder / "cars.csv")


def fingerprint_of(frames: CarFrames) -> str:
    return str(describe_split(*hold_out_last(frames))["fingerprint"])


def brighter(frames: CarFrames) -> CarFrames:
    pixels = imageio.imread(frames.images[0])
    imageio.imwrite(frames.images[0], pixels // 2 + 99)
    return frames


def changed(frames: CarFrames, **values: float) -> CarFrames:
    (first, *others), *rows = frames.cars
    return replace(frames, cars=[[replace(first, **values), *others], *rows])


CHANGES: dict[str, Callable[[CarFrames], CarFrames]] = {
    "pixels": brighter,
    "center": lambda f: changed(f, cx=f.cars[0][0].cx + 0.5),
    "length": lambda f: changed(f, length=20),
    "heading": lambda f: changed(f, heading_cw_from_up_deg=7),
    "fewer cars": lambda f: replace(f, cars=[f.cars[0][1:], *f.cars[1:]]),
    "doubtful cars": lambda f: replace(f, doubtful=[f.cars[0][:1], [], []]),
    "fewer images": lambda f: f.take([0, 2]),
    "order": lambda f: f.take([1, 0, 2]),
    "held out": lambda f: f.take([0, 2, 1]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_fingerprint_changes_with_images_cars_and_split(frames, change):
    before = fingerprint_of(frames)
    assert fingerprint_of(frames.take([0, 1, 2])) == before
    assert fingerprint_of(CHANGES[change](frames)) != before


def test_the_same_images_elsewhere_have_the_same_fingerprint(frames, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(frames.images[0].parent, elsewhere)
    again = frames_from_files([elsewhere], elsewhere / "cars.csv")
    assert fingerprint_of(again) == fingerprint_of(frames)


def test_what_is_held_out_is_not_what_is_learnt_from(frames):
    first, last = frames.take([0, 1]), frames.take([2])
    one = describe_split(first, last)
    assert (one["images"], one["held_out_images"]) == (
        "frame_0.png, frame_1.png",
        "frame_2.png",
    )
    every = describe_split(frames, frames.take([]))
    assert every["fingerprint"] != one["fingerprint"]
    assert (every["cars"], every["held_out_cars"]) == (frames.count, 0)
