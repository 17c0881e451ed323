import numpy as np
import pytest
from napari.layers import Image, Labels, Shapes

from napari_roteq._images import planes_of
from napari_roteq._layers import METADATA
from napari_roteq._score.scoring import (
    check_pair,
    iter_read_pair,
    predicted_planes,
    table_as_csv,
)
from roteq_core.jobs import drain


def test_layers_that_do_not_go_together_are_refused():
    stack, plane = Image(np.zeros((2, 4, 4))), Labels(np.zeros((4, 4), int))
    with pytest.raises(ValueError, match="same shape"):
        check_pair(stack, plane)
    with pytest.raises(ValueError, match="boxes of cars"):
        check_pair(stack, Shapes())


def test_only_wanted_planes_are_read():
    stack = np.arange(3 * 4 * 5).reshape(3, 4, 5)
    planes = planes_of(Image(stack))
    pair = drain(iter_read_pair(planes, planes, [(2,), (0,)]))
    np.testing.assert_array_equal(pair.prediction, stack[[2, 0]])


def test_planes_that_were_never_predicted_are_left_out():
    data = np.zeros((3, 4, 4))
    data[1] = 0.5
    layer = Image(data, metadata={METADATA: {}})
    assert predicted_planes(layer, planes_of(layer)) == [(1,)]
    layer = Image(data)
    assert len(predicted_planes(layer, planes_of(layer))) == 3


def test_table_is_plain_csv():
    text = table_as_csv(["slice", "a"], [[(1, 2), 0.5]])
    assert text == 'slice,a\n"1, 2",0.5\n'
