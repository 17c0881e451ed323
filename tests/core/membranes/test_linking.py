"""Cells through a stack: labels go on, rest, return, branch; memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from roteq_core.membranes.linking import iter_link_slices, link_slices


def columns(*labels: int) -> np.ndarray:
    """Give a slice whose columns are these labels, four rows high."""
    return np.repeat([labels], 4, axis=0)


def linked(*planes: np.ndarray, **options: float) -> list[list[int]]:
    stack = link_slices(np.stack(planes), **options)  # type: ignore[arg-type]
    return stack[:, 0].tolist()


def test_a_moving_cell_keeps_its_label_whatever_its_number() -> None:
    assert linked(
        columns(5, 5, 5, 0, 9, 9),
        columns(2, 2, 2, 2, 1, 1),
        columns(0, 7, 7, 7, 3, 3),
    ) == [[1, 1, 1, 0, 2, 2], [1, 1, 1, 1, 2, 2], [0, 1, 1, 1, 2, 2]]


def test_a_cell_with_too_little_overlap_is_new() -> None:
    planes = columns(1, 1, 1, 1, 0, 0, 0), columns(0, 0, 0, 1, 1, 1, 1)
    assert linked(*planes)[1] == [0, 0, 0, 2, 2, 2, 2]
    assert linked(*planes, min_overlap=0.25)[1] == [0, 0, 0, 1, 1, 1, 1]


def test_where_cells_join_the_larger_share_goes_on() -> None:
    planes = columns(1, 1, 2, 2, 2), columns(1, 1, 1, 1, 1)
    assert linked(*planes)[1] == [2, 2, 2, 2, 2]


def test_a_membrane_lost_for_two_slices_does_not_end_a_neuron() -> None:
    apart, joined = columns(1, 1, 2, 2, 2), columns(1, 1, 1, 1, 1)
    planes = apart, joined, joined, apart
    assert linked(*planes)[3] == [1, 1, 2, 2, 2]
    assert linked(*planes, look_back=2)[3] == [3, 3, 2, 2, 2]


def test_labels_do_not_go_on_from_one_time_point_to_the_next():
    planes = [columns(1, 1, 2)] * 4
    labels = [plane[0].tolist() for plane in iter_link_slices(planes, depth=2)]
    assert labels == [[1, 1, 2], [1, 1, 2], [3, 3, 4], [3, 3, 4]]
    with pytest.raises(ValueError, match="depth must be at least 1, got 0"):
        next(iter_link_slices(planes, depth=0))


def test_of_two_pieces_the_larger_goes_on_and_the_other_is_new() -> None:
    planes = columns(1, 1, 1, 1, 1), columns(3, 3, 0, 4, 4)
    planes[1][:, 2] = 4
    assert linked(*planes)[1] == [2, 2, 1, 1, 1]
    assert linked(*planes, branches=True)[1] == [1, 1, 1, 1, 1]


def test_a_branch_must_lie_within_the_cell_before() -> None:
    planes = columns(1, 1, 1, 1, 0, 0, 0, 0), columns(2, 2, 2, 3, 3, 3, 3, 3)
    assert linked(*planes, branches=True)[1] == [1, 1, 1, 2, 2, 2, 2, 2]


def test_an_empty_slice_is_passed_over() -> None:
    planes = columns(1, 1, 0), columns(0, 0, 0), columns(4, 4, 0)
    assert linked(*planes) == [[1, 1, 0], [0, 0, 0], [1, 1, 0]]


def test_no_two_cells_of_a_slice_share_a_label_without_branches() -> None:
    rng = np.random.default_rng(0)
    stack = np.kron(rng.integers(0, 40, (6, 12, 12)), np.ones((1, 3, 3), int))
    for plane, result in zip(stack, link_slices(stack), strict=True):
        pairs = np.unique(np.stack([plane.ravel(), result.ravel()]), axis=1)
        assert pairs.shape[1] == len(np.unique(plane)) == len(np.unique(result))
        np.testing.assert_array_equal(plane == 0, result == 0)


def test_slices_are_read_one_by_one_as_they_are_needed() -> None:
    read = []

    def planes() -> Iterator[np.ndarray]:
        for z in range(300):
            read.append(z)
            yield columns(z + 1, z + 1, 0)

    job = iter_link_slices(planes())
    for z in range(5):
        assert next(job)[0].tolist() == [1, 1, 0]
        assert read == list(range(z + 1))


def test_changing_a_slice_that_was_given_out_changes_nothing() -> None:
    job = iter_link_slices([columns(1, 1), columns(1, 1)])
    next(job)[:] = 0
    assert next(job)[0].tolist() == [1, 1]


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(Z, H, W\), got \(4, 2\)"):
        link_slices(columns(1, 2))
    with pytest.raises(ValueError, match=r"min_overlap must lie in \(0, 1\], got 0"):
        link_slices(columns(1, 2)[None], min_overlap=0)
    with pytest.raises(ValueError, match="look_back must be at least 1, got 0"):
        link_slices(columns(1, 2)[None], look_back=0)
    with pytest.raises(ValueError, match=r"same shape, got \(4, 2\) then \(4, 3\)"):
        list(iter_link_slices([columns(1, 2), columns(1, 2, 3)]))
