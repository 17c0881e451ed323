import numpy as np
import pytest
from napari.components import ViewerModel

from napari_roteq._parts.layer_choice import LayerChoice, is_source_image


@pytest.fixture
def viewer():
    return ViewerModel()


@pytest.fixture
def box(viewer, qtbot):
    box = LayerChoice(viewer, is_source_image, nothing="none")
    qtbot.addWidget(box)
    return box


def names(box):
    return [box.itemText(place) for place in range(box.count())]


def test_list_follows_the_viewer(viewer, box):
    assert box.layer() is None
    first = viewer.add_image(np.zeros((4, 4)), name="first")
    viewer.add_labels(np.zeros((4, 4), int))
    second = viewer.add_image(np.zeros((4, 4)), name="second")
    assert names(box) == ["first", "second"]
    assert box.layer() is first
    first.name = "renamed"
    assert names(box) == ["renamed", "second"]
    viewer.layers.remove(first)
    assert box.layer() is second


def test_choice_is_told_once(viewer, box, qtbot):
    told = []
    box.layer_changed.connect(told.append)
    first = viewer.add_image(np.zeros((4, 4)))
    second = viewer.add_image(np.zeros((4, 4)))
    box.set_layer(second)
    box.set_layer(second)
    assert told == [first, second]


def test_preferred_layer_is_chosen_until_somebody_chooses(viewer, qtbot):
    box = LayerChoice(viewer, is_source_image, prefer=lambda layer: len(layer.name))
    qtbot.addWidget(box)
    short = viewer.add_image(np.zeros((4, 4)), name="a")
    longer = viewer.add_image(np.zeros((4, 4)), name="abc")
    assert box.layer() is longer
    box.set_layer(short)
    viewer.add_image(np.zeros((4, 4)), name="abcdef")
    assert box.layer() is short


def test_destroyed_box_hears_no_more(viewer, qtbot):
    box = LayerChoice(viewer, is_source_image)
    with qtbot.waitSignal(box.destroyed):
        box.deleteLater()
    viewer.add_image(np.zeros((4, 4)))
