"""What painted labels say about membranes: decided by a stated rule, or told. No torch.

    painted     1 is membrane, 2 is not membrane, 0 was not labelled
    labels      numbered cells; 0 between them is membrane
    membranes   above 0 is membrane, 0 is not
    cells       above 0 is cell, 0 is membrane

In the last three a slice without any label was not labelled, unless a value stands for
that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from roteq_core.membranes.polarity import LARGEST_MEMBRANE_SHARE, Decision, value_apart

Meaning = Literal["painted", "labels", "membranes", "cells"]
MEANINGS: dict[Meaning, str] = {
    "painted": "painted: 1 is membrane, 2 is not, 0 is unlabelled",
    "labels": "numbered cells, 0 between them is membrane",
    "membranes": "above 0 is membrane, 0 is not",
    "cells": "above 0 is cell, 0 is membrane",
}
PAINTED_MEMBRANE, PAINTED_CELL = 1, 2
# One value that covers less than this may as well be the first strokes of a brush.
SMALLEST_MASK_SHARE = 0.05
# Of labels that cover everything, membrane has at least and at most this share.
MEMBRANE_SHARES = (0.01, 0.45)


@dataclass(frozen=True)
class MembraneLabels:
    """What labels say.

    Parameters
    ----------
    membranes, known : bool arrays, the shape of the labels
        Where membranes are, and where that was labelled at all.
    meaning : Decision
        How the values were read, and why.
    """

    membranes: np.ndarray
    known: np.ndarray
    meaning: Decision


def read_labels(
    labels: np.ndarray, meaning: Meaning | None = None, *, ignore: int | None = None
) -> MembraneLabels:
    """Read membranes from labels.

    Parameters
    ----------
    labels : int array of shape (P, H, W)
        Only slices that carry labels: others are taken as labelled nowhere.
    meaning : {"painted", "labels", "membranes", "cells"}, optional
        What the values mean; decided if not given.
    ignore : int, optional
        The value of pixels that nobody labelled.
    """
    decided = decide_meaning(labels, meaning, ignore=ignore)
    high = labels > 0
    if decided.value == "painted":
        known = high
    elif ignore is None:
        known = np.broadcast_to(high.any((1, 2), keepdims=True), labels.shape)
    else:
        known = np.ones(labels.shape, bool)
    known = np.array(known) if ignore is None else known & (labels != ignore)
    if decided.value == "painted":
        membranes = labels == PAINTED_MEMBRANE
    else:
        membranes = high if decided.value == "membranes" else ~high
    found = MembraneLabels(membranes & known, known, decided)
    _check_share(found)
    return found


def _check_share(found: MembraneLabels) -> None:
    """Refuse shares that no membranes have, such as those of an image as labels."""
    low, high = MEMBRANE_SHARES
    if found.meaning.given or found.meaning.value == "painted":
        return
    share = found.membranes.sum() / max(int(found.known.sum()), 1)
    if not low <= share <= high:
        raise ValueError(
            f"membrane must cover {low:.0%} to {high:.0%} of what is labelled, got "
            f"{share:.1%}, read as {found.meaning.value} {found.meaning.reason}. Are "
            "these labels? Say what they are if so"
        )


def decide_meaning(
    labels: np.ndarray, meaning: Meaning | None = None, *, ignore: int | None = None
) -> Decision:
    """Decide what label values mean; see the top of this file for the choices.

    Values 1 and 2 alone are painted. One value is membrane if it covers 5 to 40 % of
    the labelled slices, and cell from 60 % on. Three values or more are cells, with
    membrane between them if that covers at most 40 %, and if none of them looks like
    the mark of pixels that were not labelled. Nothing else is decided.

    Raises
    ------
    ValueError
        Where the rule does not decide; the message names the choices.
    """
    if meaning is not None:
        if meaning not in get_args(Meaning):
            raise ValueError(
                f"labels must be one of {list(get_args(Meaning))}, got {meaning!r}"
            )
        return Decision(meaning, "as told", given=True)
    labelled = labels[labels.any((1, 2))]
    values, counts = np.unique(labelled, return_counts=True)
    if ignore is not None:
        values, counts = values[values != ignore], counts[values != ignore]
    if not (values > 0).any():
        raise ValueError("nothing is labelled yet: paint 1 on membranes, 2 in cells")
    shares = dict(zip(values.tolist(), (counts / counts.sum()).tolist(), strict=True))
    empty = shares.pop(0, 0.0)
    if set(shares) <= {PAINTED_MEMBRANE, PAINTED_CELL} and len(shares) == 2:
        return _painted(shares, empty)
    if len(shares) == 1:
        return _one_value(*next(iter(shares.items())))
    _check_unlabelled_value(sorted(shares), labels.dtype)
    if empty > LARGEST_MEMBRANE_SHARE:
        raise ValueError(
            f"{len(shares)} values look like numbered cells, but 0 covers {empty:.0%}: "
            "say what the labels are; unlabelled and membrane cannot be told apart"
        )
    return Decision("labels", f"since it has {len(shares)} values")


def _check_unlabelled_value(values: list[float], dtype: np.dtype) -> None:
    """Refuse numbered cells among which a value may stand for "not labelled"."""
    told = value_apart(values, dtype)
    if len(values) == 2 and values[0] >= 0:
        told = f"{values[0]:g} and {values[1]:g} are few values for numbered cells"
    if told is not None:
        raise ValueError(
            f"{told}: if it marks pixels that were not labelled, give it as the one to "
            "ignore (--ignore); otherwise say what the labels are"
        )


def _painted(shares: dict[int, float], empty: float) -> Decision:
    painted = shares[PAINTED_MEMBRANE] / sum(shares.values())
    if empty < 0.5 and painted > LARGEST_MEMBRANE_SHARE:
        raise ValueError(
            f"labels 1 and 2 cover {1 - empty:.0%}, and 1 alone {painted:.0%} of that: "
            "too much for membrane. Say whether they are painted or numbered cells"
        )
    return Decision("painted", "since its values are 1 and 2")


def _one_value(value: int, share: float) -> Decision:
    told = f"the only label, {value}, covers {share:.1%} of the labelled slices"
    if SMALLEST_MASK_SHARE <= share <= LARGEST_MEMBRANE_SHARE:
        return Decision("membranes", f"since {told}")
    if share >= 1 - LARGEST_MEMBRANE_SHARE:
        return Decision("cells", f"since {told}")
    raise ValueError(
        f"{told}: paint 1 on membranes and also 2 in cells, or say what the label is"
    )
