import numpy as np
import pytest

from napari_roteq import _images
from napari_roteq._field import store as _field_store
from napari_roteq._field.store import FieldStore, strong_length
from roteq_core.fields.layers import field_layers
from roteq_core.fields.placed import LayerField
from roteq_core.net_config import MembraneNetConfig

LAYER = field_layers(MembraneNetConfig(width=1))[1]  # two filters, stride 2


@pytest.fixture
def found():
    field = np.random.default_rng(0).normal(size=(2, 2, 8, 10)).astype(np.float32)
    return LayerField(field, (0, 1), (0.5, 0.5), (2.0, 2.0))


@pytest.mark.parametrize("is_large", [False, True])
def test_fields_come_back_in_memory_and_on_disk(found, is_large, monkeypatch):
    if is_large:
        monkeypatch.setattr(_images, "_LARGE", 0)
    store = FieldStore((3,), LAYER)
    assert not store.has((1,), 0)
    store.put((1,), found)
    assert store.has((1,), 1)
    assert not store.has((0,), 1)
    field = store.field((1,), 1)
    assert field.shape == (2, 8, 10)
    np.testing.assert_array_equal(
        field[:, slice(2, 8, 2), slice(1, 5)], found.field[1, :, 2:8:2, 1:5]
    )
    assert type(store._array).__module__.startswith("zarr") == is_large
    assert (store.first, store.step) == (found.first, found.step)


def test_all_filters_are_computed_unless_they_are_too_large(monkeypatch):
    store = FieldStore((), LAYER)
    assert store.wanted((64, 64), 1) == (0, 1)
    monkeypatch.setattr(_field_store, "_AT_ONCE", 1000)
    assert store.wanted((64, 64), 1) == (1,)


def test_strong_vectors_are_no_outliers():
    field = np.zeros((2, 100, 100), np.float32)
    assert strong_length(field) == 1.0
    field[0] = 2.0
    field[0, 0, 0] = 1e6
    field[1, 1, 1] = np.nan
    assert strong_length(field) == pytest.approx(2.0)
