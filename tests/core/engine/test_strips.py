import pytest
import torch
import torch.nn.functional as F

from roteq_core.engine.spectral_strips import SpectralConv, tile_side
from roteq_core.engine.strips import DirectConv


def make(kind, maps, bank, padding, stride=1):
    if kind == "direct":
        return DirectConv(maps, bank, padding, stride)
    return SpectralConv(maps, bank, padding, valid=9)


def run(conv, budget):
    """All coefficients as (B, N, H', W')."""
    result = torch.full((3, 4, 1, *conv.size), torch.nan, dtype=torch.float64)
    for strip in conv.strips(budget):
        conv.place(result, strip, (conv.coefficients(strip).flatten(),))
    return result[:, :, 0]


@pytest.fixture
def tensors():
    generator = torch.Generator().manual_seed(1)
    maps = torch.randn(3, 2, 21, 26, generator=generator, dtype=torch.float64)
    bank = torch.randn(4, 2, 5, 5, generator=generator, dtype=torch.float64)
    return maps, bank


# One row at a time, some rows, one image, some images, everything.
@pytest.mark.parametrize("budget", [1, 150, 600, 1800, 10**6])
@pytest.mark.parametrize("padding", [0, 2, 3])
@pytest.mark.parametrize("kind", ["direct", "spectral"])
def test_strips_put_together_are_the_convolution(tensors, kind, padding, budget):
    maps, bank = tensors
    found = run(make(kind, maps, bank, padding), budget)
    torch.testing.assert_close(found, F.conv2d(maps, bank, padding=padding))


@pytest.mark.parametrize("kind", ["direct", "spectral"])
def test_strips_may_lie_in_the_padding_alone(tensors, kind):
    maps, bank = (t.requires_grad_() for t in tensors)
    expected = F.conv2d(maps, bank, padding=30)
    grad = torch.randn_like(expected)
    with torch.no_grad():
        conv = make(kind, maps, bank, 30)
        torch.testing.assert_close(run(conv, 1), expected)
        conv.want_gradients(True, True)
        for strip in conv.strips(1):
            (rows,) = conv.take(grad.unsqueeze(2), strip)
            conv.add_gradient(strip, rows.view(-1, 4))
    wanted = torch.autograd.grad(expected, (maps, bank), grad)
    torch.testing.assert_close(conv.gradients(), wanted)


def test_direct_strips_may_step_over_the_image(tensors):
    maps, bank = tensors
    found = run(DirectConv(maps, bank, 12, 50), 1)
    torch.testing.assert_close(found, F.conv2d(maps, bank, padding=12, stride=50))


def test_direct_strips_may_have_a_stride(tensors):
    maps, bank = tensors
    found = run(DirectConv(maps, bank, 2, 3), 20)
    torch.testing.assert_close(found, F.conv2d(maps, bank, padding=2, stride=3))


@pytest.mark.parametrize("budget", [1, 150, 10**6])
@pytest.mark.parametrize("kind", ["direct", "spectral"])
def test_gradients_add_up_over_strips(tensors, kind, budget):
    maps, bank = (t.requires_grad_() for t in tensors)
    result = F.conv2d(maps, bank, padding=2)
    grad = torch.randn_like(result)
    expected = torch.autograd.grad(result, (maps, bank), grad)
    with torch.no_grad():
        conv = make(kind, maps, bank, 2)
        conv.want_gradients(True, True)
        for strip in conv.strips(budget):
            (rows,) = conv.take(grad.unsqueeze(2), strip)
            conv.add_gradient(strip, rows.view(-1, 4))
    torch.testing.assert_close(conv.gradients(), expected)


@pytest.mark.parametrize("kind", ["direct", "spectral"])
def test_unwanted_gradients_are_not_made(tensors, kind):
    maps, bank = tensors
    conv = make(kind, maps, bank, 2)
    conv.want_gradients(False, False)
    strip = next(conv.strips(10**6))
    conv.add_gradient(strip, torch.ones_like(conv.coefficients(strip)))
    assert conv.gradients() == (None, None)


def test_the_noise_of_spectra_is_bounded_where_the_image_is_empty():
    generator = torch.Generator().manual_seed(2)
    maps = torch.randn(1, 20, 60, 60, generator=generator)
    maps[..., 20:40] = 0
    bank = torch.randn(8, 20, 9, 9, generator=generator)
    conv = SpectralConv(maps, bank, 4, valid=30)
    (strip,) = conv.strips(10**6)
    found = conv.coefficients(strip)
    result = torch.empty(1, 8, 2, 60, 60)
    conv.place(result, strip, (found.flatten(), conv.noise(8)))
    result, noise = result.unbind(2)
    empty = result[..., 24:36]
    assert empty.any()  # rounding is really there
    assert (empty.abs() < noise[..., 24:36] / 2).all()
    assert noise.max() < 1e-5 * found.std()


def test_spectra_are_chosen_for_many_maps_and_large_kernels_only():
    maps, bank = torch.zeros(1, 20, 256, 256), torch.zeros(88, 20, 9, 9)
    assert tile_side(maps, bank, 4, training=True) in range(8, 41)
    for few in (bank[:, :, :3, :3], bank[:, :, :1, :1], bank[:2]):
        assert tile_side(maps, few, 0, training=True) is None
    assert tile_side(maps[..., :12, :12], bank, 0, training=True) is None
