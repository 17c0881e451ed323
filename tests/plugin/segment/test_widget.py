import subprocess
import sys
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
import tifffile
from napari.layers import Image, Labels, Vectors
from qtpy.QtWidgets import QApplication, QComboBox, QPushButton
from shown import layer_with_role

from napari_roteq._layers import METADATA
from napari_roteq._segment.widget import SegmentWidget
from roteq_core.config import SegmentOptions

WAIT = 200_000  # milliseconds; generous, nothing waits that long when all is well


@pytest.fixture
def stack():
    """Give a little stack (3, 40, 48) of gray blobs."""
    return np.random.default_rng(0).integers(0, 255, (3, 40, 48), dtype=np.uint8)


@pytest.fixture
def viewer(make_napari_viewer):
    return make_napari_viewer(show=True)


@pytest.fixture
def widget(viewer, membrane_model):
    """Give the widget, made through the manifest, with the tiny model chosen."""
    _, widget = viewer.window.add_plugin_dock_widget(
        "napari-roteq", "Segment membranes"
    )
    widget._form.model.open_file(membrane_model)
    return widget


@pytest.fixture
def segment(widget, qtbot):
    """Press the button and wait until all is done."""

    def press(part="current slice"):
        widget._form.set_part(part)
        widget._form.start.click()
        wait()

    def wait():
        qtbot.waitUntil(lambda: not widget._bar.is_running, timeout=WAIT)
        qtbot.waitUntil(lambda: not widget._cutter.is_busy, timeout=WAIT)

    press.wait = wait
    return press


def error_of(widget):
    return widget._bar._error.text()


def test_untouched_button_segments_the_slice_in_view(viewer, widget, segment, stack):
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
    segment.wait()
    assert error_of(widget) == ""
    membranes, cells = (
        layer_with_role(viewer, "membranes"),
        layer_with_role(viewer, "cells"),
    )
    direction = layer_with_role(viewer, "direction")
    kinds = [type(layer) for layer in (membranes, cells, direction)]
    assert kinds == [Image, Labels, Vectors]
    assert membranes.data.shape == cells.data.shape == stack.shape
    assert membranes.data[1].std() > 0
    assert not membranes.data[[0, 2]].any()
    assert cells.data[1].min() > 0
    assert set(direction.data[:, 0, 0]) <= {1.0}
    for layer in (membranes, cells, direction):
        np.testing.assert_allclose(layer.scale, source.scale)
        np.testing.assert_allclose(layer.translate, source.translate)
        np.testing.assert_allclose(layer.rotate, source.rotate)
        assert layer.units == source.units
        assert layer.axis_labels == source.axis_labels


def test_whole_stack_has_cells_that_keep_their_number(viewer, widget, segment, stack):
    stack[:] = stack[0]
    viewer.add_image(stack)
    segment("whole stack")
    cells = layer_with_role(viewer, "cells").data
    np.testing.assert_array_equal(cells[0], cells[1])
    np.testing.assert_array_equal(cells[0], cells[2])
    assert layer_with_role(viewer, "membranes").data.std(axis=(1, 2)).min() > 0


def test_second_run_updates_its_own_layers(viewer, widget, segment, stack):
    viewer.add_image(stack)
    segment()
    first = list(viewer.layers)
    before = layer_with_role(viewer, "membranes").data.copy()
    viewer.dims.set_current_step(0, 0)
    segment()
    assert list(viewer.layers) == first
    after = layer_with_role(viewer, "membranes").data
    np.testing.assert_array_equal(after[1], before[1])
    assert after[0].std() > 0


def test_other_options_start_afresh(viewer, widget, segment, stack):
    viewer.add_image(stack)
    segment()
    widget.set_value(SegmentOptions(model=widget.value().model, inverted=True))
    viewer.dims.set_current_step(0, 0)
    segment()
    assert not layer_with_role(viewer, "membranes").data[1].any()


def test_visible_area_is_segmented_where_it_lies(viewer, widget, segment, qtbot):
    image = np.random.default_rng(1).random((400, 400), np.float32)
    source = viewer.add_image(image, translate=(10, 20))
    viewer.scene.camera.center = (110, 120)
    viewer.scene.camera.zoom = 8
    qtbot.wait(300)
    top, left = source.corner_pixels[0]
    segment("visible area")
    membranes = layer_with_role(viewer, "membranes in view")
    assert max(membranes.data.shape) < 400
    np.testing.assert_allclose(membranes.translate, (10 + top, 20 + left))


def test_colors_levels_and_lazy_stacks_are_read(viewer, widget, segment, stack):
    touched = []

    def read(block):
        touched.append(block.shape)
        return block

    lazy = da.from_array(stack, chunks=(1, 40, 48)).map_blocks(read, meta=stack[:0])
    sources = {
        "rgb": viewer.add_image(np.stack([stack[0]] * 3, axis=-1), name="rgb"),
        "levels": viewer.add_image([stack, stack[:, ::2, ::2]], name="levels"),
        "lazy": viewer.add_image(lazy, name="lazy"),
        "bool": viewer.add_image(stack[0] > 100, name="bool"),
        "float": viewer.add_image(stack[0].astype(">f4"), name="float"),
    }
    for name, source in sources.items():
        widget._form.image.set_layer(source)
        segment()
        assert error_of(widget) == "", name
        assert viewer.layers[f"{name} membranes"].data.std() > 0, name
    assert all(shape[0] <= 1 for shape in touched)


def test_coarser_level_lies_over_the_finest(viewer, widget, segment, stack):
    viewer.add_image([stack, stack[:, ::2, ::2]], name="levels", scale=(1, 3, 3))
    widget._form._source.level_box.setCurrentIndex(1)
    segment()
    membranes = layer_with_role(viewer, "membranes")
    assert membranes.data.shape == (3, 20, 24)
    np.testing.assert_allclose(membranes.scale, (1, 6, 6))


def test_threshold_cuts_the_cells_anew(viewer, widget, segment, stack, qtbot):
    viewer.add_image(stack)
    segment("whole stack")
    cells = layer_with_role(viewer, "cells")
    before = [len(np.unique(plane)) for plane in cells.data]
    with qtbot.waitSignal(widget._form.threshold_settled, timeout=WAIT):
        widget._form.threshold.setValue(0.0)
    segment.wait()
    assert min(len(np.unique(plane)) for plane in cells.data) > 1
    assert before == [1, 1, 1]  # everything is below the first threshold
    options = cells.metadata[METADATA]["args"][-1]
    assert options["threshold"] == 0.0


def test_slices_are_segmented_as_they_come_into_view(viewer, widget, segment, stack):
    viewer.add_image(stack)
    segment()
    widget._form.follow.setChecked(True)
    viewer.dims.set_current_step(0, 2)
    segment.wait()
    assert widget._results.done == {(1,), (2,)}


def test_stop_keeps_what_is_finished(viewer, widget, segment, qtbot):
    viewer.add_image(np.random.default_rng(2).random((40, 64, 64), np.float32))
    viewer.dims.set_current_step(0, 20)
    widget._form.set_part("whole stack")
    widget._form.start.click()
    assert not widget._form.start.isEnabled()
    qtbot.waitUntil(lambda: bool(widget._results.done), timeout=WAIT)
    widget._bar.stop()
    qtbot.waitUntil(lambda: not widget._bar.is_running, timeout=WAIT)
    done = widget._results.done
    assert (20,) in done
    assert len(done) < 40
    assert layer_with_role(viewer, "membranes").data[20].std() > 0
    assert widget._form.start.isEnabled()


def test_without_an_image_it_says_what_to_do(widget, segment):
    segment()
    assert "open one" in error_of(widget)


def test_without_a_model_it_says_what_to_do(viewer, stack, qtbot, monkeypatch):
    monkeypatch.setattr("napari_roteq._parts.model_choice.shipped_models", dict)
    viewer.add_image(stack)
    widget = SegmentWidget(viewer)
    qtbot.addWidget(widget)
    widget._form.start.click()
    assert "open a model file" in error_of(widget)


def test_damaged_model_ends_the_run_with_a_sentence(
    viewer, widget, segment, stack, tmp_path, membrane_model
):
    damaged = tmp_path / "damaged.safetensors"
    content = bytearray(Path(membrane_model).read_bytes())
    content[-400:] = b"\x55" * 400
    damaged.write_bytes(bytes(content))
    viewer.add_image(stack)
    widget._form.model.open_file(str(damaged))
    segment()
    assert "damaged" in error_of(widget)
    assert widget._form.start.isEnabled()


def test_window_answers_while_it_predicts(viewer, widget, segment, event_loop_gap):
    viewer.add_image(np.random.default_rng(3).random((3, 128, 128), np.float32))
    segment()  # the compute process is warm now
    with event_loop_gap:
        segment("whole stack")
    assert event_loop_gap.own <= 0.2


def test_closing_the_widget_stops_the_run(viewer, widget, stack, qtbot):
    viewer.add_image(np.concatenate([stack] * 20))
    widget._form.set_part("whole stack")
    widget._form.start.click()
    job = widget._bar.job
    viewer.window.remove_dock_widget(widget)
    qtbot.waitUntil(lambda: not job.is_running, timeout=WAIT)
    viewer.add_image(stack)  # tells no widget that is gone
    viewer.dims.set_current_step(0, 0)


@pytest.mark.parametrize("part", ["current slice", "whole stack"])
def test_copied_python_makes_the_same(
    viewer, widget, segment, stack, tmp_path, part, qtbot
):
    tifffile.imwrite(tmp_path / "em.tif", stack, photometric="minisblack")
    viewer.open(tmp_path / "em.tif", plugin="napari")
    segment(part)
    widget._copy.python.click()
    code = QApplication.clipboard().text()
    code += "import numpy as np\n"
    if part == "current slice":
        code += "np.savez('out', **result)\n"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    membranes, cells = (
        layer_with_role(viewer, "membranes").data,
        layer_with_role(viewer, "cells").data,
    )
    if part == "current slice":
        again = np.load(tmp_path / "out.npz")
        found = again["probability"], again["cells"]
        expected = membranes[1], cells[1]
    else:
        found = [
            tifffile.imread(tmp_path / f"em_membranes{end}.tif")
            for end in ("", "_cells")
        ]
        expected = membranes, cells
    np.testing.assert_allclose(found[0], expected[0], atol=1e-5)
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("part", ["current slice", "whole stack"])
def test_copied_command_makes_the_same(viewer, widget, segment, stack, tmp_path, part):
    tifffile.imwrite(tmp_path / "em.tif", stack, photometric="minisblack")
    viewer.open(tmp_path / "em.tif", plugin="napari")
    segment(part)
    widget._copy.command.click()
    words = QApplication.clipboard().text().split()
    assert words[0] == "roteq"
    command = [sys.executable, "-m", "roteq_core.cli.main", *words[1:]]
    subprocess.run(command, cwd=tmp_path, check=True)
    for ending, role in (("", "membranes"), ("_cells", "cells")):
        found = tifffile.imread(tmp_path / f"em_membranes{ending}.tif")
        expected = layer_with_role(viewer, role).data
        expected = expected[1] if part == "current slice" else expected
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_image_without_a_file_cannot_be_named_in_a_command(
    viewer, widget, segment, stack
):
    viewer.add_image(stack)
    segment()
    widget._copy.command.click()
    assert "opened from a file" in error_of(widget)


def test_every_control_has_a_tooltip(widget):
    controls = widget.findChildren((QPushButton, QComboBox))
    assert controls
    assert not [each for each in controls if not each.toolTip()]


def test_options_are_given_back_as_they_were_set(widget):
    options = SegmentOptions(
        model=widget.value().model, turns=3, cells=False, threshold=0.25, tile=256
    )
    widget.set_value(options)
    assert widget.value() == options
