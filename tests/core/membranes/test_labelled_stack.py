from __future__ import annotations

import numpy as np
import pytest

from roteq_core.membranes.labelled_stack import (
    describe_stacks,
    load_stacks,
    make_stack,
    pieces_of,
    save_stacks,
)
from roteq_core.normalize import fit_normalization


def stack_of(images, labels, **options):
    return make_stack(
        images.__getitem__,
        labels,
        fit_normalization(images),
        name="raw",
        labels_name="drawn",
        **options,
    )


@pytest.fixture
def painted(em):
    """Labels of the third slice alone, 1 on membranes and 2 in cells."""
    labels = np.zeros(em.image.shape, np.uint8)
    labels[2] = np.where(em.membranes[2], 1, 2)
    return labels


def test_only_slices_with_labels_are_read(em, painted):
    read = []

    def image(z):
        read.append(z)
        return em.image[z]

    stack = make_stack(
        image, painted, fit_normalization(em.image), name="raw", labels_name="drawn"
    )
    assert read == [2]
    assert stack.planes == (2,)


def test_pieces_never_overlap(em, painted):
    learnt, held = pieces_of([stack_of(em.image, painted)])
    assert (learnt.is_held_out, held.is_held_out) == (False, True)
    assert held.plane == 2
    assert learnt.left + learnt.image.shape[1] == held.left
    whole = np.concatenate([learnt.membranes, held.membranes], axis=1)
    assert (whole == em.membranes[2]).all()
    assert abs(float(np.median(learnt.image))) < 0.5  # normalized


def test_held_out_slices_are_pieces_of_their_own(em):
    stack = stack_of(em.image, em.cells.astype(np.int32), held_out="3-4")
    held = [piece.plane for piece in pieces_of([stack]) if piece.is_held_out]
    assert held == [3, 4]


@pytest.mark.parametrize("held_out", ["auto", "3-4"])
def test_new_labels_leave_what_is_held_out(em, painted, held_out):
    labels = em.cells.astype(np.int32) if held_out != "auto" else painted
    before = stack_of(em.image, labels, held_out=held_out)
    more = labels.copy()
    more[0] = np.where(em.membranes[0], 1, 2) if held_out == "auto" else more[1]
    after = stack_of(em.image, more, keep_held=before.held, keep_planes=before.planes)
    if held_out == "auto":
        assert after.planes == (0, 2)
        assert {part.left for part in after.held} == {before.held[0].left}
        assert [part.plane for part in after.held] == [0, 1]
    else:
        assert [after.planes[part.plane] for part in after.held] == [3, 4]


def test_stacks_are_kept_in_a_file(em, painted, tmp_path):
    stacks = [
        stack_of(em.image, painted),
        stack_of(em.image[:, :48], em.cells[:, :48].astype(np.int32)),
    ]
    save_stacks(tmp_path / "data.npz", stacks)
    again = load_stacks(tmp_path / "data.npz")
    assert describe_stacks(again) == describe_stacks(stacks)
    assert again[0].held == stacks[0].held
    assert again[1].normalization == stacks[1].normalization
    (tmp_path / "data.npz").write_text("rubbish")
    with pytest.raises(ValueError, match="does not hold the data of a run"):
        load_stacks(tmp_path / "data.npz")


def test_fingerprint_changes_with_a_label(em, painted):
    first = describe_stacks([stack_of(em.image, painted)])["fingerprint"]
    painted[2, 30, 30] = 3 - painted[2, 30, 30]
    assert describe_stacks([stack_of(em.image, painted)])["fingerprint"] != first


def test_mistakes_name_the_layer(em, painted):
    empty = np.zeros_like(painted)
    with pytest.raises(ValueError, match=r"“drawn” has no label yet"):
        stack_of(em.image, empty)
    only_cells = np.where(painted == 1, 0, painted)
    with pytest.raises(ValueError, match=r"“drawn” shows no labelled membrane"):
        stack_of(em.image, only_cells, meaning="painted")
    with pytest.raises(ValueError, match=r"“raw” has the same value, 0"):
        stack_of(np.zeros_like(em.image), painted)
    with pytest.raises(ValueError, match=r"“drawn”: what is held out \(1\)"):
        stack_of(em.image, painted, held_out="1")
