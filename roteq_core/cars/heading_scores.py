"""Judge a heading model on patches with known headings, and fit its error bars."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from roteq_core.angular import HeadingSummary, angular_error, summarize_headings
from roteq_core.cars.calibration import HeadingCalibration, coverage, fit_calibration
from roteq_core.cars.orient import HeadingPrediction, iter_headings
from roteq_core.config import OrientOptions
from roteq_core.jobs import drain
from roteq_core.model import Model, with_card
from roteq_core.tasks.car_crops import image_maps, make_pyramid
from roteq_core.tasks.car_patches import CarPatches


def calibrated(model: Model, cars: CarPatches, copies: int = 8) -> Model:
    """Fit a model's error bars to cars with known headings, each domain alike."""
    found = predict_patches(model, cars, copies)
    errors = angular_error(found.angle, cars.angles)
    counts = {name: int((cars.domains == name).sum()) for name in set(cars.domains)}
    weights = np.array([1 / counts[name] for name in cars.domains])
    fitted: HeadingCalibration = fit_calibration(
        errors, found.density_deg, found.copies_deg, found.raw_flip, weights=weights
    )
    settings = {**model.card.settings, "calibration": fitted.as_dict()}
    return with_card(model, settings=settings)


def predict_patches(
    model: Model, cars: CarPatches, copies: int = 8, turn: float = 0.0
) -> HeadingPrediction:
    """Predict the headings of patches, laid out side by side in one image."""
    maps = int(model.networks[0].config.in_maps)  # type: ignore[union-attr,arg-type]
    image, corners = mosaic(cars.images)
    pyramid = make_pyramid(image_maps(image, maps), cars.lengths.max(initial=1.0))
    options = OrientOptions(copies=copies, batch=64)
    centers = cars.centers + corners
    return drain(
        iter_headings(model, pyramid, centers, cars.lengths, options, turn=turn)
    )


def mosaic(images: np.ndarray, columns: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """Lay patches (n, 4, s, s) out in one RGBA image; give it and their corners.

    Patches are wider than what is read of them, so that none sees its neighbors.
    """
    count, _, side, _ = images.shape
    rows = max(1, -(-count // columns))
    image = np.zeros((rows * side, columns * side, 4), images.dtype)
    corners = np.zeros((count, 2))
    for index, patch in enumerate(images):
        top, left = side * (index // columns), side * (index % columns)
        image[top : top + side, left : left + side] = np.moveaxis(patch, 0, -1)
        corners[index] = left, top
    return image, corners


def figures_of(summary: HeadingSummary) -> dict[str, float]:
    """Give the errors of a summary under the names that tables have for them."""
    return {
        "cars": summary.count,
        "mean_deg": summary.mean,
        "median_deg": summary.median,
        "share_under_15": summary.share_good,
        "share_above_150": summary.share_flipped,
    }


def summary_of(found: HeadingPrediction, truth: np.ndarray) -> dict[str, Any]:
    """Give the figures of a table: errors, flips, and what the error bars hold."""
    seen = ~np.isnan(found.angle)
    summary = summarize_headings(found.angle[seen], truth[seen])
    errors = angular_error(found.angle[seen], truth[seen])
    return {
        **figures_of(summary),
        "interval_90_holds": coverage(errors, found.sd_deg[seen]),
        "mean_p_flip": float(found.p_flip[seen].mean()),
        "histogram_5_deg": list(summary.histogram),
        "by_heading": [dataclasses.asdict(b) for b in summary.bins],
    }
