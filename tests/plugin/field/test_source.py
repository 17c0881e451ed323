import numpy as np
import pytest
from napari.layers import Image

from napari_roteq._field.source import reader, wants_colors
from napari_roteq._images import Area
from napari_roteq._segment.source import source_of
from napari_roteq._session import ModelChoice


def model(task, maps):
    return ModelChoice("m", "m", {"task": task, "networks": [{"in_maps": maps}]})


@pytest.mark.parametrize(
    ("task", "maps", "expected"),
    [("cars", 3, True), ("cars", 1, False), ("membranes", 3, False)],
)
def test_models_of_cars_may_look_at_colors(task, maps, expected):
    assert wants_colors(model(task, maps)) is expected


def test_colors_are_read_where_they_are_wanted():
    picture = np.random.default_rng(0).integers(0, 255, (20, 30, 3), dtype=np.uint8)
    source = source_of(Image(picture, rgb=True), area=Area(2, 3, 12, 18))
    plane, normalization = reader(source, model("cars", 3), inverted=True)(())
    np.testing.assert_array_equal(plane, picture[2:12, 3:18])
    assert normalization.inverted
    gray, _ = reader(source, model("cars", 1), inverted=False)(())
    assert gray.shape == (10, 15)
