import shlex

import numpy as np
import pytest
from napari.components import ViewerModel

from napari_roteq._parts.model_choice import choose_model
from napari_roteq._segment.recipe import make_recipe
from napari_roteq._segment.source import plan_work
from roteq_core.config import SegmentOptions


@pytest.fixture
def recipe_of(membrane_model):
    viewer = ViewerModel()
    layer = viewer.add_image(np.zeros((2, 3, 8, 8)))
    viewer.dims.set_current_step((0, 1), (1, 2))

    def make(part, path="in/em.tif", **options):
        work = plan_work(viewer, layer, part)
        chosen = SegmentOptions(model=membrane_model, **options)
        return make_recipe(path, work, chosen, choose_model(membrane_model))

    return make


def test_whole_stack_is_the_plain_command(recipe_of, membrane_model):
    words = shlex.split(recipe_of("whole stack", cells=True, turns=4).as_cli())
    assert words == [
        *("roteq", "segment", "in/em.tif", "--output", "em_membranes.tif"),
        *("--model", membrane_model, "--tta", "4", "--cells"),
    ]


def test_slice_is_counted_through_all_axes(recipe_of):
    recipe = recipe_of("current slice")
    assert recipe.kwargs == {"plane": 5}
    assert recipe.as_cli().endswith("--plane 5")


def test_model_is_named_with_its_hash(recipe_of):
    assert set(recipe_of("whole stack").model) == {"name", "hash"}


def test_image_without_a_file_cannot_be_named(recipe_of):
    with pytest.raises(ValueError, match="opened from a file"):
        recipe_of("whole stack", path=None).as_cli()


def test_what_is_not_mended_is_said(recipe_of):
    words = recipe_of("whole stack", join=0.0, close=False).as_cli()
    assert words.endswith("--join 0.0 --no-close")
