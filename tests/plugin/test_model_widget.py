from pathlib import Path

import pytest
from qtpy.QtWidgets import QComboBox, QFileDialog, QPushButton

from napari_roteq._session import Session

WAIT = 200_000  # milliseconds; generous, nothing waits that long when all is well


@pytest.fixture
def viewer(make_napari_viewer):
    return make_napari_viewer()


@pytest.fixture
def widget(viewer, membrane_model):
    _, widget = viewer.window.add_plugin_dock_widget("napari-roteq", "Model")
    widget._model.open_file(membrane_model)
    return widget


def test_card_is_shown_at_once(widget):
    text = widget._card.text()
    assert "A tiny model for tests." in text
    assert "4 nm" in text
    assert "Looks at" not in text


def test_check_runs_the_self_test_and_tells_the_reach(widget, qtbot):
    widget._check.click()
    qtbot.waitUntil(lambda: not widget._bar.is_running, timeout=WAIT)
    assert widget._bar.error is None
    assert "self-test passed" in widget._card.text()
    assert "Looks at" in widget._card.text()


def test_choice_reaches_the_other_widgets(viewer, widget, membrane_model):
    assert Session.of(viewer).model.path == membrane_model
    _, other = viewer.window.add_plugin_dock_widget("napari-roteq", "Segment membranes")
    assert other.value().model == membrane_model


def test_file_that_is_no_model_is_explained(widget, tmp_path, membrane_model):
    (tmp_path / "x.safetensors").write_bytes(b"nothing")
    widget._model.open_file(str(tmp_path / "x.safetensors"))
    assert "not a safetensors file" in widget._bar.error.sentence
    assert widget.value().path == membrane_model


def test_copy_is_the_same_model(widget, tmp_path, monkeypatch, membrane_model):
    target = tmp_path / "copy"
    monkeypatch.setattr(
        QFileDialog, "getSaveFileName", lambda *_: (str(target), "Models")
    )
    widget._save.click()
    written = tmp_path / "copy.safetensors"
    assert written.read_bytes() == Path(membrane_model).read_bytes()


def test_every_control_has_a_tooltip(widget):
    controls = widget.findChildren((QPushButton, QComboBox))
    assert not [each for each in controls if not each.toolTip()]
