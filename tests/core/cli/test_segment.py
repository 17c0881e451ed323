from __future__ import annotations

import numpy as np
import pytest
import tifffile
from typer.testing import CliRunner

from roteq_core.cli.main import app


@pytest.fixture
def stack_file(tmp_path, em):
    path = tmp_path / "stack.tif"
    tifffile.imwrite(path, em.image[:2, :32, :32])
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["segment", *map(str, arguments)])


def said(result):
    """Give what was printed for the person, without line ends."""
    return " ".join(result.stderr.split())


def test_stack_is_segmented_from_file_to_file(stack_file, tiny_file):
    output = stack_file.parent / "x.tif"
    result = run(
        stack_file, "-o", output, "--model", tiny_file, "--cells", "--direction"
    )
    assert result.exit_code == 0, result.output
    assert tifffile.imread(output).shape == (2, 32, 32)
    assert tifffile.imread(output.with_name("x_cells.tif")).dtype == np.int32
    direction = tifffile.imread(output.with_name("x_direction.tif"))
    assert direction.shape == (2, 2, 32, 32)
    assert said(result).count("wrote") == 3


def test_several_inputs_go_to_a_folder(stack_file, tiny_file, em):
    other = stack_file.parent / "second.ome.tif"
    tifffile.imwrite(other, em.image[0, :16, :16])
    slices = stack_file.parent / "slices"
    slices.mkdir()
    tifffile.imwrite(slices / "0.tif", em.image[0, :16, :16])
    output = stack_file.parent / "results"
    result = run(stack_file, other, slices, "-o", output, "--model", tiny_file)
    assert result.exit_code == 0, result.output
    names = sorted(path.name for path in output.iterdir())
    assert names == ["second.tif", "slices.tif", "stack.tif"]


def test_file_that_knows_its_pixels_gets_advice(tmp_path, tiny_file, em):
    path = tmp_path / "coarse.tif"
    per_cm = 1e7 / 8
    tifffile.imwrite(
        path,
        em.image[0, :16, :16],
        resolution=(per_cm, per_cm),
        resolutionunit="CENTIMETER",
    )
    result = run(path, "-o", tmp_path / "x.tif", "--model", tiny_file)
    assert "its pixels are 8 nm, the model was trained on 4 nm" in said(result)
    told = run(
        path, "-o", tmp_path / "x.tif", "--model", tiny_file, "--pixel-size", "8"
    )
    assert told.exit_code == 0
    assert "note" not in said(told)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{stack}", "{stack}", "-o", "{tmp}/x.tif"], "2 inputs need a folder"),
        (["{stack}", "-o", "{tmp}/x.png"], "output must be a .tif file or a folder"),
        (["{tmp}/none.tif", "-o", "{tmp}/x.tif"], "there is no file or folder"),
        (["{stack}", "-o", "{stack}"], "must not be the input itself"),
        (["{stack}", "-o", "{tmp}/x.tif", "--model", "nano"], "no model 'nano'"),
        (
            ["{stack}", "-o", "{tmp}/x.tif", "--tile", "3"],
            ": --tile must lie in [16",
        ),
        (["{stack}", "-o", "{tmp}/x.tif", "--device", "tpu"], "must be one of"),
        (["{stack}", "-o", "{tmp}/x.tif", "--tta", "0"], "error: --tta must lie in [1"),
        (["{stack}", "{tmp}/a/stack.tif", "-o", "{tmp}/out"], "different names"),
        (["{stack}", "-o", ""], "output must be a .tif file with a name, or a folder"),
        (["{stack}", "-o", " "], "a folder, got ' '"),
        (["{stack}", "-o", "{tmp}/o/.tif"], "a .tif file with a name, or a folder"),
        (["{stack}", "{stack}", "-o", "{tmp}/.TIFF/"], "a .tif file with a name"),
        (["{stack}", "-o", "{tmp}/x.y"], "a / at its end makes it a folder"),
        (["{stack}", "-o", "{stack}", "--plane", "0"], "must not be the input itself"),
        (
            ["{stack}", "{tmp}/stack_cells.tif", "-o", "{tmp}/out", "--cells"],
            "would hold the results of both",
        ),
        (
            ["{stack}", "{tmp}/out/stack_cells.tif", "-o", "{tmp}/out", "--cells"],
            "must not be the input itself",
        ),
    ],
)
def test_mistakes_are_said_in_a_sentence(stack_file, tiny_file, arguments, message):
    tmp = stack_file.parent
    (tmp / "a").mkdir()
    (tmp / "out").mkdir()
    for copy in ("a/stack.tif", "stack_cells.tif", "out/stack_cells.tif"):
        (tmp / copy).write_bytes(stack_file.read_bytes())
    filled = [a.format(stack=stack_file, tmp=tmp) for a in arguments]
    if "--model" not in filled:
        filled += ["--model", str(tiny_file)]
    result = run(*filled)
    assert result.exit_code == 1
    assert said(result).startswith("error: ")
    assert message in said(result)
    assert "Traceback" not in result.output
    assert not (tmp / "x.tif").exists()
    assert not (tmp / "o").exists()


def test_names_keep_their_dots_and_a_slash_makes_a_folder(stack_file, tiny_file):
    tmp = stack_file.parent
    for name in ("a.b.1.tif", "a.b.2.tif"):
        (tmp / name).write_bytes(stack_file.read_bytes())
    output = tmp / "run1.0"
    result = run(
        tmp / "a.b.1.tif", tmp / "a.b.2.tif", "-o", f"{output}/", "--model", tiny_file
    )
    assert result.exit_code == 0, result.output
    assert sorted(p.name for p in output.iterdir()) == ["a.b.1.tif", "a.b.2.tif"]


def test_stacks_of_a_folder_are_named(stack_file, tiny_file):
    folder = stack_file.parent / "both"
    folder.mkdir()
    for name in ("labels.tif", "volume.tif"):
        (folder / name).write_bytes(stack_file.read_bytes())
    result = run(folder, "-o", stack_file.parent / "x.tif", "--model", tiny_file)
    assert "2 stacks (labels.tif, volume.tif) as one of 4 slices" in said(result)


def test_white_stored_as_zero_is_told_of(tmp_path, tiny_file, em):
    path = tmp_path / "white.tif"
    tifffile.imwrite(path, em.image[0, :16, :16], photometric="miniswhite")
    result = run(path, "-o", tmp_path / "x.tif", "--model", tiny_file)
    assert result.exit_code == 0, result.output
    assert f"note: {path} is stored with white as zero" in said(result)


def test_halved_tile_is_told_once_and_kept(stack_file, tiny_file, monkeypatch):
    from roteq_core import predict

    fails = iter([True])
    run_tile = predict._run_tile

    def short_of_memory(*given):
        if next(fails, False):
            raise MemoryError
        return run_tile(*given)

    monkeypatch.setattr(predict, "_run_tile", short_of_memory)
    output = stack_file.parent / "x.tif"
    result = run(stack_file, "-o", output, "--model", tiny_file, "--tta", "2")
    assert result.exit_code == 0, result.output
    assert said(result).count("memory ran out; going on with tiles of 512") == 1


def test_an_area_of_a_stack_needs_its_plane(stack_file, tiny_file):
    output = stack_file.parent / "x.tif"
    given = stack_file, "-o", output, "--model", tiny_file, "--area", "0,0,16,16"
    result = run(*given)
    assert result.exit_code != 0
    assert f"--area needs --plane: {stack_file} has 2 planes" in said(result)
    assert run(*given, "--plane", 1).exit_code == 0
    assert tifffile.imread(output).shape == (16, 16)
