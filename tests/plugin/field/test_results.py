import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Image

from napari_roteq._detail import View
from napari_roteq._field.results import FieldResults, FieldStyle
from napari_roteq._images import Area
from napari_roteq._layers import METADATA
from napari_roteq._segment.source import Work, source_of
from napari_roteq._session import ModelChoice
from roteq_core.config import FieldOptions
from roteq_core.fields.layers import field_layers
from roteq_core.fields.placed import LayerField
from roteq_core.net_config import MembraneNetConfig

LAYER = field_layers(MembraneNetConfig(width=1))[2]  # stride 4
ALL = FieldStyle(spacing=1, gate=0.0)


@pytest.fixture
def image():
    return Image(np.zeros((2, 32, 40)), scale=(50, 4, 4), name="em")


@pytest.fixture
def results(image, membrane_model):
    work = Work("current slice", source_of(image), ((1,),), (1,))
    model = ModelChoice("tiny", membrane_model, {"task": "membranes"})
    options = FieldOptions(model=membrane_model, layer="blocks.2")
    results = FieldResults(image, work, options, model, LAYER)
    field = np.zeros((3, 2, 8, 10), np.float32)
    field[2, 0] = 1.0  # to the right
    field[2, :, 3, 4] = 0.0, 5.0  # down, longer than all others
    results.put((1,), LayerField(field, (0, 1, 2), (1.5, 1.5), (4.0, 4.0)))
    return results


def test_vectors_stand_at_their_pixels(results):
    drawing = results.choose((1,), 2, View(Area(0, 0, 32, 40)), ALL, 10_000)
    assert len(drawing.thinned.positions) == 80
    np.testing.assert_allclose(drawing.thinned.positions[0], (1.5, 1.5))
    assert drawing.thinned.spacing == 4.0


def test_only_what_is_in_view_is_drawn(results):
    view = View(Area(8, 8, 16, 24))
    places = results.choose((1,), 2, view, ALL, 10_000).thinned.positions
    assert places.min(0).tolist() == [9.5, 9.5]
    assert places.max(0).tolist() == [13.5, 21.5]
    outside = View(Area(32, 40, 50, 50))
    assert not len(results.choose((1,), 2, outside, ALL, 10_000).thinned.positions)


def test_at_most_so_many_vectors_are_drawn(results):
    drawing = results.choose((1,), 2, View(Area(0, 0, 32, 40)), ALL, 20)
    assert 0 < len(drawing.thinned.positions) <= 20


def test_outliers_are_drawn_no_longer_than_strong_ones(results):
    drawing = results.choose((1,), 2, View(Area(0, 0, 32, 40)), ALL, 10_000)
    assert drawing.thinned.strength.max() <= drawing.strong * (1 + 1e-6)


def test_weak_vectors_are_left_out(results):
    style = FieldStyle(spacing=1, gate=0.9)
    drawing = results.choose((1,), 2, View(Area(0, 0, 32, 40)), style, 10_000)
    assert drawing.thinned.positions.tolist() == [[13.5, 17.5]]


def test_layer_is_made_once_and_only_if_asked(results, image):
    viewer = ViewerModel()
    viewer.add_layer(image)
    drawing = results.choose((1,), 2, View(Area(0, 0, 32, 40)), ALL, 10_000)
    assert results.show(viewer, drawing, add=False) is None
    layer = results.show(viewer, drawing)
    assert results.show(viewer, drawing, add=False) is layer
    assert len(viewer.layers) == 2
    np.testing.assert_allclose(layer.scale, (50, 4, 4))
    assert layer.data[0, 0].tolist() == [1.0, 1.5, 1.5]
    recipe = layer.metadata[METADATA]
    assert recipe["kwargs"] == {"plane": 1, "filters": [2]}
    assert recipe["args"][1]["layer"] == "blocks.2"
    viewer.layers.remove(image)
    assert results.show(viewer, drawing) is None


def test_planes_belong_together_if_made_alike(results, image):
    work = Work("current slice", source_of(image), ((0,),), (0,))
    assert results.fits(image, work, results.options, results.model)
    other = FieldOptions(model=results.options.model, layer="last")
    assert not results.fits(image, work, other, results.model)
    area = Work("visible area", source_of(image, area=Area(0, 0, 9, 9)), ((0,),), (0,))
    assert not results.fits(image, area, results.options, results.model)


def test_area_has_vectors_of_its_own_plane_only(image, membrane_model):
    source = source_of(image, area=Area(8, 4, 24, 36))
    work = Work("visible area", source, ((1,),), (1,))
    model = ModelChoice("tiny", membrane_model)
    results = FieldResults(image, work, FieldOptions(), model, LAYER)
    field = np.ones((1, 2, 4, 8), np.float32)
    results.put((1,), LayerField(field, (0,), (1.5, 1.5), (4.0, 4.0)))
    assert results.has((1,), 0)
    assert not results.has((0,), 0)
    recipe = results.recipe(0, (1,))
    assert recipe.kwargs["area"] == (8, 4, 24, 36)
    viewer = ViewerModel()
    viewer.add_layer(image)
    drawing = results.choose((1,), 0, View(Area(0, 0, 16, 32)), ALL, 10_000)
    layer = results.show(viewer, drawing)
    np.testing.assert_allclose(layer.translate, (50, 32, 16))
