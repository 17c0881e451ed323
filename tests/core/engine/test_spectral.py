import pytest
import torch
import torch.nn.functional as F

from roteq_core.engine import spectral as sp


def conv(tiles, bank):
    """`conv2d` on tiles laid out as (T, T, t, M)."""
    return F.conv2d(tiles.permute(2, 3, 0, 1), bank).permute(2, 3, 0, 1)


@pytest.fixture(params=[(6, 3), (7, 4), (8, 9), (13, 5)], ids=str)
def case(request):
    valid, kernel = request.param
    generator = torch.Generator().manual_seed(valid)
    transform = sp.tile_transform(valid, kernel, torch.float64)
    tiles = torch.randn(transform.size, transform.size, 3, 2, generator=generator)
    bank = torch.randn(5, 2, kernel, kernel, generator=generator)
    return transform, tiles.double(), bank.double()


def test_spectra_are_those_of_torch(case):
    transform, tiles, _ = case
    found = transform.spectra(tiles)
    expected = torch.fft.rfft2(tiles.permute(2, 3, 1, 0))  # half along y
    expected = torch.view_as_real(expected.permute(3, 2, 0, 1)).movedim(-1, 2)
    torch.testing.assert_close(found, expected.flatten(0, 1))


def test_multiplied_spectra_are_a_convolution(case):
    transform, tiles, bank = case
    paired = sp.pair(transform.spectra(tiles))
    found = transform.tiles(sp.multiply(paired, sp.bank_spectra(transform, bank)))
    torch.testing.assert_close(found, conv(tiles, bank))


def test_transposed_steps_give_the_gradients(case):
    transform, tiles, bank = case
    tiles.requires_grad_()
    bank.requires_grad_()
    result = conv(tiles, bank)
    grad = torch.randn_like(result)
    expected = torch.autograd.grad(result, (tiles, bank), grad)
    with torch.no_grad():
        paired = sp.pair(transform.spectra(tiles))
        to_product = transform.tiles_transposed(grad).flatten(1, 2)
        to_paired = to_product @ sp.bank_spectra(transform, bank).transpose(1, 2)
        to_spectra = sp.pair_transposed(to_paired)
        to_tiles = transform.spectra_transposed(to_spectra, transform.size)
        to_bank = sp.bank_spectra_transposed(
            transform, paired.transpose(1, 2) @ to_product, bank.shape[-1]
        )
    torch.testing.assert_close((to_tiles, to_bank), expected)


def test_a_wide_bank_rounds_less_than_a_direct_convolution():
    generator = torch.Generator().manual_seed(0)
    transform = sp.tile_transform(24, 9, torch.float32)
    tiles = torch.randn(32, 32, 2, 20, generator=generator)
    bank = torch.randn(16, 20, 9, 9, generator=generator)
    exact = conv(tiles.double(), bank.double())
    paired = sp.pair(transform.spectra(tiles))
    found = transform.tiles(sp.multiply(paired, sp.bank_spectra(transform, bank)))
    assert (found - exact).abs().max() < 4e-6 * exact.std()


def test_large_tiles_cost_less_than_a_direct_convolution():
    by_spectra = sp.operations(24, 9, maps=20, filters=88)
    assert by_spectra < 24 * 24 * 20 * 88 * 81 / 6
