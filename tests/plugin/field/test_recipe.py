import numpy as np
from napari.layers import Image

from napari_roteq._field.recipe import make_recipe
from napari_roteq._images import Area
from napari_roteq._segment.source import Work, source_of
from napari_roteq._session import ModelChoice
from roteq_core.config import FieldOptions


def test_recipe_names_plane_part_and_filter(membrane_model):
    image = Image(np.zeros((4, 5, 30, 30)))
    source = source_of(image, area=Area(1, 2, 20, 30))
    work = Work("visible area", source, ((2, 3),), (2, 3))
    model = ModelChoice("tiny", membrane_model)
    options = FieldOptions(layer="mix", pixel_size_nm=8.0, inverted=True)
    recipe = make_recipe("em.tif", work, options, model, 7)
    assert recipe.as_cli() == (
        "roteq field em.tif --output em_field.tif --filter 7 --layer mix "
        "--pixel-size 8.0 --inverted --plane 13 --area 1,2,20,30"
    )
    lines = recipe.as_python()
    assert "filters=(7,)" in lines
    assert "plane=13, area=(1, 2, 20, 30)" in lines
    assert len(recipe.model["hash"]) == 16


def test_coarse_levels_have_no_file(membrane_model):
    image = Image([np.zeros((30, 30)), np.zeros((15, 15))], multiscale=True)
    work = Work("current slice", source_of(image, 1), ((),), ())
    model = ModelChoice("tiny", membrane_model)
    assert make_recipe("em.tif", work, FieldOptions(), model, 0).input is None
