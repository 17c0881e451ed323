"""Score membrane models on held-out slices, and their directions."""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np

from roteq_core.config import SegmentOptions
from roteq_core.jobs import Job, Report, drain
from roteq_core.membranes.direction import structure_tensor_direction
from roteq_core.membranes.examples import MembraneExamples
from roteq_core.membranes.segment import Segmenter
from roteq_core.model import Model
from roteq_core.net_config import MembraneNetConfig
from roteq_core.tasks.membranes import MembraneTask, plane_direction_error

# Widths in pixels at which the structure tensor is tried: the best one counts.
TENSOR_SIGMAS = (3.0, 4.0, 5.0, 6.0, 8.0)
TENSOR_SMOOTHINGS = (1.0, 1.5, 2.0, 3.0)


def membrane_task(examples: MembraneExamples, network: Any = None) -> MembraneTask:
    """Give examples as a training task of a network."""
    return MembraneTask(
        examples.images,
        examples.membranes,
        examples.known,
        held_out=examples.held_out,
        network=network or MembraneNetConfig(),
    )


def iter_score_model(
    model: Model, examples: MembraneExamples, *, turns: int = 1, device: Any = "auto"
) -> Job[dict[str, Any]]:
    """Segment held-out slices as `roteq segment` does, and score them.

    Parameters
    ----------
    model : Model
    examples : MembraneExamples
        With slices held out.
    turns : int
        Turned and mirrored copies to average over.
    device : {"auto", "cpu", "cuda", "mps"}
    """
    options = SegmentOptions(turns=turns, direction=True, device=device)
    segmenter = Segmenter(options, model)
    task = membrane_task(examples)
    normalization = segmenter.normalization(examples.images)
    maps = []
    started = time.monotonic()
    for z in task.held_out:
        plane = drain(segmenter.iter_plane(examples.images[z], normalization))
        assert plane.angle is not None
        assert plane.strength is not None
        maps.append((plane.probability, plane.angle, plane.strength))
        yield Report(len(maps), len(task.held_out), f"slice {z}")
    result, direction = task.score(maps)
    return {
        "slices": f"{task.held_out[0]}-{task.held_out[-1]}",
        "turns": turns,
        "v_rand": round(result.v_rand, 5),
        "v_info": round(result.v_info, 5),
        "threshold": result.threshold,
        "pixel_error": round(result.pixel_error, 5),
        "direction_deg": None if direction is None else round(direction, 2),
        "parameters": model.card.parameters,
        "seconds": round(time.monotonic() - started, 1),
    }


def iter_structure_tensor(examples: MembraneExamples) -> Job[dict[str, Any]]:
    """Score the structure tensor of raw held-out slices, at the best of its widths.

    The widths are chosen on these very slices, which favors it.
    """
    widths = list(product(TENSOR_SIGMAS, TENSOR_SMOOTHINGS))
    errors = []
    for sigma, smoothing in widths:
        each = [
            plane_direction_error(
                structure_tensor_direction(
                    examples.images[z], sigma, smoothing=smoothing
                )[0],
                examples.membranes[z],
                examples.known[z],
            )
            for z in examples.held_out
        ]
        errors.append(float(np.mean([error for error in each if error is not None])))
        yield Report(len(errors), len(widths), f"σ = {sigma:g}, {smoothing:g} pixels")
    best = int(np.argmin(errors))
    return {
        "direction_deg": round(errors[best], 2),
        "sigma": widths[best][0],
        "smoothing": widths[best][1],
    }
