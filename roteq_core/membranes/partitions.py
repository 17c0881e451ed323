"""Compare two divisions of an image into regions: Rand, information, merges, splits.

The truth's label 0 is left out (*foreground-restricted*); a pixel of the foreground
that the prediction leaves at 0, such as a boundary line, is a region of its own, as in
the scoring of the ISBI 2012 challenge (Arganda-Carreras et al., Front. Neuroanat. 2015,
doi:10.3389/fnana.2015.00142). The definitions are in docs/metrics.md.
No torch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Above this many entries a dense table is slower than sorting the pixels.
_DENSE_TABLE = 1 << 22


@dataclass(frozen=True)
class Overlap:
    """How the pixels of the truth's foreground fall into pairs of regions.

    Parameters
    ----------
    truth, predicted : int arrays of shape (K,)
        The labels of the K pairs that share pixels; `predicted` is never 0.
    pixels, smaller : int arrays of shape (K,)
        How many they share, and the size of the smaller of the two regions.
    truth_pixels, predicted_pixels : int arrays of shape (T,), (P,)
        Sizes of the regions within the foreground, in no particular order.
    single : int
        Foreground pixels that the prediction leaves at 0.
    """

    truth: np.ndarray
    predicted: np.ndarray
    pixels: np.ndarray
    smaller: np.ndarray
    truth_pixels: np.ndarray
    predicted_pixels: np.ndarray
    single: int

    @property
    def total(self) -> int:
        """Pixels of the truth's foreground."""
        return int(self.truth_pixels.sum())


@dataclass(frozen=True)
class PartitionScore:
    """How well a prediction divides the truth's foreground; docs/metrics.md (1)-(4).

    Parameters
    ----------
    v_rand, v_info : float
        F-scores in [0, 1], 1 when both divisions are the same.
    rand_split, rand_merge, info_split, info_merge : float
        Their two halves: a split score falls when regions of the truth are cut, a
        merge score when they are joined.
    vi_split, vi_merge : float
        Variation of information in bits: H(prediction | truth), H(truth | prediction).
    adapted_rand_error : float
        1 - F over pairs of different pixels, as scikit-image has it.
    """

    v_rand: float
    v_info: float
    rand_split: float
    rand_merge: float
    info_split: float
    info_merge: float
    vi_split: float
    vi_merge: float
    adapted_rand_error: float


def overlap_of(predicted: np.ndarray, truth: np.ndarray) -> Overlap:
    """Count the pixels shared by each pair of regions.

    Parameters
    ----------
    predicted, truth : int arrays of the same shape
        Labels; 0 is no region. Large or sparse labels are fine.
    """
    _check_labels(predicted, truth)
    foreground = truth != 0
    true_labels, rows = _compact(truth[foreground])
    predicted_labels, columns = _compact(predicted[foreground])
    row, column, pixels = _count_pairs(rows, columns, predicted_labels.size)
    inside = predicted_labels[column] > 0
    truth_pixels = np.bincount(row, pixels, true_labels.size).astype(np.int64)
    predicted_pixels = np.bincount(
        column[inside], pixels[inside], predicted_labels.size
    ).astype(np.int64)
    row, column, single = row[inside], column[inside], int(pixels[~inside].sum())
    return Overlap(
        truth=true_labels[row],
        predicted=predicted_labels[column],
        pixels=pixels[inside],
        smaller=np.minimum(truth_pixels[row], predicted_pixels[column]),
        truth_pixels=truth_pixels,
        predicted_pixels=predicted_pixels,
        single=single,
    )


def _compact(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give the labels there may be, and each pixel's index among them."""
    highest = int(labels.max(initial=0))
    if highest < _DENSE_TABLE:
        return np.arange(highest + 1), labels.astype(np.int64)
    return np.unique(labels, return_inverse=True)


def _count_pairs(
    rows: np.ndarray, columns: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count equal pairs: their rows, their columns, how often."""
    codes = rows * width + columns
    if int(codes.max(initial=0)) < _DENSE_TABLE:
        table = np.bincount(codes)
        found = np.flatnonzero(table)
        pixels = table[found]
    else:
        found, pixels = np.unique(codes, return_counts=True)
    row, column = np.divmod(found, width)
    return row, column, pixels


def compare_partitions(predicted: np.ndarray, truth: np.ndarray) -> PartitionScore:
    """Score a division into regions against the true one.

    Parameters
    ----------
    predicted, truth : int arrays of the same shape
        Labels. Where `truth` is 0 nothing is counted; where `predicted` is 0 each pixel
        is a region of its own.
    """
    return score_overlap(overlap_of(predicted, truth))


def score_overlap(overlap: Overlap) -> PartitionScore:
    """Score a table of overlaps; see `compare_partitions`."""
    total, single = overlap.total, overlap.single
    if total == 0:
        raise ValueError("the truth must have a region (a label above 0), got only 0")
    joint = _squares(overlap.pixels) + single
    truth = _squares(overlap.truth_pixels)
    predicted = _squares(overlap.predicted_pixels) + single
    # Pairs of different pixels: a pixel alone makes none.
    pairs = joint - total
    all_pairs = truth + predicted - 2 * total
    h_joint = _entropy(overlap.pixels, total, single)
    h_truth = _entropy(overlap.truth_pixels, total, 0)
    h_predicted = _entropy(overlap.predicted_pixels, total, single)
    shared = max(0.0, h_truth + h_predicted - h_joint)
    return PartitionScore(
        v_rand=joint / (0.5 * predicted + 0.5 * truth),
        v_info=_ratio(2 * shared, h_truth + h_predicted),
        rand_split=joint / truth,
        rand_merge=joint / predicted,
        info_split=_ratio(shared, h_predicted),
        info_merge=_ratio(shared, h_truth),
        vi_split=max(0.0, h_joint - h_truth),
        vi_merge=max(0.0, h_joint - h_predicted),
        adapted_rand_error=1 - _ratio(2 * pairs, all_pairs),
    )


@dataclass(frozen=True)
class MergesAndSplits:
    """Which regions are wrong, as overlays.

    Parameters
    ----------
    merged : int array, the shape of the labels
        The predicted label where a predicted region joins several true ones, else 0.
    split : int array, the shape of the labels
        The true label where a true region is cut into several predicted ones, else 0.
    merges, splits : dict of int to tuple of int
        Predicted label to the true labels it joins; true label to its pieces. Largest
        share first.
    """

    merged: np.ndarray
    split: np.ndarray
    merges: dict[int, tuple[int, ...]]
    splits: dict[int, tuple[int, ...]]


def merges_and_splits(
    predicted: np.ndarray,
    truth: np.ndarray,
    *,
    min_pixels: int = 50,
    min_share: float = 0.1,
) -> MergesAndSplits:
    """Find the predicted regions that join true ones, and the true ones that are cut.

    Two regions belong together when they share at least `min_pixels` pixels and
    `min_share` of the smaller one, so that a border shifted by a pixel is no error.

    Parameters
    ----------
    predicted, truth : int arrays of the same shape
        Labels; 0 is no region.
    min_pixels : int
        The least number of pixels that counts.
    min_share : float in [0, 1]
        The least share of the smaller region that counts.
    """
    overlap = overlap_of(predicted, truth)
    shared = overlap.pixels
    real = (shared >= min_pixels) & (shared >= min_share * overlap.smaller)
    order = np.argsort(-shared[real], kind="stable")
    true_label = overlap.truth[real][order]
    predicted_label = overlap.predicted[real][order]
    merges = _several(predicted_label, true_label)
    splits = _several(true_label, predicted_label)
    return MergesAndSplits(
        merged=np.where(np.isin(predicted, list(merges)), predicted, 0),
        split=np.where(np.isin(truth, list(splits)), truth, 0),
        merges=merges,
        splits=splits,
    )


def _several(keys: np.ndarray, values: np.ndarray) -> dict[int, tuple[int, ...]]:
    """Group values by key, keeping keys that have more than one."""
    groups: dict[int, list[int]] = {}
    for key, value in zip(keys.tolist(), values.tolist(), strict=True):
        groups.setdefault(key, []).append(value)
    return {key: tuple(group) for key, group in groups.items() if len(group) > 1}


def _squares(pixels: np.ndarray) -> float:
    return float(np.sum(np.square(pixels, dtype=float)))


def _entropy(pixels: np.ndarray, total: int, single: int) -> float:
    """Entropy in bits of regions of these sizes and of `single` lone pixels."""
    share = pixels[pixels > 0] / total
    alone = single / total * np.log2(total)
    return float(alone - np.sum(share * np.log2(share)))


def _ratio(part: float, whole: float) -> float:
    """Divide; nothing out of nothing is perfect agreement."""
    return float(part / whole) if whole > 0 else 1.0


def _check_labels(predicted: np.ndarray, truth: np.ndarray) -> None:
    if predicted.shape != truth.shape:
        raise ValueError(
            "prediction and truth must have the same shape, "
            f"got {predicted.shape} and {truth.shape}"
        )
    for name, labels in (("prediction", predicted), ("truth", truth)):
        if labels.dtype.kind not in "iub":
            raise ValueError(f"{name} must be integer labels, got {labels.dtype}")
        if labels.size and labels.min() < 0:
            raise ValueError(f"{name} must have no negative label, got {labels.min()}")
