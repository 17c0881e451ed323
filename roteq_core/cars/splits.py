"""Frames of cars with a split for each row: to learn from, to test on, or neither."""

from __future__ import annotations

import csv
from pathlib import Path

from roteq_core.cars.frames import CarFrames
from roteq_core.tables import Car


def read_split(data: Path, split: str) -> CarFrames:
    """Read the rows of one split from `cars.csv`, with frames in `frames/`.

    Cars of other splits in the same frames are doubtful: they may be found, and neither
    learnt from nor scored.
    """
    table = Path(data) / "cars.csv"
    if not table.is_file():
        raise ValueError(f"there is no cars.csv in {data}")
    own: dict[str, list[Car]] = {}
    others: dict[str, list[Car]] = {}
    with table.open(newline="") as file:
        for row in csv.DictReader(file):
            rows = own if row["split"] == split else others
            rows.setdefault(row["file"], []).append(_car(row))
    if not own:
        raise ValueError(f"{table} has no rows with split {split!r}")
    return CarFrames(
        [Path(data) / "frames" / name for name in own],
        list(own.values()),
        [others.get(name, []) for name in own],
    )


def _car(row: dict[str, str]) -> Car:
    return Car(
        float(row["cx"]),
        float(row["cy"]),
        float(row["length_px"]),
        float(row["width_px"]),
        float(row["heading_cw_from_up_deg"]),
        file=row["file"],
        extra={"stationary_id": row["stationary_id"]},
    )
