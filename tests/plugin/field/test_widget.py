import subprocess
import sys

import numpy as np
import pytest
import tifffile
from napari.layers import Image, Vectors
from qtpy.QtWidgets import QApplication, QComboBox, QPushButton
from shown import layer_with_role

from napari_roteq._field.results import FieldStyle
from napari_roteq._layers import METADATA
from roteq_core.config import FieldOptions

WAIT = 200_000  # milliseconds; generous, nothing waits that long when all is well


@pytest.fixture
def stack():
    """Give a little stack (3, 48, 64) of gray blobs."""
    return np.random.default_rng(0).integers(0, 255, (3, 48, 64), dtype=np.uint8)


@pytest.fixture
def viewer(make_napari_viewer):
    return make_napari_viewer(show=True)


@pytest.fixture
def widget(viewer, membrane_model):
    """Give the widget, made through the manifest, with the tiny model chosen."""
    _, widget = viewer.window.add_plugin_dock_widget("napari-roteq", "Vector field")
    widget.open_model(membrane_model)
    return widget


@pytest.fixture
def wait(widget, qtbot):
    """Wait until nothing is computed any more."""

    def until_idle():
        qtbot.waitUntil(lambda: not widget.is_running, timeout=WAIT)
        qtbot.wait(200)  # what came to rest may begin something
        qtbot.waitUntil(lambda: not widget.is_running, timeout=WAIT)

    return until_idle


def field_of(viewer):
    return layer_with_role(viewer, "vector field")


def error_of(widget):
    return widget._bar._error.text()


def choose_layer(widget, name):
    names = [layer.name for layer in widget._form._offered]
    widget._form._layer.setCurrentIndex(names.index(name))


def test_untouched_button_draws_the_field_of_the_slice_in_view(
    viewer, widget, wait, stack
):
    source = viewer.add_image(
        stack,
        scale=(50, 4, 4),
        translate=(100, 8, 12),
        rotate=(0, 0, 10),
        units="nm",
        axis_labels=("z", "y", "x"),
    )
    viewer.dims.set_current_step(0, 1)
    widget._form.start.click()
    wait()
    assert error_of(widget) == ""
    field = field_of(viewer)
    assert type(field) is Vectors
    assert len(field.data)
    assert set(field.data[:, 0, 0]) == {1.0}
    assert set(field.data[:, 1, 0]) == {0.0}
    np.testing.assert_allclose(field.scale, source.scale)
    np.testing.assert_allclose(field.translate, source.translate)
    np.testing.assert_allclose(field.rotate, source.rotate)
    assert field.units == source.units
    assert field.axis_labels == source.axis_labels


def test_vectors_of_a_strided_layer_lie_where_the_layer_looks(
    viewer, widget, wait, stack
):
    viewer.add_image(stack[0])
    choose_layer(widget, "blocks.2")
    widget._form.look.set_value(FieldStyle(spacing=6, gate=0.0))
    widget._form.start.click()
    wait()
    rows, columns = field_of(viewer).data[:, 0].T
    assert set((rows - 1.5) % 4) | set((columns - 1.5) % 4) == {0.0}
    assert rows.max() <= 45.5
    assert columns.max() <= 61.5


def test_other_filters_and_layers_follow_by_themselves(viewer, widget, wait, stack):
    viewer.add_image(stack[0])
    choose_layer(widget, "last")
    widget._form.start.click()
    wait()
    layer = field_of(viewer)
    first = layer.data.copy()
    widget._form.set_filter(2)
    wait()
    second = layer.data.copy()
    assert first.shape != second.shape or not np.allclose(first, second)
    assert layer.metadata[METADATA]["kwargs"]["filters"] == [2]
    choose_layer(widget, "blocks.0")
    wait()
    assert field_of(viewer) is layer
    assert layer.metadata[METADATA]["args"][1]["layer"] == "blocks.0"
    assert widget._form.filter() == 0  # there is no third filter here


def test_what_is_chosen_during_a_run_comes_after_it(viewer, widget, wait, stack):
    viewer.add_image(stack[0])
    choose_layer(widget, "last")
    widget._form.start.click()
    choose_layer(widget, "blocks.0")
    wait()
    about = field_of(viewer).metadata[METADATA]
    assert about["args"][1]["layer"] == "blocks.0"
    assert widget._filters.is_current


def test_slices_follow_the_view(viewer, widget, wait, stack):
    viewer.add_image(stack)
    viewer.dims.set_current_step(0, 0)
    widget._form.start.click()
    wait()
    viewer.dims.set_current_step(0, 2)
    wait()
    assert set(field_of(viewer).data[:, 0, 0]) == {2.0}
    assert widget._results.has((0,), 0)
    assert not widget._results.has((1,), 0)
    widget._form.follow.setChecked(False)
    viewer.dims.set_current_step(0, 1)
    wait()
    assert not widget._results.has((1,), 0)
    viewer.dims.set_current_step(0, 0)  # known: drawn without computing
    wait()
    assert set(field_of(viewer).data[:, 0, 0]) == {0.0}


def test_view_decides_which_vectors_are_drawn(viewer, widget, wait, qtbot):
    viewer.add_image(np.random.default_rng(1).random((400, 400), np.float32))
    choose_layer(widget, "blocks.0")
    widget._form.look.set_value(FieldStyle(gate=0.0))
    widget._form.start.click()
    wait()
    layer = field_of(viewer)
    far = layer.data[:, 0]
    viewer.scene.camera.center = (100, 120)
    viewer.scene.camera.zoom = 16
    qtbot.wait(300)
    wait()
    near = layer.data[:, 0]
    assert 0 < len(near) <= 10_000
    assert np.ptp(near, axis=0).max() < np.ptp(far, axis=0).max() / 2
    assert np.abs(near.mean(0) - (100, 120)).max() < 8


def test_style_changes_what_is_drawn(viewer, widget, wait, stack):
    viewer.add_image(stack[0])
    widget._form.start.click()
    wait()
    layer = field_of(viewer)
    count = len(layer.data)
    widget._form.look.set_value(FieldStyle(gate=0.9, length=3.0, color_by="strength"))
    wait()
    assert 0 < len(layer.data) < count
    assert layer.length == 3.0
    assert layer.edge_color_mode == "colormap"
    assert layer.edge_colormap.name == "roteq amounts"
    legend = widget._form.pages.legend
    assert legend.bar.isVisibleTo(widget)
    assert not legend.wheel.isVisibleTo(widget)
    assert widget._form.look.value().gate == 0.9


def test_removed_layer_comes_back_with_the_button_only(viewer, widget, wait, stack):
    viewer.add_image(stack[0])
    widget._form.start.click()
    wait()
    viewer.layers.remove(field_of(viewer))
    widget._form.look.set_value(FieldStyle(gate=0.0))
    wait()
    assert len(viewer.layers) == 1
    widget._form.start.click()
    wait()
    assert field_of(viewer)


def test_visible_area_is_computed_where_it_lies(viewer, widget, wait, qtbot):
    image = np.random.default_rng(1).random((400, 400), np.float32)
    source = viewer.add_image(image, translate=(10, 20))
    viewer.scene.camera.center = (110, 120)
    viewer.scene.camera.zoom = 8
    qtbot.wait(300)
    top, left = source.corner_pixels[0]
    widget._form.set_part("visible area")
    widget._form.start.click()
    wait()
    assert widget._results.work.source.shape < (400, 400)
    field = field_of(viewer)
    np.testing.assert_allclose(field.translate, (10 + top, 20 + left))
    assert field.data[:, 0].min() >= 0


def test_filters_are_shown_and_added_beside_the_image(viewer, widget, wait, stack):
    source = viewer.add_image(stack, scale=(1, 2, 2))
    choose_layer(widget, "blocks.0")
    widget._form.start.click()
    wait()
    pages = widget._form.pages
    pages.open_filters()
    pages.filters.draw_now()
    labels = [label.get_text() for label in pages.filters.axes.get_yticklabels()]
    assert labels == ["filter 0"]
    pages.add_filters.click()
    (layer,) = [
        layer
        for layer in viewer.layers
        if layer.metadata.get(METADATA, {}).get("role") == "filters"
    ]
    assert type(layer) is Image
    assert layer.data.shape == (3, 4 * 4 - 1)  # one filter, four orientations of 3 × 3
    assert layer.extent.world[0][-1] > source.extent.world[1][-1]
    pages.add_filters.click()
    assert len(viewer.layers) == 3


def test_filters_can_be_seen_before_any_field(viewer, widget, wait):
    choose_layer(widget, "blocks.1")
    pages = widget._form.pages
    pages.open_filters()
    wait()
    assert error_of(widget) == ""
    pages.filters.draw_now()
    labels = [label.get_text() for label in pages.filters.axes.get_yticklabels()]
    assert labels == ["u", "v"]
    widget.open_model("car-finder")  # whose filters are not known yet
    assert not pages.add_filters.isEnabled()


def test_turning_the_image_draws_a_curve(viewer, widget, wait, qtbot):
    image = np.random.default_rng(2).random((40, 40), np.float32)
    viewer.add_image(image)
    with qtbot.waitSignal(widget._bar.running_changed, timeout=WAIT):
        widget.turn()
    assert not widget._form.pages.turn.isEnabled()
    wait()
    assert error_of(widget) == ""
    angles, lines = widget.curve.lines()
    assert angles[0] == 0
    assert angles[-1] == 360
    ours = lines["tiny"]
    quarters = angles % 90 == 0
    assert ours[quarters].max() < 1e-4 * max(1, ours.max())
    assert "probability" in widget._form.pages._summary.text()


def test_stop_keeps_the_angles_there_are(viewer, widget, qtbot):
    viewer.add_image(np.random.default_rng(2).random((300, 300), np.float32))
    widget.turn()
    qtbot.waitUntil(lambda: len(widget.curve.angles) > 1, timeout=WAIT)
    widget._bar.stop()
    qtbot.waitUntil(lambda: not widget._bar.is_running, timeout=WAIT)
    assert 1 < len(widget.curve.angles) < 37
    assert widget._form.start.isEnabled()
    assert widget._form.pages.turn.isEnabled()


def test_without_an_image_it_says_what_to_do(widget):
    widget._form.start.click()
    assert "open one" in error_of(widget)
    widget._form.pages.turn.click()
    assert "open one" in error_of(widget)


def test_models_without_fields_say_so(viewer, widget, stack, tmp_path):
    from roteq_core.model import make_model
    from roteq_core.networks.baselines import PlainNetConfig, build_any

    network = build_any(PlainNetConfig(width=1))
    path = tmp_path / "plain.safetensors"
    make_model([network], name="plain", task="membranes").save(path)
    viewer.add_image(stack)
    widget.open_model(str(path))
    widget._form.start.click()
    assert "plain has no vector fields" in error_of(widget)


def test_window_answers_while_a_field_is_computed(viewer, widget, wait, event_loop_gap):
    viewer.add_image(np.random.default_rng(3).random((4, 256, 256), np.float32))
    viewer.dims.set_current_step(0, 0)
    widget._form.start.click()
    wait()  # the compute process is warm now
    gaps = []
    for step in (1, 2, 3):  # threads that a busy machine holds up hold up the window
        with event_loop_gap:
            viewer.dims.set_current_step(0, step)
            wait()
        gaps.append(event_loop_gap.own)
        if gaps[-1] <= 0.2:
            break
    assert widget._results.has((step,), 0)
    assert min(gaps) <= 0.2


def test_closing_the_widget_stops_the_run(viewer, widget, qtbot):
    viewer.add_image(np.random.default_rng(4).random((600, 600), np.float32))
    widget._form.start.click()
    job = widget._bar.job
    viewer.window.remove_dock_widget(widget)
    qtbot.waitUntil(lambda: not job.is_running, timeout=WAIT)
    viewer.scene.camera.zoom = 3  # tells no widget that is gone


def test_copied_python_and_command_make_the_same(viewer, widget, wait, stack, tmp_path):
    tifffile.imwrite(tmp_path / "em.tif", stack, photometric="minisblack")
    viewer.open(tmp_path / "em.tif", plugin="napari")
    viewer.dims.set_current_step(0, 2)
    choose_layer(widget, "blocks.1")
    widget._form.set_filter(1)
    widget._form.start.click()
    wait()
    place = widget._results.place((2,))
    expected = widget._results.store.field(place, 1)[:]
    widget._copy.python.click()
    code = QApplication.clipboard().text()
    code += "import numpy as np\nnp.save('out.npy', result.field)\n"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy")[0], expected, atol=1e-5)
    widget._copy.command.click()
    words = QApplication.clipboard().text().split()
    command = [sys.executable, "-m", "roteq_core.cli.main", *words[1:]]
    subprocess.run(command, cwd=tmp_path, check=True)
    written = tifffile.imread(tmp_path / "em_field.tif")
    np.testing.assert_allclose(written, expected, atol=1e-5)


def test_every_control_has_a_tooltip(widget):
    controls = widget.findChildren((QPushButton, QComboBox))
    assert controls
    assert not [each for each in controls if not each.toolTip()]


def test_options_are_given_back_as_they_were_set(widget):
    options = FieldOptions(
        model=widget.value().model, layer="mix", tile=256, inverted=True
    )
    widget.set_value(options)
    assert widget.value() == options
