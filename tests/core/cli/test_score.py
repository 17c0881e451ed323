from __future__ import annotations

import json

import numpy as np
import pytest
import tifffile
from typer.testing import CliRunner

from roteq_core.cli.main import app
from roteq_core.files.plane_writer import write_planes


@pytest.fixture
def files(tmp_path, em):
    soft = np.where(em.membranes, 0.9, 0.1).astype(np.float32)
    soft[:, 0, 0] += 0.01  # two values only would be cut once
    arrays = {
        "probability": soft,
        "last": soft[3:],
        "membranes": em.membranes.astype(np.uint8) * 255,
        "cells": em.cells,
        "few": em.cells[:2],
        "flat": np.full_like(soft, 0.5),
        "zeros": np.zeros_like(em.cells),
        "small": soft[:, :32],
    }
    for name, array in arrays.items():
        tifffile.imwrite(tmp_path / f"{name}.tif", array)
    return tmp_path


def run(folder, *arguments):
    given = [str(folder / a) if a.endswith(".tif") else a for a in arguments]
    return CliRunner().invoke(app, ["score", *given])


def test_json_holds_the_scores_and_the_sweep(files):
    result = run(files, "probability.tif", "membranes.tif", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert {"v_rand", "v_info", "threshold", "pixel_error", "sweep"} <= set(found)
    assert found["v_rand"] > 0.95
    assert found["pixel_error"] == 0
    assert len(found["sweep"]) > 5


def test_text_says_what_was_decided(files):
    result = run(files, "probability.tif", "cells.tif")
    assert "V-Rand" in result.stdout
    assert "pixel error" in result.stdout
    assert "labels" in result.stderr
    assert "membranes" in result.stderr


def test_what_our_own_files_hold_is_read_from_their_recipe(files):
    flat = np.full((5, 64, 64), 0.4, np.float32)
    flat[:, 0] = 0.5
    tifffile.imwrite(files / "foreign.tif", flat)
    foreign = run(files, "foreign.tif", "membranes.tif")
    assert foreign.exit_code == 1
    assert "cannot tell what high values" in " ".join(foreign.stderr.split())
    with write_planes(
        files / "ours.tif", 5, recipe={"content": "probability"}
    ) as write:
        for plane in flat:
            write(plane)
    assert run(files, "ours.tif", "membranes.tif").exit_code == 0


def test_slices_are_taken_from_the_truth_and_from_a_whole_prediction(files):
    part = run(files, "last.tif", "membranes.tif", "--slices", "3-4", "--json")
    whole = run(files, "probability.tif", "membranes.tif", "--slices", "3-4", "--json")
    assert json.loads(part.stdout) == json.loads(whole.stdout)


def test_numbered_cells_are_scored_as_cells(files):
    text = run(files, "cells.tif", "membranes.tif")
    assert text.exit_code == 0, text.output
    assert "V-Info" in text.stdout
    found = json.loads(run(files, "cells.tif", "cells.tif", "--json").stdout)
    assert [found[key] for key in ("threshold", "pixel_error", "sweep")] == [None] * 3
    assert found["v_rand"] == pytest.approx(1)
    assert found["v_info"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["small.tif", "membranes.tif"], "must match, got (5, 32, 64)"),
        (["last.tif", "membranes.tif"], "must match, got (2, 64, 64)"),
        (["probability.tif", "few.tif"], "--slices says which slices of the truth"),
        (["flat.tif", "membranes.tif"], "give --polarity 'membranes' or 'cells'"),
        (["probability.tif", "flat.tif"], "whole numbers, got 0.5 in 20480 pixels"),
        (["probability.tif", "zeros.tif"], "give --truth-kind 'labels'"),
        (["none.tif", "membranes.tif"], "there is no file or folder"),
        (["last.tif", "cells.tif", "--slices", "3-9"], "slices must lie in 0…4"),
        (["last.tif", "cells.tif", "--slices", "x"], "slices must look like"),
        (["probability.tif", "cells.tif", "--polarity", "up"], "polarity must be"),
    ],
)
def test_mistakes_are_said_in_a_sentence(files, arguments, message):
    result = run(files, *arguments)
    assert result.exit_code == 1
    said = " ".join(result.stderr.split())
    assert said.startswith("error: ")
    assert message in said


@pytest.mark.parametrize("value", [1, 255])
@pytest.mark.parametrize("dtype", ["uint8", "int32", "uint64"])
def test_masks_are_masks_in_any_type(files, em, dtype, value):
    tifffile.imwrite(files / "mask.tif", em.membranes.astype(dtype) * value)
    for more in ([], ["--polarity", "membranes"]):
        found = json.loads(run(files, "mask.tif", "cells.tif", "--json", *more).stdout)
        assert found["v_rand"] > 0.95
        assert found["pixel_error"] == 0


def test_what_makes_a_prediction_numbered_cells_is_said(files):
    said = " ".join(run(files, "cells.tif", "cells.tif").stderr.split())
    assert "labels: the prediction is 32-bit integers up to" in said
    result = run(files, "cells.tif", "cells.tif", "--labels", "--polarity", "cells")
    assert result.exit_code == 1
    assert "have no polarity" in " ".join(result.stderr.split())


def test_narrow_numbered_cells_are_told_of_labels(files, em):
    tifffile.imwrite(files / "narrow.tif", em.cells.astype(np.uint8))
    said = " ".join(run(files, "narrow.tif", "membranes.tif").stderr.split())
    assert "--labels" in said


def test_without_true_membranes_there_is_no_pixel_error(files, em):
    whole = np.where(em.cells == 0, em.cells.max() + 1, em.cells)
    tifffile.imwrite(files / "whole.tif", whole)
    given = "probability.tif", "whole.tif", "--polarity", "membranes"
    result = run(files, *given, "--truth-kind", "labels")
    assert result.exit_code == 0, result.output
    assert "pixel error  none: the truth shows no membranes" in result.stdout
