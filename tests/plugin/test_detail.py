import numpy as np
import pytest

from napari_roteq import _detail
from napari_roteq._detail import View, thin_field, view_of
from napari_roteq._images import Area, planes_of


def noise(height, width, seed=0):
    return np.random.default_rng(seed).normal(size=(2, height, width))


@pytest.mark.parametrize("shape", [(700, 900), (1, 5), (33, 1000)])
@pytest.mark.parametrize("zoom", [0.1, 1.0, 30.0])
def test_at_most_the_limit_is_given(shape, zoom):
    view = View(Area(0, 0, *shape), zoom)
    assert 0 < len(thin_field(noise(*shape), view, limit=500).positions) <= 500


def test_each_square_gives_its_strongest_vector():
    field = np.zeros((2, 32, 32))
    field[:, 5, 9] = 3, 4
    field[:, 6, 9] = 1, 1
    thinned = thin_field(field)
    assert thinned.positions.tolist() == [[5, 9]]
    assert thinned.vectors.tolist() == [[3, 4]]
    assert thinned.strength.tolist() == [5]


def test_weak_vectors_stay_behind_the_gate():
    field = np.zeros((2, 64, 64))
    field[0, 3, 3], field[0, 40, 40] = 1.0, 2.0
    assert len(thin_field(field, gate=1.0).positions) == 1
    assert len(thin_field(field, gate=0.5).positions) == 2


def test_a_flat_field_gives_nothing():
    assert len(thin_field(np.zeros((2, 50, 50))).positions) == 0


def test_only_the_view_is_drawn_in_image_coordinates():
    field = noise(200, 300)
    area = Area(37, 101, 90, 222)
    thinned = thin_field(field, View(area, zoom=4))
    rows, columns = thinned.positions.T
    assert rows.min() >= 37
    assert rows.max() < 90
    assert columns.min() >= 101
    assert columns.max() < 222
    np.testing.assert_allclose(thinned.vectors, field[:, rows, columns].T, rtol=1e-6)


def test_every_pixel_is_drawn_when_zoomed_in():
    thinned = thin_field(noise(20, 20), View(Area(0, 0, 20, 20), zoom=40))
    assert thinned.spacing == 1
    assert len(thinned.positions) == 400


def test_panning_does_not_make_vectors_jump():
    field = noise(256, 256)
    here = thin_field(field, View(Area(0, 0, 128, 128), zoom=1))
    there = thin_field(field, View(Area(32, 48, 160, 176), zoom=1))
    inside = {tuple(p) for p in here.positions if p[0] >= 32 and p[1] >= 48}
    assert here.spacing == there.spacing == 16
    assert inside <= {tuple(p) for p in there.positions}


def test_wide_views_of_lazy_fields_are_sampled(monkeypatch):
    monkeypatch.setattr(_detail, "_LOOKED_AT", 1000)

    class Lazy:
        shape = (2, 400, 400)
        read = 0

        def __getitem__(self, key):
            part = np.ones((2, 400, 400))[key]
            self.read += part.size
            return part

    lazy = Lazy()
    thinned = thin_field(lazy, View(Area(0, 0, 400, 400), zoom=0.5), limit=300)
    assert len(thinned.positions) == 169
    assert lazy.read <= 2 * 4 * 1000


@pytest.mark.parametrize("scale", [(3, 3), (3, -3), (-3, 3), (-3, -3)])
def test_the_zoom_counts_screen_pixels_for_a_pixel(make_napari_viewer, scale):
    viewer = make_napari_viewer()
    layer = viewer.add_image(np.zeros((40, 60)), scale=scale)
    camera = viewer.scene.camera if hasattr(viewer, "scene") else viewer.camera
    camera.zoom = 2
    view = view_of(viewer, layer, planes_of(layer))
    assert view.zoom == pytest.approx(6)
    assert view.area == Area(0, 0, 40, 60)


def test_neighbors_are_as_far_apart_as_asked():
    field = np.ones((2, 64, 64), np.float32)
    view = View(Area(0, 0, 64, 64), zoom=2.0)
    assert thin_field(field, view, closest=4.0).spacing == 2
    assert thin_field(field, view, closest=30.0).spacing == 16
