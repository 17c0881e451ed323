import numpy as np
import pytest
from napari.layers import Layer
from qtpy.QtWidgets import QApplication, QComboBox, QPushButton

from napari_roteq._car_shapes import table_layer
from napari_roteq._layers import METADATA, tag
from roteq_core.tables import Car, CarTable

WAIT = 200_000  # milliseconds; generous, nothing waits that long when all is well


@pytest.fixture
def viewer(make_napari_viewer):
    return make_napari_viewer()


@pytest.fixture
def widget(viewer):
    _, widget = viewer.window.add_plugin_dock_widget("napari-roteq", "Score")
    return widget


@pytest.fixture
def truth():
    """Give two slices (2, 40, 61) of two cells each, with a wall between them."""
    labels = np.ones((2, 40, 61), np.int32)
    labels[:, :, 30] = 0
    labels[:, :, 31:] = 2
    labels[1, 20:] += 2
    labels[1, 20] = labels[1, :, 30] = 0
    return labels


@pytest.fixture
def layers(viewer, truth):
    """Add a perfect first slice and a second slice that lacks a wall."""
    probability = (truth == 0).astype(np.float32)
    probability[1, 20] = 0.0
    image = viewer.add_image(np.zeros(truth.shape), name="em", scale=(5, 1, 1))
    metadata = tag("membranes", image, {})
    predicted = viewer.add_image(
        probability * 0.9, name="em membranes", scale=(5, 1, 1), metadata=metadata
    )
    true = viewer.add_labels(truth, name="truth", scale=(5, 1, 1))
    return predicted, true


@pytest.fixture
def press(widget, qtbot):
    def press(button):
        button.click()
        qtbot.waitUntil(lambda: not widget._bar.is_running, timeout=WAIT)

    return press


def test_membranes_are_scored_slice_by_slice(widget, layers, press):
    assert widget.value() == layers
    press(widget._form.start)
    assert widget._bar.error is None
    first, second = widget._score.per_slice
    assert first.v_rand == pytest.approx(1.0)
    assert second.v_rand < 0.9
    table = widget._form._table
    assert table.rowCount() == 2
    assert table.item(0, 1).text() == "1.0000"
    assert "V-Rand" in widget._form._summary.text()
    widget._form.copy.click()
    lines = QApplication.clipboard().text().splitlines()
    assert lines[0] == "slice,V-Rand,V-Info,error"
    assert len(lines) == 3


def test_row_brings_its_slice_into_view(viewer, widget, layers, press):
    press(widget._form.start)
    widget._form._table.selectRow(1)
    assert viewer.dims.current_step[0] == 1
    widget._form._table.selectRow(0)
    assert viewer.dims.current_step[0] == 0


def test_merges_are_marked_where_they_are(viewer, widget, layers, press):
    press(widget._form.start)
    press(widget._form.mistakes)
    assert widget._bar.error is None
    merges, splits = viewer.layers["em membranes merges"], viewer.layers[-1]
    assert not merges.data[0].any()
    assert merges.data[1].any()
    assert not splits.data.any()
    np.testing.assert_allclose(merges.scale, (5, 1, 1))
    before = len(viewer.layers)
    press(widget._form.mistakes)
    assert len(viewer.layers) == before


def test_only_the_slice_in_view(viewer, widget, layers, press):
    viewer.dims.set_current_step(0, 1)
    widget._form._current.setChecked(True)
    press(widget._form.start)
    assert [row[0] for row in [widget._form._indices]] == [(1,)]


def test_cells_are_scored_as_labels(viewer, widget, layers, truth, press):
    cells = viewer.add_labels(truth.copy(), name="cells")
    widget.set_value(cells, layers[1])
    press(widget._form.start)
    assert widget._score.v_rand == pytest.approx(1.0)


@pytest.mark.parametrize("value", [1, 7])
def test_painted_membranes_are_no_numbered_cells(viewer, widget, layers, value, press):
    walls = np.where(layers[1].data == 0, value, 0)
    widget.set_value(viewer.add_labels(walls, name="painted"), layers[1])
    press(widget._form.start)
    assert widget._bar.error is None
    assert widget._score.v_rand == pytest.approx(1.0)
    assert widget._score.polarity.value == "membranes"


def test_failed_scoring_leaves_nothing_of_the_one_before(viewer, widget, layers, press):
    press(widget._form.start)
    assert widget._form.mistakes.isEnabled()
    empty = viewer.add_labels(np.zeros_like(layers[1].data), name="empty")
    widget.set_value(layers[0], empty)
    press(widget._form.start)
    assert widget._bar.error is not None
    assert not widget._form.mistakes.isEnabled()
    assert not widget._form.copy.isEnabled()
    assert not widget._form._summary.text()
    assert widget._form._table.rowCount() == 0


def test_cars_give_a_histogram(viewer, widget):
    cars = [Car(20 * i, 20, 12, 5, heading_cw_from_up_deg=80) for i in range(1, 4)]
    turned = [Car(20 * i, 20, 12, 5, heading_cw_from_up_deg=90) for i in range(1, 4)]
    known = Layer.create(*table_layer(CarTable(tuple(cars)), name="truth"))
    found = Layer.create(*table_layer(CarTable(tuple(turned)), name="found"))
    viewer.add_layer(known)
    viewer.add_layer(found)
    widget.set_value(found, known)
    widget._form.start.click()
    assert "3 of 3 cars" in widget._form._summary.text()
    assert "mean error 10.0°" in widget._form._summary.text()


def test_what_cannot_be_compared_is_said(viewer, widget, layers):
    widget.set_value(layers[0], layers[0])
    widget._form.start.click()
    assert "two layers" in widget._bar.error.sentence
    small = viewer.add_labels(np.ones((2, 4, 4), int), name="small")
    widget.set_value(layers[0], small)
    widget._form.start.click()
    assert "same shape" in widget._bar.error.sentence


def test_without_layers_it_says_what_to_do(widget):
    widget._form.start.click()
    assert "Choose a prediction" in widget._bar.error.sentence


def test_own_overlays_are_not_offered(viewer, widget, layers, press):
    press(widget._form.start)
    press(widget._form.mistakes)
    offered = widget._form.prediction._offered
    roles = {each.metadata.get(METADATA, {}).get("role") for each in offered}
    assert not roles & {"merges", "splits"}


def test_every_control_has_a_tooltip(widget):
    controls = widget.findChildren((QPushButton, QComboBox))
    assert not [each for each in controls if not each.toolTip()]
