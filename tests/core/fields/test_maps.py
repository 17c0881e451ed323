from __future__ import annotations

import numpy as np
import pytest
import torch

from roteq_core.fields import maps as field_maps
from roteq_core.fields.layers import field_layers, find_layer
from roteq_core.fields.maps import iter_network_field, layer_field
from roteq_core.jobs import drain
from roteq_core.net_config import CAR_NETS, CarFinderNetConfig, MembraneNetConfig
from roteq_core.networks import build_network

TINY = MembraneNetConfig(width=1, kernel_size=3)


def make(config):
    torch.manual_seed(1)
    return build_network(config).eval()


@pytest.fixture(scope="module")
def image():
    return np.random.default_rng(0).normal(size=(1, 101, 122)).astype(np.float32)


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (TINY, "blocks.0"),
        (TINY, "blocks.3"),
        (TINY, "hidden"),
        (CAR_NETS["wide"], "blocks.1"),
        (CAR_NETS["9k"], "whole"),
        (CarFinderNetConfig(filters=(2, 3, 2), hidden=4), "point"),
    ],
)
def test_tiled_field_equals_the_whole_one(config, name, image):
    network = make(config)
    layer = find_layer(field_layers(config), name)
    filters = range(layer.filters)
    image = np.repeat(image, config.in_maps, 0)
    whole, first = drain(iter_network_field(network, layer, image, filters, tile=4096))
    tiled, again = drain(iter_network_field(network, layer, image, filters, tile=48))
    assert first == again
    # A near tie between orientations may fall the other way by rounding.
    gaps = np.abs(whole - tiled).max(axis=1)
    assert np.median(gaps) == pytest.approx(0, abs=1e-6)
    assert (gaps > 1e-4).mean() < 1e-3


def test_field_of_the_membrane_network_is_the_one_it_gives_itself():
    network = make(TINY)
    image = torch.randn(1, 1, 64, 64)
    with torch.inference_mode():
        mixed = network.fields(image)["mix"]
        caught = layer_field(network, "mix", image)
        assert torch.allclose(network.mix_norm(caught), mixed, atol=1e-6)


def test_layers_that_pool_otherwise_give_their_winners():
    network = make(TINY)
    image = torch.randn(1, 1, 64, 64)
    with torch.inference_mode():
        field = layer_field(network, "hidden", image)
        last = network.fields(image)["last"]
        strength = network.hidden(last)
    assert field.shape[2] == 2
    # Vectors are refined between orientations: a little longer than the best of R.
    assert torch.allclose(field.norm(dim=2), strength, atol=0.1, rtol=0.1)


def test_only_the_wanted_filters_are_kept(image):
    network = make(TINY)
    layer = find_layer(field_layers(TINY), "last")
    all_, _ = drain(iter_network_field(network, layer, image, range(4)))
    some, _ = drain(iter_network_field(network, layer, image, [3, 1]))
    np.testing.assert_array_equal(some, all_[[3, 1]])


def test_vectors_outside_the_image_are_left_out():
    network = make(TINY)
    layer = find_layer(field_layers(TINY), "blocks.3")
    image = np.ones((1, 41, 56), np.float32)  # padded by 7 rows: 3 above, 4 below
    field, first = drain(iter_network_field(network, layer, image, [0]))
    assert first == (0.5, 3.5)
    assert field.shape == (1, 2, 6, 7)


def test_no_hook_is_left_behind(image):
    network = make(TINY)
    layer_field(network, "mix", torch.zeros(1, 1, 32, 32))
    assert not any(module._forward_hooks for module in network.modules())


def test_only_rotating_layers_have_a_field():
    with pytest.raises(ValueError, match="must be a RotConv, got Conv2d"):
        layer_field(make(TINY), "classify", torch.zeros(1, 1, 32, 32))


def test_field_that_is_too_large_is_refused_before_work_begins(image, monkeypatch):
    monkeypatch.setattr(field_maps, "LARGEST_FIELD", 1000)
    layer = find_layer(field_layers(TINY), "last")
    with pytest.raises(ValueError, match="choose one filter, a part of the image"):
        drain(iter_network_field(make(TINY), layer, image, [0]))


def test_memory_running_out_halves_the_tile(image, monkeypatch):
    network = make(TINY)
    layer = find_layer(field_layers(TINY), "blocks.0")
    expected, _ = drain(iter_network_field(network, layer, image, [0]))
    catch = field_maps.layer_field

    def scarce(network, name, given):
        if given.shape[-1] > 100:
            raise MemoryError
        return catch(network, name, given)

    monkeypatch.setattr(field_maps, "layer_field", scarce)
    job = iter_network_field(network, layer, image, [0], tile=160)
    reports = []
    while True:
        try:
            reports.append(next(job))
        except StopIteration as end:
            found, _ = end.value
            break
    assert "memory ran out: tile 80" in [report.text for report in reports]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_image_too_small_for_a_layer_is_refused():
    config = CAR_NETS["wide"]
    layer = find_layer(field_layers(config), "whole")
    small = np.zeros((config.in_maps, 30, 60), np.float32)
    with pytest.raises(ValueError, match=f"must be at least {config.crop} pixels"):
        drain(iter_network_field(make(config), layer, small, [0]))


def test_images_need_their_channels():
    layer = find_layer(field_layers(TINY), "last")
    with pytest.raises(ValueError, match=r"must have shape \(C, H, W\)"):
        drain(iter_network_field(make(TINY), layer, np.zeros((32, 32)), [0]))
