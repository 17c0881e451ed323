from __future__ import annotations

import math
import weakref

import numpy as np
import pytest
import torch

from roteq_core.jobs import drain
from roteq_core.networks import build_network
from roteq_core.predict import OutOfMemory, is_out_of_memory, iter_predict_maps
from roteq_core.tasks.membranes import membrane_maps


def predict(model, image, maps=membrane_maps, **options):
    return drain(iter_predict_maps(model.networks[0], image, maps, **options))


def noise(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("size", [(64, 64), (101, 77), (130, 9), (1, 1)])
@pytest.mark.parametrize("tile", [24, 50])
def test_tiled_prediction_equals_whole(tiny_model, size, tile):
    image = noise(1, *size)
    whole = predict(tiny_model, image, tile=1024)
    tiled = predict(tiny_model, image, tile=tile)
    assert whole.shape == (3, *size)
    np.testing.assert_allclose(tiled, whole, atol=1e-5)


def test_a_halo_below_the_reach_would_be_seen(tiny_model, monkeypatch):
    image = noise(1, 96, 96)
    whole = predict(tiny_model, image, tile=1024)
    monkeypatch.setattr(type(tiny_model.networks[0]), "reach", 8)
    assert np.abs(predict(tiny_model, image, tile=24) - whole).max() > 1e-4


@pytest.mark.parametrize("quarters", [1, 2, 3])
@pytest.mark.parametrize("size", [(48, 32), (26, 42)])
def test_prediction_turns_with_an_image_of_even_sides(tiny_model, size, quarters):
    image = noise(1, *size)
    upright = predict(tiny_model, image, tile=24)
    turned = predict(tiny_model, np.rot90(image, quarters, (1, 2)).copy(), tile=24)
    probability, cos2, sin2 = np.rot90(upright, quarters, (1, 2))
    # An axis turned by a quarter has the opposite cos 2θ and sin 2θ.
    sign = math.cos(math.pi * quarters)
    expected = np.stack([probability, sign * cos2, sign * sin2])
    np.testing.assert_allclose(turned, expected, atol=1e-4)


def test_reports_count_the_tiles(tiny_model):
    job = iter_predict_maps(
        tiny_model.networks[0], noise(1, 48, 48), membrane_maps, tile=24
    )
    reports = list(job)
    assert [(r.done, r.total) for r in reports] == [(n, 4) for n in (1, 2, 3, 4)]


class Mean(torch.nn.Module):
    """A network that is quick: the mean over 3 × 3 pixels."""

    stride, reach = 8, 1

    def forward(self, image):
        return torch.nn.functional.avg_pool2d(image, 3, stride=1, padding=1)


def run_mean(network, image):
    return network(image)[0]


def failing_above(pixels):
    """Run the network, but fail as a GPU does on inputs of more pixels."""

    def maps(network, image):
        if image.shape[-1] * image.shape[-2] > pixels:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")
        return run_mean(network, image)

    return maps


def test_tile_is_halved_when_memory_runs_out():
    image = noise(1, 400, 80)
    whole = drain(iter_predict_maps(Mean(), image, run_mean, tile=1024))
    job = iter_predict_maps(Mean(), image, failing_above(12_000), tile=512)
    texts = []
    while True:
        try:
            texts.append(next(job).text)
        except StopIteration as end:
            np.testing.assert_allclose(end.value, whole, atol=1e-6)
            break
    assert texts[:2] == ["memory ran out: tile 256", "memory ran out: tile 128"]


def test_memory_that_runs_out_on_the_way_keeps_what_is_done():
    calls = []

    def maps(network, image):
        calls.append(image.shape)
        if len(calls) == 3:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return run_mean(network, image)

    image = noise(1, 256, 256)
    found = drain(iter_predict_maps(Mean(), image, maps, tile=128))
    whole = drain(iter_predict_maps(Mean(), image, run_mean))
    np.testing.assert_allclose(found, whole, atol=1e-6)
    # Two tiles of 128, one failure, then eight of 64 for the other half.
    assert len(calls) == 2 + 1 + 8


def test_what_failed_is_let_go_before_the_next_try():
    held = []

    class Large:
        pass

    def maps(network, image):
        if not held:
            large = Large()
            held.append(weakref.ref(large))
            raise MemoryError
        assert held[0]() is None
        return run_mean(network, image)

    drain(iter_predict_maps(Mean(), noise(1, 64, 64), maps))
    assert held


def test_smallest_tile_that_does_not_fit_says_what_to_do():
    job = iter_predict_maps(Mean(), noise(1, 64, 64), failing_above(0), tile=128)
    with pytest.raises(OutOfMemory, match="tiles of 64 pixels: close other programs"):
        drain(job)


def test_other_errors_of_torch_pass_through(tiny_model):
    def maps(network, image):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1"):
        predict(tiny_model, noise(1, 16, 16), maps)
    assert not is_out_of_memory(RuntimeError("mat1"))


def test_wrong_arguments_are_named(tiny_model):
    with pytest.raises(ValueError, match=r"shape \(C, H, W\), got \(8, 8\)"):
        predict(tiny_model, noise(8, 8))
    with pytest.raises(ValueError, match="at least 1 pixel, got 0"):
        predict(tiny_model, noise(1, 8, 8), tile=0)


def test_stopping_half_way_is_clean(tiny_model):
    job = iter_predict_maps(
        tiny_model.networks[0], noise(1, 48, 48), membrane_maps, tile=24
    )
    next(job)
    job.close()
    with pytest.raises(StopIteration):
        next(job)


def test_network_on_the_whole_image_gives_the_same(tiny_model, tiny_config):
    network = tiny_model.networks[0]
    assert type(network) is type(build_network(tiny_config))
    image = noise(1, 64, 64)
    with torch.inference_mode():
        direct = membrane_maps(network, torch.from_numpy(image)[None])
    np.testing.assert_allclose(predict(tiny_model, image), direct, atol=1e-6)
