from __future__ import annotations

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from roteq_core.cli.main import app
from roteq_core.config import SegmentOptions
from roteq_core.jobs import drain
from roteq_core.membranes.robustness import (
    DEGRADATIONS,
    _where_shown,
    iter_robustness,
    turned_by,
)
from roteq_core.model import with_card
from roteq_core.turned import TurnedCopy

BY_NAME = {d.name: d for d in DEGRADATIONS}
CPU = SegmentOptions(device="cpu")


@pytest.mark.parametrize("worse", DEGRADATIONS, ids=lambda d: d.name)
def test_images_are_made_worse_as_told(worse):
    image = np.random.default_rng(0).standard_normal((40, 40))
    changed = worse.change(image, np.random.default_rng(1))
    assert np.isfinite(changed).all()
    side = 20 if "twice" in worse.name else changed.shape[0]
    assert changed.shape == (side, side)
    again = worse.change(image, np.random.default_rng(1))
    assert (changed == again).all()


def test_table_has_a_row_for_each_change(tiny_model, em):
    names = [
        "as it is",
        "turned by 90°",
        "contrast inverted, told",
        "contrast divided by ten",
        "pixels twice as large, told",
    ]
    rows = drain(
        iter_robustness(
            tiny_model,
            em.image[:1],
            em.membranes[:1].astype(np.uint8),
            CPU,
            degradations=tuple(BY_NAME[name] for name in names),
        )
    )
    assert [row["change"] for row in rows] == names
    same, turned, inverted, flat, coarse = (row["v_rand"] for row in rows)
    assert turned == pytest.approx(same, abs=0.02)
    # A user who tells loses nothing, and contrast never matters.
    assert inverted == pytest.approx(same, abs=0.02)
    assert flat == pytest.approx(same, abs=0.02)
    assert 0 <= coarse <= 1


def test_padding_around_images_changes_next_to_nothing(tiny_model, em):
    truth = np.where(em.membranes[:1], 1, 0).astype(np.uint8)
    truth[:, :8] = 9
    names = ("as it is", "black padding, half of all pixels")
    job = iter_robustness(
        tiny_model,
        em.image[:1],
        truth,
        CPU,
        degradations=tuple(BY_NAME[name] for name in names),
        truth_kind="membranes",
        ignore=9,
    )
    same, padded = (row["v_rand"] for row in drain(job))
    assert padded == pytest.approx(same, abs=0.02)


def test_pixel_sizes_need_a_model_that_knows_its_own(tiny_model, em):
    lost = with_card(tiny_model, pixel_size=None)
    job = iter_robustness(
        lost,
        em.image[:1],
        em.cells[:1],
        CPU,
        degradations=(BY_NAME["pixels twice as large, told"],),
    )
    with pytest.raises(ValueError, match="tiny does not"):
        drain(job)


def test_command_refuses_stacks_that_differ(tmp_path, em, tiny_file):
    import tifffile

    tifffile.imwrite(tmp_path / "a.tif", em.image)
    tifffile.imwrite(tmp_path / "b.tif", em.cells[:2])
    given = ["robustness", tmp_path / "a.tif", tmp_path / "b.tif", "--model", tiny_file]
    result = CliRunner().invoke(app, list(map(str, given)))
    assert result.exit_code == 1
    assert "must have the same shape" in " ".join(result.stderr.split())


def test_command_names_the_rows_that_it_leaves_out(tmp_path, em, tiny_model):
    import tifffile

    with_card(tiny_model, pixel_size=None).save(tmp_path / "m.safetensors")
    tifffile.imwrite(tmp_path / "a.tif", em.image[:1, :16, :16])
    tifffile.imwrite(tmp_path / "b.tif", np.full((1, 16, 16), 7, np.uint8))
    given = ["robustness", tmp_path / "a.tif", tmp_path / "b.tif", "--truth-kind"]
    given += ["labels", "--ignore", 7, "--model", tmp_path / "m.safetensors"]
    result = CliRunner().invoke(app, list(map(str, given)))
    said = " ".join(result.stderr.split())
    assert "left out, because tiny does not know its pixel size" in said
    assert "pixels twice as large, told" in said


def test_command_turns_by_the_angles_that_are_given(tmp_path, em, tiny_file):
    import tifffile

    tifffile.imwrite(tmp_path / "a.tif", em.image[:1])
    tifffile.imwrite(tmp_path / "b.tif", em.cells[:1])
    given = ["robustness", tmp_path / "a.tif", tmp_path / "b.tif", "--model", tiny_file]
    given += ["--turn", 12.5, "--turn", -180, "--truth-kind", "labels", "--json"]
    result = CliRunner().invoke(app, list(map(str, given)))
    rows = json.loads(result.stdout)
    names = ["as it is", "turned by 12.5°", "turned by -180°"]
    assert [row["change"] for row in rows] == names
    assert rows[2]["v_rand"] == pytest.approx(rows[0]["v_rand"], abs=1e-3)


def test_angles_are_finite():
    with pytest.raises(ValueError, match="must be finite, got nan"):
        turned_by(math.nan)


@pytest.mark.parametrize("degrees", [0, 37, 90])
def test_what_a_turned_image_does_not_show_is_not_scored(degrees):
    truth = np.random.default_rng(0).random((2, 60, 50)) > 0.5
    copy = TurnedCopy(math.radians(degrees), mirrored=False)
    known, ignore = _where_shown(truth, None, copy)
    assert known.shape == truth.shape
    if degrees % 90 == 0:
        assert ignore is None
        assert known is truth
        return
    left_out = known == ignore
    assert left_out[:, 0].all()
    assert not left_out[:, 4:-4, 4:-4].any()
    assert (known[~left_out] == truth[~left_out]).all()
