from __future__ import annotations

import pytest
import torch

from roteq_core.config import FieldOptions
from roteq_core.fields.layers import field_layers, find_layer, input_stride
from roteq_core.fields.maps import layer_field
from roteq_core.fields.tiles import count_outputs
from roteq_core.layers import RotConv
from roteq_core.net_config import (
    CAR_NETS,
    CarFinderNetConfig,
    DigitNetConfig,
    MembraneNetConfig,
    PatchNetConfig,
    net_config_to_dict,
)
from roteq_core.networks import build_network
from roteq_core.networks.baselines import PlainNetConfig

CONFIGS = {
    "membranes": MembraneNetConfig(width=1, kernel_size=5),
    "cars wide": CAR_NETS["wide"],
    "cars 9k": CAR_NETS["9k"],
    "car-finder": CarFinderNetConfig(filters=(2, 3, 2), hidden=4),
    "digits": DigitNetConfig(filters=(2, 3, 4), hidden=4),
    "patches": PatchNetConfig(filters=(2, 3, 4), kernel_size=5),
}


@pytest.fixture(params=CONFIGS)
def config(request):
    return CONFIGS[request.param]


def test_every_rotating_layer_is_listed_as_it_is(config):
    network = build_network(config)
    modules = {n: m for n, m in network.named_modules() if isinstance(m, RotConv)}
    layers = field_layers(config)
    assert [layer.name for layer in layers] == list(modules)
    for layer in layers:
        module = modules[layer.name]
        shape = (layer.filters, layer.in_maps, layer.parts)
        assert module.weight.shape[:3] == shape
        assert module.kernel_size == layer.kernel_size
        assert module.orientations == layer.orientations


def test_fields_have_the_size_and_lie_where_the_list_says(config):
    """A bright pixel must be felt symmetrically about itself."""
    torch.manual_seed(0)
    network = build_network(config).eval()
    side = 96
    stride = input_stride(config)
    for layer in field_layers(config):
        count = count_outputs(side, layer)
        image = torch.zeros(1, getattr(config, "in_maps", 1), side, side)
        with torch.inference_mode():
            flat = layer_field(network, layer.name, image)
            assert flat.shape == (1, layer.filters, 2, count, count)
            # In the middle of a period of the stride, where nothing is one-sided.
            middle = side // 2
            image[..., middle - stride : middle + stride, :] = 5.0
            felt = layer_field(network, layer.name, image)
        moved = (felt - flat).abs().amax((0, 1, 2, 4)) > 1e-4  # by rows
        rows = torch.nonzero(moved)[:, 0]
        places = layer.stride * rows + layer.offset
        assert (places.min() + places.max()) / 2 == pytest.approx(
            middle - 0.5, abs=layer.stride / 2
        )
        assert places.max() - middle <= layer.reach + stride


def test_lists_are_read_from_cards_too(config):
    assert field_layers(net_config_to_dict(config)) == field_layers(config)


def test_plain_networks_have_no_fields():
    assert field_layers(net_config_to_dict(PlainNetConfig())) == ()
    with pytest.raises(ValueError, match="a model with rotating filters is needed"):
        find_layer((), "")


def test_layer_is_found_by_name():
    layers = field_layers(MembraneNetConfig())
    assert find_layer(layers, "").name == "last"
    assert find_layer(layers, "blocks.2").stride == 4
    with pytest.raises(ValueError, match=r"layer must be one of .*, got 'conv1'"):
        find_layer(layers, "conv1")


def test_a_layer_says_what_it_is():
    first, second, *_ = field_layers(MembraneNetConfig())
    assert first.about == "Block 1 · 2 filters"
    assert second.about == "Block 2 · 4 filters · 1:2"
    *_, heading = field_layers(CAR_NETS["9k"])
    assert heading.about == "Heading · 1 filter · 1:2"


def test_options_outside_their_limits_are_refused():
    with pytest.raises(ValueError, match="tile"):
        FieldOptions(tile=1)
