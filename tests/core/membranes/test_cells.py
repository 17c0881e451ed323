"""Cells from membranes: known cells found, gaps bridged, cuts nested and stable."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from roteq_core.membranes.cells import CellCutter, cells_from_membranes
from roteq_core.metrics import score_labels, score_stack


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    """Give labels (160, 160) of the Voronoi cells of 30 points, with walls of 0."""
    rng = np.random.default_rng(3)
    points = rng.uniform(0, 160, (30, 2))
    rows, columns = np.mgrid[:160, :160]
    far = (rows[..., None] - points[:, 0]) ** 2 + (
        columns[..., None] - points[:, 1]
    ) ** 2
    labels = 1 + far.argmin(-1)
    edge = ndimage.maximum_filter(labels, 5) != ndimage.minimum_filter(labels, 5)
    return np.where(edge, 0, labels)


@pytest.fixture(scope="module")
def broken(truth: np.ndarray) -> np.ndarray:
    """Give a membrane probability with noise and holes in the membranes."""
    rng = np.random.default_rng(4)
    walls = (truth == 0).astype(float)
    rows, columns = np.mgrid[:160, :160]
    for row, column in rng.permutation(np.argwhere(truth == 0))[:30]:
        walls[(rows - row) ** 2 + (columns - column) ** 2 < 16] *= 0.1
    noise = ndimage.gaussian_filter(rng.normal(0, 0.5, truth.shape), 1.5)
    soft = np.clip(ndimage.gaussian_filter(walls, 1) + noise, 0, 1)
    return soft.astype(np.float32)


def test_clean_membranes_give_the_true_cells(truth: np.ndarray) -> None:
    walls = ndimage.gaussian_filter((truth == 0).astype(float), 1)
    cells = cells_from_membranes(walls)
    assert cells.dtype == np.int32
    assert cells.min() > 0
    assert len(np.unique(cells)) == len(np.unique(truth)) - 1
    assert score_labels(cells, truth).v_rand > 0.999


def test_gaps_that_join_cells_at_every_threshold_are_bridged(
    truth: np.ndarray, broken: np.ndarray
) -> None:
    assert score_stack(broken, truth).v_rand < 0.93
    cells = cells_from_membranes(broken, threshold=0.5)
    assert score_labels(cells, truth).v_rand > 0.98


def test_a_higher_threshold_only_joins_cells(broken: np.ndarray) -> None:
    cutter = CellCutter(broken)
    counts = []
    finer = cutter.labels(0, min_size=0)
    assert len(np.unique(finer)) == cutter.regions
    for threshold in (0.2, 0.4, 0.6, 0.8, 1.0):
        coarser = cutter.labels(threshold, min_size=0)
        pairs = np.unique(np.stack([finer.ravel(), coarser.ravel()]), axis=1)
        assert pairs.shape[1] == len(np.unique(finer))
        finer = coarser
        counts.append(len(np.unique(finer)))
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 3 * counts[-1]


def test_cells_that_do_not_change_keep_their_number(broken: np.ndarray) -> None:
    cutter = CellCutter(broken)
    before, after = cutter.labels(0.45), cutter.labels(0.55)
    for label in np.unique(after):
        inside = np.unique(before[after == label])
        assert label == inside.min()


def test_small_cells_join_behind_their_weakest_boundary() -> None:
    walls = np.zeros((40, 61))
    walls[:, 20] = 0.9
    walls[:, 26] = 0.7
    cutter = CellCutter(walls, smoothing=0.5)
    row = cutter.labels(0.5, min_size=0)[20]
    assert len({row[5], row[23], row[50]}) == 3
    row = cutter.labels(0.5, min_size=300)[20]
    assert row[23] == row[50] != row[5]
    assert len(np.unique(cutter.labels(0.5, min_size=10**6))) == 1


def test_membranes_may_be_left_out(broken: np.ndarray) -> None:
    filled = cells_from_membranes(broken, threshold=0.4)
    open_ = cells_from_membranes(broken, threshold=0.4, fill=False)
    np.testing.assert_array_equal(open_ == 0, broken >= 0.4)
    np.testing.assert_array_equal(open_[open_ > 0], filled[open_ > 0])


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("shape", [(20, 30), (1, 7), (1, 1)])
def test_a_flat_image_is_one_cell(value: float, shape: tuple[int, int]) -> None:
    assert (cells_from_membranes(np.full(shape, value)) == 1).all()


def test_the_same_image_gives_the_same_cells(broken: np.ndarray) -> None:
    np.testing.assert_array_equal(
        cells_from_membranes(broken), cells_from_membranes(broken.astype(np.float64))
    )


def test_wrong_arguments_are_refused(broken: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"shape \(H, W\), got \(2, 3, 4\)"):
        CellCutter(np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match=r"\[0, 1\], got type uint8"):
        CellCutter(np.zeros((4, 4), np.uint8))
    with pytest.raises(ValueError, match=r"in \[0, 1\], got 0 to 255"):
        CellCutter(np.array([[0.0, 255.0]]))
    with pytest.raises(ValueError, match="got nan to nan"):
        CellCutter(np.array([[0.0, np.nan]]))
    with pytest.raises(ValueError, match=r"threshold must lie in \[0, 1\], got 1.5"):
        CellCutter(broken).labels(1.5)


def framed(image: np.ndarray, width: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Put nothing around an image, and say where."""
    outside = np.pad(np.zeros(image.shape, bool), width, constant_values=True)
    return np.pad(image, width), outside


def test_cells_do_not_meet_outside_the_image(truth: np.ndarray) -> None:
    walls = ndimage.gaussian_filter((truth == 0).astype(float), 1)
    inner = cells_from_membranes(walls)
    padded, outside = framed(walls)
    cells = cells_from_membranes(padded, outside=outside)
    assert not cells[outside].any()
    found = cells[20:-20, 20:-20]
    assert len(np.unique(found)) == len(np.unique(inner)) > 1
    # Taken for an image, the frame is a way around every wall.
    assert len(np.unique(cells_from_membranes(padded))) < len(np.unique(inner))


def test_a_plane_without_any_image_has_no_cells() -> None:
    cells = cells_from_membranes(np.zeros((30, 40)), outside=np.ones((30, 40), bool))
    assert not cells.any()
