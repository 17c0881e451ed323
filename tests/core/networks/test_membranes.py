from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch

from roteq_core.net_config import MembraneNetConfig
from roteq_core.networks import build_network, membranes as membrane_net
from roteq_core.networks.membranes import AxialHead


def reaches(network, size):
    """Find how far, in pixels, maps change when one pixel of the image does."""
    image = torch.randn(1, 1, size, size, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        before = torch.cat(network(image), 1)
        found = 0
        for offset in (0, 3, 7):  # other places within a cell of the coarsest level
            at = size // 2 + offset
            changed = image.clone()
            changed[0, 0, at, at] += 100
            moved = (torch.cat(network(changed), 1) != before).any(1)[0]
            rows, columns = moved.nonzero(as_tuple=True)
            ends = torch.stack([rows - at, columns - at]).abs().max()
            found = max(found, int(ends))
    return found


def test_output_depends_on_pixels_within_the_reach_and_not_beyond(tiny_model):
    network = tiny_model.networks[0]
    found = reaches(network, 128)
    assert network.reach - 8 <= found <= network.reach


@pytest.mark.parametrize("skip", ["full", "pooled"])
def test_maps_have_the_size_of_the_image(tiny_config, skip):
    config = MembraneNetConfig(**{**vars(tiny_config), "skip": skip, "in_maps": 2})
    maps = build_network(config)(torch.randn(2, 2, 24, 40))
    assert maps.scores.shape == (2, 3, 24, 40)
    assert maps.direction.shape == (2, 2, 24, 40)


def test_fields_of_every_layer_are_there_for_study(tiny_model):
    fields = tiny_model.networks[0].fields(torch.randn(1, 1, 32, 32))
    shapes = {name: tuple(field.shape[1:]) for name, field in fields.items()}
    assert shapes == {
        "block1": (1, 2, 32, 32),
        "block2": (2, 2, 16, 16),
        "block3": (3, 2, 8, 8),
        "block4": (4, 2, 4, 4),
        "mix": (5, 2, 32, 32),
        "last": (4, 2, 32, 32),
    }


def test_sides_off_the_stride_are_refused_with_advice(tiny_model):
    with pytest.raises(ValueError, match=re.escape("got (33, 32); roteq_core.predict")):
        tiny_model.networks[0](torch.randn(1, 1, 33, 32))


def test_axial_head_turns_twice_as_fast_as_its_input():
    torch.manual_seed(0)
    head = AxialHead(3).double()
    z = torch.randn(1, 3, 2, 4, 4, dtype=torch.float64)
    angle = 0.7
    u, v = z.unbind(2)
    cos, sin = torch.cos(torch.tensor(angle)), torch.sin(torch.tensor(angle))
    turned = torch.stack([cos * u - sin * v, sin * u + cos * v], 2)
    before = torch.complex(*head(z).unbind(1))
    after = torch.complex(*head(turned).unbind(1))
    twice = torch.polar(torch.ones(1).double(), torch.tensor([2 * angle]).double())
    torch.testing.assert_close(after, before * twice, atol=1e-6, rtol=1e-5)


def test_gradients_are_finite_on_a_blank_image(tiny_config):
    network = build_network(tiny_config)
    maps = network(torch.zeros(1, 1, 16, 16))
    (maps.scores.square().sum() + maps.direction.square().sum()).backward()
    for name, value in network.named_parameters():
        assert value.grad is None or value.grad.isfinite().all(), name


@pytest.mark.parametrize("skip", ["full", "pooled"])
@pytest.mark.parametrize("band", [2**18, 300])
@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (slice(0, 48), slice(0, 64)),  # all of it
        (slice(8, 41), slice(3, 40)),
        (slice(0, 1), slice(63, 64)),
    ],
)
def test_a_window_gives_what_the_whole_gives_there(
    tiny_config, monkeypatch, skip, band, rows, columns
):
    monkeypatch.setattr(membrane_net, "BAND", band)
    torch.manual_seed(0)
    network = build_network(replace(tiny_config, skip=skip)).eval()
    image = torch.randn(2, 1, 48, 64)
    with torch.no_grad():
        network.direct.weight.mul_(100)  # first directions are faint
        whole, part = network(image), network.window(image, rows, columns)
    for name in ("scores", "direction"):
        expected = getattr(whole, name)[..., rows, columns]
        torch.testing.assert_close(getattr(part, name), expected, atol=1e-5, rtol=1e-5)


def test_a_window_never_takes_more_than_a_band_to_full_size(tiny_model, monkeypatch):
    monkeypatch.setattr(membrane_net, "BAND", 1024)
    network = tiny_model.networks[0]
    pixels = []
    network.last.register_forward_pre_hook(
        lambda _layer, given: pixels.append(given[0].shape[-2] * given[0].shape[-1])
    )
    with torch.no_grad():
        network.window(torch.randn(1, 1, 128, 64), slice(0, 128), slice(0, 64))
    half = network.config.kernel_size // 2
    assert len(pixels) == 8
    assert max(pixels) <= 1024 + 2 * half * 64
