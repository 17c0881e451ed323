"""Convolution in strips of tiles, by way of their spectra.

See `roteq_core.engine.spectral` for the transforms. Here strips are cut into
overlapping tiles, the valid parts of the results are laid side by side, and gradients
of overlapping tiles are added up.
"""

from __future__ import annotations

import torch
from torch import Tensor

from roteq_core.engine import spectral as sp
from roteq_core.engine.strips import Strip, StripConv

# A direct convolution does its multiplications so many times faster, alone and with
# its gradients (docs/performance.md).
DIRECT_ADVANTAGE = 3.0
DIRECT_ADVANTAGE_TRAINING = 1.7
TILE_SIDES = range(8, 41)


class SpectralConv(StripConv):
    """Strips of tiles through their spectra: stride 1, on a CPU.

    Parameters
    ----------
    maps, bank, padding
        See `StripConv`.
    valid : int
        Side V of the results of a tile, at least k - 1.
    """

    def __init__(self, maps: Tensor, bank: Tensor, padding: int, valid: int):
        super().__init__(maps, bank, padding, side=valid)
        self._transform = sp.tile_transform(valid, self._kernel, maps.dtype)
        self._bank = sp.bank_spectra(self._transform, bank)
        self._bank_sizes = bank.flatten(1).norm(dim=1)  # (N,)
        self._tile_sizes: Tensor | None = None  # (t,)
        self._to_bank: Tensor | None = None

    def coefficients(self, strip: Strip) -> Tensor:
        """See `StripConv`."""
        tiles = self._tiles(strip)
        self._tile_sizes = tiles.square().sum((0, 1, 3)).sqrt()
        paired = sp.pair(self._transform.spectra(tiles))
        out = self._transform.tiles(sp.multiply(paired, self._bank))
        return out.flatten(0, 2)

    def noise(self, filters: int) -> Tensor:
        """Half an epsilon of the most that a tile and a filter can give."""
        assert self._tile_sizes is not None
        sizes: Tensor = self._bank_sizes.view(filters, -1).norm(dim=1)
        sizes = sizes * (torch.finfo(sizes.dtype).eps / 2)
        bound = self._tile_sizes[:, None] * sizes
        return bound.expand(self._side**2, *bound.shape).flatten()

    def _as_image(self, pixels: Tensor, strip: Strip) -> Tensor:
        images = strip.images.stop - strip.images.start
        rows = strip.rows.stop - strip.rows.start
        tiled = pixels.view(self._side, self._side, images, rows, self._grid[1], -1)
        image = tiled.permute(2, 5, 3, 0, 4, 1)  # (b, F, r, V, c, V)
        return image.reshape(images, image.shape[1], rows * self._side, -1)

    def _as_pixels(self, image: Tensor) -> Tensor:
        images, filters = image.shape[:2]
        tiled = image.reshape(
            images, filters, -1, self._side, self._grid[1], self._side
        )
        return tiled.permute(3, 5, 0, 2, 4, 1).reshape(-1)

    def want_gradients(self, of_maps: bool, of_bank: bool) -> None:
        """See `StripConv`."""
        super().want_gradients(of_maps, of_bank)
        self._to_bank = torch.zeros_like(self._bank) if of_bank else None

    def add_gradient(self, strip: Strip, coefficients: Tensor) -> None:
        """See `StripConv`."""
        tiles = coefficients.view(self._side, self._side, -1, coefficients.shape[-1])
        to_product = self._transform.tiles_transposed(tiles).flatten(1, 2)
        if self._to_bank is not None:
            paired = sp.pair(self._transform.spectra(self._tiles(strip)))
            self._to_bank.baddbmm_(paired.transpose(1, 2), to_product)
        if self._to_maps is not None:
            to_paired = torch.bmm(to_product, self._bank.transpose(1, 2))
            to_tiles = self._transform.spectra_transposed(
                sp.pair_transposed(to_paired), self._transform.size
            )
            self._add_to_source(strip, self._add_up(to_tiles, strip))

    def gradients(self) -> tuple[Tensor | None, Tensor | None]:
        """See `StripConv`."""
        if self._to_bank is None:
            return self._to_maps, None
        to_bank = sp.bank_spectra_transposed(
            self._transform, self._to_bank, self._kernel
        )
        return self._to_maps, to_bank

    def _tiles(self, strip: Strip) -> Tensor:
        """Overlapping tiles of a strip, (T, T, t, M)."""
        tiles = self._overlapping(self._source(strip)).permute(4, 5, 0, 2, 3, 1)
        return tiles.flatten(2, 4).contiguous()

    def _add_up(self, tiles: Tensor, strip: Strip) -> Tensor:
        """Lay tiles (T, T, t, M) back over each other, (b, M, h, w).

        Every other tile of a row or column is clear of the next such one.
        """
        size, _, _, maps = tiles.shape
        images = strip.images.stop - strip.images.start
        rows, columns = strip.rows.stop - strip.rows.start, self._grid[1]
        tiles = tiles.view(size, size, images, rows, columns, maps)
        tiles = tiles.permute(2, 5, 3, 4, 0, 1)  # (b, M, r, c, T, T)
        sides = [n * self._side + self._kernel - 1 for n in (rows, columns)]
        source = tiles.new_zeros(images, *sides, maps).permute(0, 3, 1, 2)
        whole = self._overlapping(source)
        for y in range(min(2, rows)):
            for x in range(min(2, columns)):
                whole[:, :, y::2, x::2] += tiles[:, :, y::2, x::2]
        return source

    def _overlapping(self, source: Tensor) -> Tensor:
        """View (b, M, h, w) as overlapping tiles, (b, M, rows, columns, T, T)."""
        size = self._transform.size
        return source.unfold(2, size, self._side).unfold(3, size, self._side)


def tile_side(
    maps: Tensor, bank: Tensor, padding: int, *, training: bool
) -> int | None:
    """Choose the side V of tiles, or None where a direct convolution is faster."""
    filters, depth, kernel = bank.shape[:3]
    height, width = (n + 2 * padding - kernel + 1 for n in maps.shape[-2:])
    sides = [v for v in TILE_SIDES if v >= kernel - 1]
    if kernel < 3 or not sides:
        return None

    def cost(valid: int) -> int:
        tiles = len(maps) * -(-height // valid) * -(-width // valid)
        once = sp.bank_operations(valid, kernel, depth, filters)
        return tiles * sp.operations(valid, kernel, depth, filters) + once

    best = min(sides, key=cost)
    advantage = DIRECT_ADVANTAGE_TRAINING if training else DIRECT_ADVANTAGE
    direct = len(maps) * height * width * filters * depth * kernel**2
    return best if advantage * cost(best) < direct else None
