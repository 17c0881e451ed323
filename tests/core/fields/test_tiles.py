from __future__ import annotations

import numpy as np
import pytest

from roteq_core.fields.layers import field_layers
from roteq_core.fields.tiles import count_outputs, plan_outputs
from roteq_core.net_config import CAR_NETS, MembraneNetConfig

LAYERS = [
    *((layer, 8) for layer in field_layers(MembraneNetConfig())),
    *((layer, 2) for layer in field_layers(CAR_NETS["wide"])),
]


@pytest.mark.parametrize(("layer", "stride"), LAYERS, ids=lambda x: str(x)[:30])
@pytest.mark.parametrize("tile", [16, 100, 1000])
def test_spans_keep_each_vector_once_and_read_what_it_needs(layer, stride, tile):
    length = 240
    spans = plan_outputs(length, layer, tile=tile, stride=stride)
    kept = np.concatenate([np.arange(s.start, s.stop) for s in spans])
    np.testing.assert_array_equal(kept, np.arange(count_outputs(length, layer)))
    for span in spans:
        assert span.read_start % stride == span.read_stop % stride == 0
        assert 0 <= span.kept.start < span.kept.stop
        first = layer.stride * span.start + layer.offset - layer.reach
        last = layer.stride * (span.stop - 1) + layer.offset + layer.reach
        assert span.read_start <= max(0, first)
        assert span.read_stop > min(length - 1, last)


def test_length_must_be_padded_first():
    layer, stride = LAYERS[0]
    with pytest.raises(ValueError, match="must be a multiple of 8, got 241"):
        plan_outputs(241, layer, tile=64, stride=stride)
