from __future__ import annotations

import json

import pytest

from roteq_core.net_config import (
    NET_CONFIGS,
    PAPER_TURNING,
    MembraneNetConfig,
    TurningConfig,
    net_config_from_dict,
    net_config_to_dict,
)


@pytest.mark.parametrize("kind", NET_CONFIGS)
def test_network_configs_come_back_from_json(kind):
    config = NET_CONFIGS[kind]()
    text = json.dumps(net_config_to_dict(config))
    assert net_config_from_dict(json.loads(text)) == config


def test_changed_options_come_back_too():
    config = MembraneNetConfig(width=3, skip="pooled", turning=PAPER_TURNING)
    assert net_config_from_dict(net_config_to_dict(config)) == config


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "birds"}, "network kind must be one of .*got 'birds'"),
        ({}, "network kind must be one of .*got None"),
        ({"kind": "membranes", "depth": 3}, r"unknown options \['depth'\]"),
        ({"kind": "membranes", "width": 0}, r"width must lie in \[1, 16\], got 0"),
    ],
)
def test_foreign_networks_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        net_config_from_dict(values)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TurningConfig(orientations=0), "orientations must lie in"),
        (lambda: TurningConfig(basis="cubic"), "basis must be one of"),
        (lambda: MembraneNetConfig(kernel_size=8), "kernel_size must be odd, got 8"),
    ],
)
def test_values_beyond_their_limits_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
