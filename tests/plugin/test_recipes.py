import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from napari_roteq._recipes import Call, Recipe
from roteq_core.jobs import Report


@dataclass(frozen=True)
class Config:
    tile: int = 512
    rotations: tuple[int, ...] = ()
    names: list[str] = field(default_factory=list)
    hidden: int = field(default=0, init=False)


def test_the_command_line_is_quoted():
    recipe = Recipe("a:b", input="my image.tif", cli=("segment", "my image.tif"))
    assert recipe.as_cli() == "roteq segment 'my image.tif'"
    assert shlex.split(recipe.as_cli())[-1] == "my image.tif"


def test_a_job_without_a_command_line_form_says_so():
    with pytest.raises(ValueError, match="a:b must have a command line form"):
        Recipe("a:b", input="x.tif").as_cli()


@pytest.mark.parametrize("form", [Recipe.as_cli, Recipe.as_python])
def test_an_image_without_a_file_has_to_be_saved_first(form):
    with pytest.raises(ValueError, match="save the layer"):
        form(Recipe("a:b", cli=("x",)))


def run_python(text):
    names = {}
    exec(text, names)
    return names["result"]


def test_the_python_lines_run_and_give_the_result(tmp_path):
    file = tmp_path / "it's.npy"
    np.save(file, np.arange(4))
    read = Call("numpy:load", (str(file),), {"allow_pickle": False})
    recipe = Recipe("numpy:sum", (read,), {}, input=str(file), is_generator=False)
    assert run_python(recipe.as_python()) == 6


def test_jobs_are_drained():
    recipe = Recipe("roteq_core.jobs:Report", (1, 2), input="x.tif")
    lines = recipe.as_python().splitlines()
    assert lines[0] == "from roteq_core.jobs import Report"
    assert lines[1] == "from roteq_core.jobs import drain"
    assert lines[-1] == "result = drain(Report(1, 2))"


@pytest.mark.parametrize(
    "value",
    [(), (1,), (1, "two"), [0.1, None], {"a": (True,)}, -1.5, Report(1, 2, "x")],
)
def test_values_are_spelled_as_python_reads_them(value):
    recipe = Recipe("builtins:repr", (value,), input="x", is_generator=False)
    assert run_python(recipe.as_python()) == repr(value)


def test_configs_are_spelled_with_what_was_changed():
    recipe = Recipe("a:b", (Config(tile=64),), {"config": Config()}, input="x.tif")
    assert "b(Config(tile=64), config=Config())" in recipe.as_python()


def test_a_recipe_is_plain_enough_for_json():
    recipe = Recipe(
        "a:b",
        (Config(), Call("c:d", (Path("x.tif"),)), np.float32(0.5)),
        {"area": (1, 2)},
        model={"name": "membranes", "sha256": "ab"},
    )
    plain = recipe.as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["args"][1]["function"] == "c:d"
    assert plain["args"][2] == 0.5
    assert plain["version"]


def test_arrays_are_refused():
    with pytest.raises(ValueError, match="plain values, got ndarray"):
        Recipe("a:b", (np.zeros(3),)).as_dict()
