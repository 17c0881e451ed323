"""From labels to cells: train, save, load, segment, score, in one go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tifffile
import torch
from typer.testing import CliRunner

from roteq_core.cli.main import app
from roteq_core.config import SegmentOptions
from roteq_core.jobs import drain
from roteq_core.membranes.segment import Segmenter
from roteq_core.metrics import score_stack
from roteq_core.model import load_model
from roteq_core.synthetic import em_stack


def roteq(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_labels_become_cells_from_the_command_line(tmp_path):
    stack = em_stack(4, 80, seed=5, noise=0.3)
    images, labels = tmp_path / "images.tif", tmp_path / "labels.tif"
    model, output = tmp_path / "model.safetensors", tmp_path / "out.tif"
    tifffile.imwrite(images, stack.image)
    tifffile.imwrite(labels, stack.cells)
    given = ["--images", images, "--labels", labels, "-o", model, "--held-out", "3"]
    size = ["--preset", "quick", "--steps", 25, "--crop", 48, "--device", "cpu"]
    roteq("train", "membranes", *given, *size, "--learning-rate", 0.03)
    roteq("segment", images, "-o", output, "--model", model, "--cells")
    assert "V-Rand" in roteq("score", output, labels, "--slices", "3")
    probability = tifffile.imread(output)[3]
    on, off = (probability[stack.membranes[3] == side].mean() for side in (True, False))
    assert on > 1.05 * off  # it has begun to learn
    cells = tifffile.imread(tmp_path / "out_cells.tif")
    assert cells.shape == stack.image.shape


@pytest.mark.real_data
def test_shipped_model_scores_alike_on_a_turned_slice(real_data):
    model = load_model("membranes")
    folder = real_data / "isbi2012"
    image = tifffile.imread(folder / "train-volume.tif", key=27)[:192, :192]
    truth = tifffile.imread(folder / "train-labels.tif", key=27)[:192, :192]
    segmenter = Segmenter(SegmentOptions(device="cpu", tile=128), model)
    fitted = segmenter.normalization(image)
    upright = drain(segmenter.iter_plane(image, fitted)).probability
    turned = drain(segmenter.iter_plane(np.rot90(image).copy(), fitted)).probability
    # Where two directions answer equally strongly, rounding decides which is kept, and
    # the pixels around follow. Hence no bound of 1e-5 on every pixel in float32.
    difference = np.abs(turned - np.rot90(upright))
    assert np.quantile(difference, 0.99) < 1e-5
    assert difference.max() < 0.02
    whole = Segmenter(replace(segmenter.options, tile=1024), model)
    np.testing.assert_allclose(
        drain(whole.iter_plane(image, fitted)).probability, upright, atol=1e-5
    )
    score = score_stack(upright, truth)
    after = score_stack(np.rot90(turned, -1), truth)
    assert score.v_rand > 0.9
    assert after.v_rand == pytest.approx(score.v_rand, abs=1e-4)
    assert after.v_info == pytest.approx(score.v_info, abs=1e-4)


@pytest.mark.real_data
def test_shipped_network_turns_exactly_in_double_precision(real_data):
    stack = real_data / "isbi2012" / "train-volume.tif"
    image = torch.from_numpy(tifffile.imread(stack, key=27)[:192, :192] / 255.0)[
        None, None
    ]
    network = load_model("membranes").networks[0].double()
    with torch.no_grad():
        upright = network(image)[0]
        turned = network(image.rot90(1, (-2, -1)))[0]
    torch.testing.assert_close(turned, upright.rot90(1, (-2, -1)), rtol=0, atol=1e-9)
