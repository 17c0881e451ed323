from __future__ import annotations

import numpy as np
import pytest

from roteq_core.membranes.label_meaning import decide_meaning, read_labels


def strokes():
    labels = np.zeros((2, 40, 40), np.uint8)
    labels[0, 10, 5:30] = 1
    labels[0, 20:22, 5:30] = 2
    return labels


def test_strokes_of_one_and_two_are_painted_and_the_rest_is_not_known():
    found = read_labels(strokes())
    assert found.meaning.value == "painted"
    assert (found.known == (strokes() > 0)).all()
    assert (found.membranes == (strokes() == 1)).all()


def test_numbered_cells_have_membrane_between_them(em):
    found = read_labels(em.cells.astype(np.int32))
    assert found.meaning.value == "labels"
    assert found.known.all()
    assert (found.membranes == (em.cells == 0)).all()


def test_one_value_is_read_by_how_much_it_covers(em):
    assert decide_meaning(em.membranes.astype(np.uint8)).value == "membranes"
    assert decide_meaning((~em.membranes).astype(np.uint8)).value == "cells"


def test_slices_without_a_label_are_not_known(em):
    labels = em.cells.astype(np.int32).copy()
    labels[3:] = 0
    found = read_labels(labels)
    assert found.known[:3].all()
    assert not found.known[3:].any()
    assert not found.membranes[3:].any()


def only(value, share):
    labels = np.zeros((1, 10, 100), int)
    labels[0, :, : int(100 * share)] = value
    return labels


def numbered(share_of_zero):
    labels = np.arange(100)[None, :, None].repeat(50, 2) % 5 + 1
    labels[:, : int(100 * share_of_zero)] = 0
    return labels


def marked(labels):
    """Mark pixels that nobody labelled, by the last value of their type."""
    labels = labels.astype(np.uint8)
    labels[..., -20:] = 255
    return labels


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros((1, 4, 4), int), "nothing is labelled yet"),
        (only(1, 0.02), r"only label, 1, covers 2\.0%.*also 2 in cells"),
        (only(7, 0.5), "or say what the label is"),
        (numbered(0.7), "0 covers 70%.*cannot be told apart"),
        (numbered(0.1) - 2, r"the value -2 is below 0.*\(--ignore\)"),
        (only(7, 0.5) + 1, "1 and 8 are few values for numbered cells.*--ignore"),
        (marked(numbered(0.1)), "255 stands apart from the other labels.*--ignore"),
        (only(1, 0.5) + 2 * (only(1, 0.5) == 0), "painted or numbered cells"),
    ],
)
def test_what_the_rule_cannot_decide_is_asked(labels, message):
    with pytest.raises(ValueError, match=message):
        decide_meaning(labels)


def test_what_was_told_is_not_questioned():
    assert decide_meaning(only(1, 0.02), "membranes").given
    with pytest.raises(ValueError, match="must be one of"):
        decide_meaning(only(1, 0.02), "cats")


def test_ignored_value_is_neither_counted_nor_known():
    labels = marked(only(1, 0.2))
    found = read_labels(labels, ignore=255)
    assert found.meaning.value == "membranes"
    assert (found.known == (labels != 255)).all()
    assert (found.membranes == (labels == 1)).all()


@pytest.mark.parametrize("low", [0, 1])
def test_images_are_no_labels(low):
    image = np.random.default_rng(0).integers(low, 200, (2, 64, 64), dtype=np.uint8)
    with pytest.raises(ValueError, match=r"membrane must cover 1% to 45%.*got 0\.\d%"):
        read_labels(image)
    assert read_labels(image, "labels").meaning.given
