from __future__ import annotations

import pytest
import torch

from roteq_core.net_config import MembraneNetConfig, TurningConfig
from roteq_core.networks import build_network, count_parameters, set_orientations


@pytest.mark.parametrize(("width", "expected"), [(1, 6_830), (2, 27_009), (3, 60_540)])
def test_weights_are_as_many_as_the_paper_has(width, expected):
    network = build_network(MembraneNetConfig(width=width))
    assert count_parameters(network) == expected
    # Counted from the table: 6644 N² + 105 N; norms, biases and directions are few.
    table = 6644 * width**2 + 105 * width
    assert 0 < count_parameters(network) - table < 0.02 * table


def test_orientations_of_a_trained_network_can_be_changed(tiny_model):
    network = tiny_model.networks[0]
    image = torch.randn(1, 1, 16, 16)
    with torch.no_grad():
        coarse = network(image).scores
        set_orientations(network, 16)
        fine = network(image).scores
    assert not torch.equal(coarse, fine)
    torch.testing.assert_close(coarse, fine, atol=1.0, rtol=0.5)


def test_unknown_config_is_refused():
    with pytest.raises(ValueError, match="must be a network config, got TurningConfig"):
        build_network(TurningConfig())
