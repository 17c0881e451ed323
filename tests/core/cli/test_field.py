from __future__ import annotations

import numpy as np
import pytest
import tifffile
from typer.testing import CliRunner

from roteq_core.cli.main import app
from roteq_core.config import FieldOptions
from roteq_core.fields.compute import iter_field_part
from roteq_core.files.plane_writer import read_recipe
from roteq_core.jobs import drain


@pytest.fixture
def image(tmp_path):
    stack = np.random.default_rng(0).integers(0, 255, (2, 48, 64), dtype=np.uint8)
    tifffile.imwrite(tmp_path / "em.tif", stack, photometric="minisblack")
    return tmp_path / "em.tif"


def run(*arguments):
    return CliRunner().invoke(app, ["field", *map(str, arguments)])


def test_field_is_written_with_its_place(image, tiny_file, tmp_path):
    output = tmp_path / "field.tif"
    words = ["--model", tiny_file, "--layer", "blocks.1", "--filter", 1, "--filter", 0]
    result = run(image, "-o", output, *words, "--plane", 1, "--area", "0,8,48,56")
    assert result.exit_code == 0, result.output
    options = FieldOptions(model=str(tiny_file), layer="blocks.1")
    job = iter_field_part(image, options, plane=1, area=(0, 8, 48, 56), filters=(1, 0))
    expected = drain(job)
    np.testing.assert_array_equal(tifffile.imread(output), expected.field)
    recipe = read_recipe(output)
    assert tuple(recipe["first"]) == expected.first
    assert tuple(recipe["step"]) == (2.0, 2.0)
    assert recipe["filters"] == [1, 0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "field.png"], "output must be a .tif file"),
        (["-o", "em.tif"], "must not be the input itself"),
        (["-o", "f.tif", "--layer", "x"], "layer must be one of ['blocks.0',"),
        (["-o", "f.tif", "--area", "1,2"], "area must look like"),
    ],
)
def test_mistakes_are_said_in_a_sentence(
    image, tiny_file, words, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    result = run(image, "--model", tiny_file, *words)
    assert result.exit_code == 1
    assert message in " ".join(result.stderr.split())
