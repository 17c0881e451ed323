from __future__ import annotations

import pytest
import torch

from roteq_core.model import load_model, make_model
from roteq_core.net_config import MembraneNetConfig, net_config_to_dict
from roteq_core.networks import build_network, count_parameters
from roteq_core.networks.baselines import (
    PlainNet,
    PlainNetConfig,
    UNet,
    UNetConfig,
    any_config_from_dict,
    build_any,
)


def test_plain_network_has_ten_times_the_weights():
    ours = count_parameters(build_network(MembraneNetConfig(width=2)))
    plain = count_parameters(PlainNet(PlainNetConfig()))
    assert plain / ours == pytest.approx(10, rel=0.05)


def test_unet_has_31_million_weights():
    directions = 2 * 64 + 2
    assert count_parameters(UNet(UNetConfig())) == 31_030_723 + directions


@pytest.mark.parametrize("config", [PlainNetConfig(width=1), UNetConfig(width=1)])
def test_baselines_give_the_maps_of_the_membrane_network(config):
    maps = build_any(config)(torch.randn(2, 1, 32, 48))
    assert maps.scores.shape == (2, 3, 32, 48)
    assert maps.direction.shape == (2, 2, 32, 48)


@pytest.mark.parametrize("config", [PlainNetConfig(width=1), UNetConfig(width=1)])
def test_reach_of_baselines_is_not_too_small(config):
    network = build_any(config).eval()
    image = torch.randn(1, 1, 320, 320)
    changed = image.clone()
    changed[0, 0, 163, 163] += 1000
    with torch.no_grad():
        moved = (network(changed).scores != network(image).scores).any(1)[0]
    places = moved.nonzero() - 163
    assert 0 < places.abs().max() <= network.reach


def test_networks_of_the_paper_are_built_too(tiny_config):
    assert type(build_any(tiny_config)) is type(build_network(tiny_config))


@pytest.mark.parametrize("config", [PlainNetConfig(width=2), UNetConfig(width=1)])
def test_baselines_come_back_from_their_file(config, tmp_path):
    path = tmp_path / "plain.safetensors"
    settings = {"baseline": True}
    made = make_model(
        [build_any(config)], name="p", task="membranes", settings=settings
    )
    made.save(path)
    loaded = load_model(path, task="membranes")
    assert loaded.networks[0].config == config
    assert loaded.card.is_baseline


def test_configs_of_the_paper_are_read_too(tiny_config):
    assert any_config_from_dict(net_config_to_dict(tiny_config)) == tiny_config
