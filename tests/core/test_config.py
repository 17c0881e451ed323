from __future__ import annotations

import json
from dataclasses import fields

import pytest

from roteq_core.config import (
    NET_CONFIGS,
    PAPER_TURNING,
    MembraneNetConfig,
    SegmentOptions,
    TrainConfig,
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
        (lambda: TrainConfig(steps=0), r"TrainConfig.steps must lie in \[1, "),
        (lambda: TrainConfig(device="tpu"), "TrainConfig.device must be one of"),
        (lambda: SegmentOptions(threshold=1.5), r"threshold must lie in \[0.0, 1.0\]"),
        (lambda: SegmentOptions(tile=4), r"tile must lie in \[16, 16384\], got 4"),
        (lambda: SegmentOptions(pixel_size_nm=0), "pixel_size_nm must lie in"),
        (lambda: TurningConfig(orientations=0), "orientations must lie in"),
        (lambda: TurningConfig(basis="cubic"), "basis must be one of"),
        (lambda: MembraneNetConfig(kernel_size=8), "kernel_size must be odd, got 8"),
    ],
)
def test_values_beyond_their_limits_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("config", [TrainConfig, SegmentOptions])
def test_every_option_has_a_label_for_forms(config):
    assert all(item.metadata["label"] for item in fields(config))
