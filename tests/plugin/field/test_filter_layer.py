import numpy as np
from napari.layers import Image, Layer

from napari_roteq._field.filter_layer import filter_layer
from napari_roteq._layers import METADATA
from napari_roteq._session import ModelChoice
from roteq_core.config import FieldOptions
from roteq_core.fields.filter_sheet import filter_sheet


def test_filters_lie_at_the_right_of_the_image_and_fit(membrane_model):
    image = Image(np.zeros((3, 40, 60)), scale=(50, 4, 4), translate=(0, 10, 20))
    turned = np.random.default_rng(0).normal(size=(2, 8, 1, 1, 5, 5))
    sheet = filter_sheet(turned.astype(np.float32))
    model = ModelChoice("tiny", membrane_model)
    options = FieldOptions(layer="blocks.0")
    layer = Layer.create(*filter_layer(image, sheet, options, model))
    assert layer.ndim == 2
    assert layer.name == "tiny blocks.0 filters"
    (top, left), (bottom, right) = layer.extent.world
    inside = image.extent.world[:, -2:]
    assert left > inside[1, 1]
    assert bottom - top <= np.ptp(inside[:, 0]) + 4
    assert right - left <= np.ptp(inside[:, 1]) + 4
    assert not np.isnan(layer.data).any()
    assert layer.metadata[METADATA]["rows"] == ["filter 0", "filter 1"]
    assert layer.contrast_limits == [-sheet.largest, sheet.largest]
