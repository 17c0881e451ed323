"""The data of a training kept beside its weights, as arrays and JSON. No torch."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

DATA = "data.npz"


def write_npz(path: Path, arrays: dict[str, np.ndarray], about: Any) -> None:
    """Write arrays and plain values at once: the old file stays until then."""
    partial = path.with_name(path.name + ".partial")
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with partial.open("wb") as file:
        np.savez_compressed(file, about=text, **arrays)  # type: ignore[arg-type]
    os.replace(partial, path)


def read_npz(path: Path) -> tuple[dict[str, np.ndarray], Any]:
    """Read what `write_npz` wrote; never a pickle."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(arrays.pop("about").tobytes().decode())
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path} does not hold the data of a run: {error}") from error
    return arrays, about
