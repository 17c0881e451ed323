"""Training in a viewer: real layers, real buttons, a real compute process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tifffile
from napari.layers import Shapes
from qtpy.QtWidgets import QComboBox, QFileDialog, QMessageBox, QPushButton
from safetensors.numpy import load_file
from scipy import ndimage
from skimage.morphology import skeletonize

from napari_roteq import _worker_process
from napari_roteq._layers import METADATA
from napari_roteq._session import Session
from roteq_core.card import read_card
from roteq_core.card_text import CardText
from roteq_core.config import (
    CarNetConfig,
    MembraneNetConfig,
    TrainConfig,
    TurningConfig,
)
from roteq_core.metrics import score_stack
from roteq_core.train_request import TrainRequest

WAIT = 300_000  # milliseconds; generous, nothing waits that long when all is well
SAMPLES = Path(__file__).resolve().parents[2] / "sample_data"
NET = MembraneNetConfig(
    width=1, kernel_size=5, turning=TurningConfig(orientations=8, frequencies=2)
)
TRAIN = TrainConfig(
    steps=6, batch=1, crop=32, epoch_steps=2, average=0.5, elastic=0, device="cpu"
)


@pytest.fixture(scope="module")
def one_thread_pool():
    """Give compute processes with one thread, so that weights agree to the bit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        pool = _worker_process.Pool()
        yield pool
    pool.close()


@pytest.fixture
def viewer(make_napari_viewer, one_thread_pool, monkeypatch):
    monkeypatch.setattr(_worker_process, "POOL", one_thread_pool)
    return make_napari_viewer(show=True)


@pytest.fixture
def widget(viewer, tmp_path):
    """Give the widget, made through the manifest, set to a tiny training."""
    _, widget = viewer.window.add_plugin_dock_widget("napari-roteq", "Train")
    widget.set_value(TrainRequest("membranes", NET, TRAIN, card=CardText("mine")))
    widget.settings.runs.set_value(tmp_path / "runs")
    return widget


@pytest.fixture
def wait(widget, qtbot):
    """Wait until nothing runs any more."""
    return lambda: qtbot.waitUntil(lambda: not widget.is_running, timeout=WAIT)


@pytest.fixture
def stack(viewer):
    """Add a little stack with two areas, and labels that tell them apart."""
    rng = np.random.default_rng(0)
    image = rng.integers(100, 200, (4, 64, 96), dtype=np.uint8)
    labels = np.zeros(image.shape, np.uint8)
    image[:, 30:34] //= 4
    labels[:, 31:33, 4:90] = 1
    labels[:, 10:14, 4:90] = 2
    layer = viewer.add_image(image, name="raw", scale=(50, 4, 4), units="nm")
    return layer, viewer.add_labels(labels, name="drawn", scale=(50, 4, 4), units="nm")


def epochs(widget):
    return len(widget.curves.rows)


def said(widget):
    return "" if widget.error is None else widget.error.sentence


def with_role(viewer, role):
    return [
        layer
        for layer in viewer.layers
        if layer.metadata.get(METADATA, {}).get("role") == role
    ]


def painted_like_a_person(truth, z, seed=0):
    """Paint a few strokes of 1 on membranes and of 2 in cells into one slice."""
    rng = np.random.default_rng(seed)
    labels = np.zeros(truth.shape, np.uint8)
    wall = truth[z] == 0
    line = skeletonize(wall)
    deep = ndimage.distance_transform_edt(~wall) > 5
    for _ in range(6):
        row, column = rng.choice(np.argwhere(line))
        near = np.zeros_like(wall)
        near[max(0, row - 25) : row + 25, max(0, column - 25) : column + 25] = True
        labels[z][ndimage.binary_dilation(line & near) & wall] = 1
    for _ in range(14):
        row, column = rng.choice(np.argwhere(deep))
        near = np.zeros_like(wall)
        near[row : row + 3, max(0, column - 15) : column + 15] = True
        labels[z][near & (truth[z] == truth[z, row, column])] = 2
    return labels


def v_rand_in_the_viewer(viewer, qtbot, z, truth):
    """Segment a slice with the session's model, as the next widget would."""
    _, segment = viewer.window.add_plugin_dock_widget(
        "napari-roteq", "Segment membranes"
    )
    viewer.dims.set_current_step(0, z)
    segment.start()
    qtbot.waitUntil(lambda: not segment.is_running, timeout=WAIT)
    assert segment.error is None
    found = np.asarray(viewer.layers["em_stack membranes"].data[z])
    score = score_stack(found, truth[z], polarity="membranes", truth_kind="labels")
    return score.v_rand


@pytest.mark.slow
def test_a_few_strokes_on_one_slice_teach_all_others(viewer, widget, wait, qtbot):
    """From scratch, 160 steps: V-Rand 0.37 before, above 0.8 after, elsewhere."""
    viewer.open_sample("napari-roteq", "em-stack")
    truth = np.asarray(viewer.layers["em_stack truth"].data)
    image = viewer.layers["em_stack"]
    strokes = viewer.add_labels(
        painted_like_a_person(truth, 2), name="strokes", scale=image.scale, units="nm"
    )
    widget.data.membranes.set_pair(0, image, strokes)
    train = replace(
        TRAIN, steps=160, crop=96, epoch_steps=40, average=0.25, learning_rate=2e-2
    )
    widget.set_value(TrainRequest("membranes", NET, train, card=CardText("fly")))
    widget.controls.start.click()
    wait()
    assert said(widget) == ""
    assert [row["step"] for row in widget.curves.rows] == [40, 80, 120, 160]
    assert max(row["pixels_right"] for row in widget.curves.rows) > 0.85
    (preview,) = with_role(viewer, "prediction in training")
    assert preview.data.max() > 0.5
    model = Session.of(viewer).model
    assert model.path == str(widget.run_folder / "model.safetensors")
    assert model.card["pixel_size"] == 4.0
    widget.hide()
    assert v_rand_in_the_viewer(viewer, qtbot, 8, truth) > 0.8
