"""Jobs that the viewer asks of its compute process; models stay loaded between them.

What they give is plain: dictionaries, arrays and numbers, which the viewer reads
without importing torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from roteq_core.areas import Area
from roteq_core.card import file_hash, find_model
from roteq_core.config import SegmentOptions
from roteq_core.jobs import Job, Report
from roteq_core.membranes.cells import cells_from_membranes
from roteq_core.membranes.fill import outside_of
from roteq_core.membranes.segment import Segmenter
from roteq_core.membranes.segment_part import kept_maps
from roteq_core.model import warm_model
from roteq_core.normalize import Normalization


def iter_segment_plane(
    given: tuple[np.ndarray, Normalization, Area | None], options: SegmentOptions
) -> Job[dict[str, np.ndarray]]:
    """Segment one plane.

    Parameters
    ----------
    given : array of shape (H, W), Normalization, Area or None
        The raw plane, how its whole image is normalized, and the part to keep; see
        `with_context`.
    options : SegmentOptions

    Returns
    -------
    dict of arrays of shape (H, W)
        "probability" and, as asked, "angle", "strength" and "cells"; see
        `SegmentedPlane`.
    """
    plane, normalization, keep = given
    yield Report(0, 0, "loading the model")
    segmenter = Segmenter(options, warm_model(options.model, "membranes"))
    result = yield from segmenter.iter_plane(plane, normalization)
    return kept_maps(result, keep)


def cut_cells(probability: np.ndarray, threshold: float) -> np.ndarray:
    """Cut cells (H, W) from the probability of a `SegmentedPlane`."""
    outside = outside_of(probability)
    return cells_from_membranes(probability, threshold=threshold, outside=outside)


def describe_model(name_or_path: str) -> dict[str, Any]:
    """Load a model, which runs its self-test, and say what its card does not.

    Returns
    -------
    dict
        `reach` (pixels around a pixel that its answer depends on), `stride`, `hash`,
        and for each network the `shapes` of its weights by name.
    """
    model = warm_model(name_or_path)
    networks: list[Any] = model.networks
    return {
        "reach": max(int(getattr(network, "reach", 0)) for network in networks),
        "stride": max(int(getattr(network, "stride", 1)) for network in networks),
        "hash": file_hash(find_model(name_or_path)),
        "shapes": [
            {name: tuple(weight.shape) for name, weight in network.named_parameters()}
            for network in networks
        ],
    }
