from __future__ import annotations

import numpy as np
import pytest

from roteq_core.membranes.held_parts import plan_held_parts


@pytest.fixture
def labels(em):
    return em.membranes, np.ones(em.membranes.shape, bool)


def painted(columns, planes=1):
    """Strokes of both classes in the columns given."""
    membranes = np.zeros((planes, 64, 128), bool)
    known = np.zeros_like(membranes)
    membranes[:, 10, columns] = True
    known[:, [10, 20]] = 0
    known[:, 10, columns] = known[:, 20, columns] = True
    return membranes, known


def test_the_last_fifth_of_many_slices_is_held_out(labels):
    (part,) = plan_held_parts(*labels)
    assert (part.plane, part.area) == (4, (slice(0, 64), slice(0, 64)))
    assert part.rest(64, 64) is None


def test_one_side_of_a_single_slice_is_held_out():
    membranes, known = painted(range(5, 120))
    (part,) = plan_held_parts(membranes, known)
    assert (part.top, part.bottom, part.right) == (0, 64, 128)
    rows, columns = part.rest(64, 128)
    assert (rows, columns) == (slice(0, 64), slice(0, part.left))
    share = known[0, :, part.left :].sum() / known.sum()
    assert 0.2 <= share <= 0.35


def test_both_sides_have_both_classes():
    membranes, known = painted(range(5, 60))
    membranes[0, 10, 5:60] = False
    membranes[0, 10, 5:30] = True  # no membrane at the right
    known[0, 50, 5:60] = membranes[0, 50, 5:60] = True  # but below
    (part,) = plan_held_parts(membranes, known)
    inside = np.zeros_like(known)
    inside[(0, *part.area)] = True
    for side in (inside, ~inside):
        assert (membranes & known & side).any()
        assert (~membranes & known & side).any()


def test_nothing_is_held_out_where_labels_are_too_few():
    membranes, known = painted([50])
    assert plan_held_parts(membranes, known) == ()
    assert plan_held_parts(*painted(range(5, 120)), "none") == ()


def test_slices_are_named_as_in_their_source(labels):
    parts = plan_held_parts(*labels, "11-12", planes=(3, 5, 11, 12, 20))
    assert [part.plane for part in parts] == [2, 3]


@pytest.mark.parametrize("wish", ["7", "0-4", "slices"])
def test_a_wish_that_leaves_nothing_to_learn_or_check_is_refused(labels, wish):
    membranes, known = labels
    if wish == "slices":
        membranes, known = membranes[:1], known[:1]
    with pytest.raises(ValueError, match="must"):
        plan_held_parts(membranes, known, wish)
