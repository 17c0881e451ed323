import numpy as np
import pytest

from roteq_core.jobs import drain
from roteq_core.membranes.mistakes import iter_mistakes


@pytest.fixture
def truth():
    """Give two cells, left (1) and right (2), with a wall between them."""
    labels = np.zeros((1, 20, 41), np.int32)
    labels[:, :, :20], labels[:, :, 21:] = 1, 2
    return labels


def test_missing_wall_is_a_merge(truth):
    found = drain(
        iter_mistakes(np.zeros(truth.shape), truth, truth_kind="labels", threshold=0.5)
    )
    assert (found.merges, found.splits) == ((1,), (0,))
    assert (found.merged > 0).all()
    assert not found.split.any()


def test_wall_too_many_is_a_split(truth):
    walls = (truth == 0).astype(float)
    walls[:, 10] = 1.0
    found = drain(iter_mistakes(walls, truth, truth_kind="labels", threshold=0.5))
    assert (found.merges, found.splits) == ((0,), (2,))
    assert set(np.unique(found.split)) == {0, 1, 2}


def test_bright_cells_are_turned_into_dark_walls(truth):
    cells = (255 * (truth > 0)).astype(np.uint8)
    job = iter_mistakes(cells, truth, truth_kind="labels", threshold=0.5, inverted=True)
    found = drain(job)
    assert (found.merges, found.splits) == ((0,), (0,))


def test_labels_are_compared_as_they_are(truth):
    joined = np.ones_like(truth)
    found = drain(iter_mistakes(joined, truth, truth_kind="labels"))
    assert found.merges == (1,)


def test_shapes_must_agree(truth):
    with pytest.raises(ValueError, match="same shape"):
        drain(iter_mistakes(truth[:, 1:], truth, truth_kind="labels"))
