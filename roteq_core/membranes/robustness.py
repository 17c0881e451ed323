"""How a membrane model stands other images: contrast, blur, noise, pixel size.

Held-out slices are made worse in a stated way, segmented, and scored against the same
truth; the table goes to the model's card.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import ndimage

from roteq_core.config import SegmentOptions
from roteq_core.jobs import Job, Report
from roteq_core.membranes.fill import nearest_inside, outside_of
from roteq_core.membranes.polarity import TruthKind
from roteq_core.membranes.segment import Segmenter
from roteq_core.metrics import score_stack
from roteq_core.model import Model
from roteq_core.normalize import fit_normalization
from roteq_core.resample import resample, scaled_shape
from roteq_core.turned import TurnedCopy

_BLACK = np.float32(-5)  # the least that a normalized image has

Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Degradation:
    """A way to make images worse.

    Parameters
    ----------
    name : str
        What a reader of the card sees.
    change : callable
        Takes a plane (H, W) in spreads about its center, and a random generator.
    inverted : bool
        Whether the user would say that membranes are bright.
    coarser : float
        Pixels are so many times larger than the model's, and the user says so.
    turn : float
        Radians by which the image is turned; the result is turned back. Between quarter
        turns the corners of what a user then has are black, and a rim of about two
        pixels is missing, which is not scored.
    is_padded : bool
        Whether the change puts a frame around the image, cut off from the result.
    """

    name: str
    change: Change
    inverted: bool = False
    coarser: float = 1.0
    turn: float = 0.0
    is_padded: bool = False


def _same(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return image


def _coarse(factor: float) -> Change:
    def change(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return resample(image, scaled_shape(image.shape, 1 / factor))

    return change


def _blurred(sigma: float) -> Change:
    return lambda image, rng: ndimage.gaussian_filter(image, sigma)


def _noisy(sigma: float) -> Change:
    return lambda image, rng: image + sigma * rng.standard_normal(image.shape)


def _gamma(power: float) -> Change:
    def change(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.clip((image + 5) / 10, 0, 1) ** power

    return change


def _shaded(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Grow brighter by two spreads from left to right."""
    return image + np.linspace(-1, 1, image.shape[1])


def _stretched(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Triple the contrast in 8 bits, so that dark and bright are cut off."""
    return np.asarray(np.clip(128 + 3 * 30 * image, 0, 255))


def _framed(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Put a black frame around, as around aligned slices: half of all pixels."""
    sides = [(round(0.2 * n), round(0.2 * n)) for n in image.shape]
    return np.pad(image, sides, constant_values=_BLACK)


def turned_by(degrees: float) -> Degradation:
    """Turn images by an angle, and change nothing else."""
    if not math.isfinite(degrees):
        raise ValueError(f"an angle to turn by must be finite, got {degrees}")
    return Degradation(f"turned by {degrees:g}°", _same, turn=math.radians(degrees))


AS_IT_IS = Degradation("as it is", _same)
DEGRADATIONS = (
    AS_IT_IS,
    turned_by(90),
    turned_by(37),
    Degradation("contrast inverted, told", lambda image, rng: -image, inverted=True),
    Degradation("contrast inverted, not told", lambda image, rng: -image),
    Degradation("contrast tripled, cut off at 0 and 255", _stretched),
    Degradation("contrast divided by ten", lambda image, rng: image / 10),
    Degradation("gamma 0.5", _gamma(0.5)),
    Degradation("gamma 2", _gamma(2.0)),
    Degradation("shading of two spreads across", _shaded),
    Degradation("black padding, half of all pixels", _framed, is_padded=True),
    Degradation("blur of 1 pixel", _blurred(1.0)),
    Degradation("blur of 2 pixels", _blurred(2.0)),
    Degradation("noise of half a spread", _noisy(0.5)),
    Degradation("noise of one spread", _noisy(1.0)),
    Degradation("pixels 1.25 times as large, told", _coarse(1.25), coarser=1.25),
    Degradation("pixels 1.5 times as large, told", _coarse(1.5), coarser=1.5),
    Degradation("pixels twice as large, told", _coarse(2.0), coarser=2.0),
    Degradation("pixels twice as large, not told", _coarse(2.0)),
)


def iter_robustness(
    model: Model,
    images: np.ndarray,
    truth: np.ndarray,
    options: SegmentOptions,
    *,
    degradations: tuple[Degradation, ...] = DEGRADATIONS,
    seed: int = 0,
    truth_kind: TruthKind | None = None,
    ignore: int | None = None,
) -> Job[list[dict[str, Any]]]:
    """Score a model on images made worse.

    Parameters
    ----------
    model : Model
    images : array of shape (Z, H, W)
        Slices that the model has not seen.
    truth : array of shape (Z, H, W)
        Membranes, cells or labels, as `score_stack` reads them.
    options : SegmentOptions
        Device, tile and test-time turns.
    degradations : tuple of Degradation
    seed : int
        Of the noise.
    truth_kind, ignore : optional
        What the truth's values are; see `score_stack`.

    Returns
    -------
    list of dict
        Name, V-Rand and V-Info, one for each degradation.
    """
    normalization = fit_normalization(images)
    rows = []
    for index, worse in enumerate(degradations):
        rng = np.random.default_rng([seed, index])
        copy = TurnedCopy(worse.turn, mirrored=False)
        changed = [worse.change(normalization.apply(p), rng) for p in images]
        if worse.turn:
            changed = [_turned(plane, copy) for plane in changed]
        yield Report(index, len(degradations), worse.name)
        segmenter = Segmenter(_options_for(worse, model, options), model)
        fitted = segmenter.normalization(np.stack(changed))
        planes = []
        for plane in changed:
            job = segmenter.iter_plane(plane, fitted)
            result = yield from _quietly(job, index, len(degradations))
            found = result.probability
            if worse.is_padded:
                found = _unframed(found, images.shape[1:])
            planes.append(_upright(found, copy, images.shape[1:]))
        known, unknown = _where_shown(truth, ignore, copy)
        score = score_stack(
            np.stack(planes),
            known,
            polarity="membranes",
            truth_kind=truth_kind,
            ignore=unknown,
        )
        rows.append(
            {
                "change": worse.name,
                "v_rand": round(score.v_rand, 4),
                "v_info": round(score.v_info, 4),
                "threshold": score.threshold,
            }
        )
    return rows


def _turned(plane: np.ndarray, copy: TurnedCopy) -> np.ndarray:
    """Turn a plane; what is not wholly image is black."""
    return np.where(_is_shown(copy, plane.shape), copy.forward(plane), _BLACK)


def _is_shown(copy: TurnedCopy, shape: tuple[int, ...]) -> np.ndarray:
    """Which pixels of the copy are read from pixels of the image alone."""
    return copy.forward(np.ones(shape, np.float32)) > 1 - 1e-4


def _where_shown(
    truth: np.ndarray, ignore: int | None, copy: TurnedCopy
) -> tuple[np.ndarray, int | None]:
    """Leave out what a turned image does not show: a rim of about two pixels.

    Gives the truth and the value of it that is to be ignored.
    """
    if not copy.angle % (math.pi / 2):
        return truth, ignore
    shape = truth.shape[1:]
    shown = _is_shown(copy, shape).astype(np.float32)
    nothing = np.zeros_like(shown)
    back = copy.backward(np.stack([shown, nothing, nothing]), shape)[0]
    ignore = -1 if ignore is None else ignore
    return np.where(back > 1 - 1e-4, truth.astype(np.int64), ignore), ignore


def _unframed(probability: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Cut off a frame of the same width at opposite sides."""
    top, left = ((n - m) // 2 for n, m in zip(probability.shape, shape, strict=True))
    return probability[top : top + shape[0], left : left + shape[1]]


def _upright(
    probability: np.ndarray, copy: TurnedCopy, shape: tuple[int, ...]
) -> np.ndarray:
    """Bring a probability back to the pixels of the image as it was."""
    if not copy.angle:
        return resample(probability, shape)
    outside = outside_of(probability)
    if outside is not None:  # reading between pixels must not reach into it
        probability = nearest_inside(probability, outside)
    nothing = np.zeros_like(probability)
    back = copy.backward(np.stack([probability, nothing, nothing]), shape)
    return np.asarray(back[0])


def _options_for(
    worse: Degradation, model: Model, options: SegmentOptions
) -> SegmentOptions:
    """Give what a user who knows the images would choose."""
    if worse.coarser == 1:
        return replace(options, inverted=worse.inverted, pixel_size_nm=None)
    if not model.card.pixel_size:
        raise ValueError(
            f"{worse.name!r} needs a model that knows its pixel size; "
            f"{model.card.name} does not"
        )
    size = model.card.pixel_size * worse.coarser
    return replace(options, inverted=worse.inverted, pixel_size_nm=size)


def _quietly(job: Job[Any], index: int, count: int) -> Job[Any]:
    """Run a job within a larger one, whose count it does not change."""
    while True:
        try:
            text = next(job).text
        except StopIteration as end:
            return end.value
        yield Report(index, count, text)
