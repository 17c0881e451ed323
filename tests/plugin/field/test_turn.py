import numpy as np
from napari.components import ViewerModel
from napari.layers import Image

from napari_roteq._field.turn import Crop, cars_in, middle_of, turn_recipe
from napari_roteq._images import Area
from napari_roteq._segment.source import source_of
from napari_roteq._session import ModelChoice
from roteq_core.config import FieldOptions


def test_middle_of_a_large_area_is_taken():
    assert middle_of(Area(0, 0, 100, 50), 60) == Area(20, 0, 80, 50)
    assert middle_of(Area(5, 6, 15, 26), 60) == Area(5, 6, 15, 26)


def test_cars_of_the_topmost_layer_in_the_area_count():
    viewer = ViewerModel()
    image = viewer.add_image(np.zeros((100, 100)))
    viewer.add_points([[50, 60], [5, 5]])
    box = np.array([[40, 50], [40, 80], [50, 80], [50, 50]])
    shapes = viewer.add_shapes([box], shape_type="rectangle")
    area = Area(30, 40, 90, 90)
    np.testing.assert_allclose(
        cars_in(viewer, image, (), area, 36.0), [[25.0, 15.0, 30.0]]
    )
    shapes.visible = False
    np.testing.assert_allclose(
        cars_in(viewer, image, (), area, 36.0), [[20.0, 20.0, 36.0]]
    )
    viewer.layers.clear()
    assert cars_in(viewer, image, (), area, 36.0) is None


def test_recipe_names_the_crop_and_its_cars(membrane_model):
    image = Image(np.zeros((3, 30, 30)))
    source = source_of(image, area=Area(1, 2, 20, 30))
    crop = Crop(source, (2,), np.array([[3.0, 4.0, 36.0]]))
    model = ModelChoice("tiny", membrane_model)
    recipe = turn_recipe("scene.png", crop, FieldOptions(), model)
    assert "cars=[[3.0, 4.0, 36.0]]" in recipe.as_python()
    assert recipe.kwargs["plane"] == 2
    assert recipe.kwargs["area"] == (1, 2, 20, 30)
