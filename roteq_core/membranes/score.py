"""What scoring membranes and cells gives; `metrics` computes it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from roteq_core.membranes.partitions import PartitionScore
from roteq_core.membranes.polarity import Decision


@dataclass(frozen=True)
class Sweep:
    """Mean scores over the slices at one threshold of the membrane probability."""

    threshold: float
    v_rand: float
    v_info: float
    pixel_error: float


@dataclass(frozen=True)
class SliceScore:
    """Scores of one slice, each at the threshold that is best for the stack."""

    index: int
    v_rand: float
    v_info: float
    pixel_error: float


@dataclass(frozen=True)
class MembraneScore:
    """How well a membrane probability separates the true cells.

    Parameters
    ----------
    v_rand, v_info : float
        The best mean over the slices, each at its own threshold.
    threshold, threshold_info, threshold_pixel : float
        Membrane probability at and above which a pixel is membrane, for the best
        V-Rand, V-Info and pixel error.
    pixel_error : float
        The lowest mean share of pixels put into the wrong class; NaN for a truth
        without membrane pixels.
    sweep : tuple of Sweep
        One row for each threshold, ascending.
    per_slice : tuple of SliceScore
        Slices whose truth has no cell are left out.
    polarity, truth_kind : Decision
        What high values were taken to be, and why.
    """

    v_rand: float
    v_info: float
    threshold: float
    threshold_info: float
    threshold_pixel: float
    pixel_error: float
    sweep: tuple[Sweep, ...]
    per_slice: tuple[SliceScore, ...]
    polarity: Decision
    truth_kind: Decision

    def as_dict(self) -> dict[str, Any]:
        """Give plain values for JSON; what is not a number becomes None."""
        plain: dict[str, Any] = _without_nan(asdict(self))
        return plain


@dataclass(frozen=True)
class LabelScore:
    """How well predicted cells match the true ones: means over the slices.

    `slices` are those of `per_slice`; where the truth has no cell they are left out.
    """

    v_rand: float
    v_info: float
    per_slice: tuple[PartitionScore, ...]
    slices: tuple[int, ...]
    truth_kind: Decision
    prediction_kind: Decision


def _without_nan(value: Any) -> Any:
    """Replace NaN by None, in nested dictionaries and tuples too."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and np.isnan(value) else value
