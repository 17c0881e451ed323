import numpy as np
import pytest
from napari.components import ViewerModel

from napari_roteq._detail import Thinned
from napari_roteq._layers import field_layer, tag
from napari_roteq._vector_drawing import draw_vectors


@pytest.fixture
def viewer():
    return ViewerModel()


@pytest.fixture
def image(viewer):
    return viewer.add_image(np.zeros((20, 20)))


def vectors(image, count, *, color_by="direction", **options):
    positions = np.random.default_rng(count).uniform(0, 20, (count, 2))
    thinned = Thinned(positions, np.ones((count, 2)), 4.0)
    place = {"scale": (1, 1), "translate": (0, 0), "rotate": np.eye(2), "shear": (0,)}
    return field_layer(
        thinned,
        name="field",
        color_by=color_by,
        metadata=tag("field", image, {}),
        **{**place, "affine": np.eye(3), "length": 1.0, **options},
    )


def test_layer_is_reused_and_redrawn(viewer, image):
    first = draw_vectors(viewer, vectors(image, 5))
    again = draw_vectors(viewer, vectors(image, 9, length=2.0))
    assert again is first
    assert len(first.data) == len(first.features) == 9
    assert first.length == 2.0


def test_only_what_differs_is_changed(viewer, image):
    layer = draw_vectors(viewer, vectors(image, 5))
    heard = []
    for name in ("scale", "translate", "edge_width", "length", "edge_color"):
        emitter = getattr(layer.events, name)
        emitter.connect(lambda event, name=name: heard.append(name))
    draw_vectors(viewer, vectors(image, 5))
    assert set(heard) <= {"edge_color"}


def test_colors_of_the_user_stay_until_they_are_to_say_something_else(viewer, image):
    layer = draw_vectors(viewer, vectors(image, 5))
    layer.edge_color = "red"
    draw_vectors(viewer, vectors(image, 6))
    assert layer.edge_color_mode == "direct"
    draw_vectors(viewer, vectors(image, 6, color_by="strength"))
    assert layer.edge_color_mode == "colormap"
    assert layer.edge_colormap.name == "roteq amounts"


def test_colors_come_with_the_first_vectors(viewer, image):
    layer = draw_vectors(viewer, vectors(image, 0))
    assert not len(layer.data)
    draw_vectors(viewer, vectors(image, 4))
    assert layer.edge_color_mode == "colormap"
    assert len(np.unique(layer.edge_color, axis=0)) == 1  # all point the same way


def test_layer_moves_with_its_image(viewer, image):
    layer = draw_vectors(viewer, vectors(image, 5))
    draw_vectors(viewer, vectors(image, 5, translate=(3, 4)))
    np.testing.assert_allclose(layer.translate, (3, 4))
    assert len(viewer.layers) == 2
