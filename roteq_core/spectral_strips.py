"""Convolution in strips of tiles, by way of their spectra.

See `roteq_core.spectral` for the transforms. Here images are cut into overlapping
tiles, the valid parts of the results are laid side by side, and gradients of
overlapping tiles are added up.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from roteq_core import spectral as sp
from roteq_core.strips import Strip, StripConv

# A direct convolution does its multiplications so many times faster, alone and with
# its gradients (docs/performance.md).
DIRECT_ADVANTAGE = 3.0
DIRECT_ADVANTAGE_TRAINING = 1.7
TILE_SIDES = range(8, 41)


class SpectralConv(StripConv):
    """Strips of tiles through their spectra: stride 1, on a CPU.

    Parameters
    ----------
    maps : Tensor of shape (B, M, H, W)
    bank : Tensor of shape (N, M, k, k)
    padding : int
        As in `conv2d`.
    valid : int
        Side V of the results of a tile, at least k - 1.
    """

    def __init__(self, maps: Tensor, bank: Tensor, padding: int, valid: int):
        self._kernel, self._padding, self._valid = bank.shape[-1], padding, valid
        self._transform = sp.tile_transform(valid, self._kernel, maps.dtype)
        self._sides = maps.shape[-2:]
        sides = [n + 2 * padding - self._kernel + 1 for n in self._sides]
        self.size = torch.Size(sides)
        self._grid = [-(-n // valid) for n in sides]
        self.images, self.rows = len(maps), self._grid[0]
        self.row_pixels = self._grid[1] * valid**2
        # Zeros on the far sides fill the last tiles.
        down, right = (g * valid - n for g, n in zip(self._grid, sides, strict=True))
        padded = F.pad(maps, [padding, padding + right, padding, padding + down])
        self._padded = padded.contiguous(memory_format=torch.channels_last)
        self._bank = sp.bank_spectra(self._transform, bank)
        self._bank_sizes = bank.flatten(1).norm(dim=1)  # (N,)
        energy = F.avg_pool2d(
            padded.square().sum(1, keepdim=True), self._transform.size, valid
        )
        self._tile_sizes = energy[:, 0].sqrt() * self._transform.size  # (B, rows, …)
        self._to_padded: Tensor | None = None
        self._to_bank: Tensor | None = None

    def coefficients(self, strip: Strip) -> Tensor:
        """See `StripConv`."""
        paired = sp.pair(self._transform.spectra(self._gather(strip)))
        out = self._transform.tiles(sp.multiply(paired, self._bank))
        return out.flatten(0, 2)

    def noise(self, strip: Strip, filters: int) -> Tensor:
        """Half an epsilon of the most that a tile and a filter could give."""
        sizes = self._tile_sizes[strip.images, strip.rows].reshape(-1, 1)  # (t, 1)
        bound: Tensor = sizes * self._bank_sizes.view(filters, -1).norm(dim=1)
        bound *= torch.finfo(bound.dtype).eps / 2
        return bound.expand(self._valid**2, -1, -1).flatten()

    def new_result(self, filters: int, parts: int) -> Tensor:
        """See `StripConv`."""
        sides = [n * self._valid for n in self._grid]
        return self._bank.new_empty(self.images, filters, parts, *sides)

    def fit(self, result: Tensor) -> Tensor:
        """See `StripConv`."""
        down, right = (
            g * self._valid - n for g, n in zip(self._grid, self.size, strict=True)
        )
        return F.pad(result, [0, right, 0, down]) if down or right else result

    def window(self, result: Tensor, strip: Strip) -> Tensor:
        """See `StripConv`."""
        tiled = result.unflatten(4, (-1, self._valid)).unflatten(3, (-1, self._valid))
        window: Tensor = tiled[
            strip.images, :, :, strip.rows
        ]  # (b, F, parts, r, V, c, V)
        return window.permute(2, 4, 6, 0, 3, 5, 1)

    def want_gradients(self, of_maps: bool, of_bank: bool) -> None:
        """See `StripConv`."""
        self._to_padded = torch.zeros_like(self._padded) if of_maps else None
        self._to_bank = torch.zeros_like(self._bank) if of_bank else None

    def add_gradient(self, strip: Strip, coefficients: Tensor) -> None:
        """See `StripConv`."""
        valid, maps = self._valid, coefficients.shape[-1]
        tiles = coefficients.view(valid, valid, -1, maps)
        to_product = self._transform.tiles_transposed(tiles).flatten(1, 2)
        if self._to_bank is not None:
            paired = sp.pair(self._transform.spectra(self._gather(strip)))
            self._to_bank.baddbmm_(paired.transpose(1, 2), to_product)
        if self._to_padded is not None:
            to_paired = torch.bmm(to_product, self._bank.transpose(1, 2))
            to_tiles = self._transform.spectra_transposed(
                sp.pair_transposed(to_paired), self._transform.size
            )
            self._scatter(strip, to_tiles)

    def gradients(self) -> tuple[Tensor | None, Tensor | None]:
        """See `StripConv`."""
        to_maps = to_bank = None
        if self._to_padded is not None:
            (height, width), p = self._sides, self._padding
            to_maps = self._to_padded[..., p : p + height, p : p + width]
        if self._to_bank is not None:
            to_bank = sp.bank_spectra_transposed(
                self._transform, self._to_bank, self._kernel
            )
        return to_maps, to_bank

    def _gather(self, strip: Strip) -> Tensor:
        """Overlapping tiles of a strip, (T, T, t, M)."""
        tiles = self._overlapping(self._padded, strip).permute(4, 5, 0, 2, 3, 1)
        size, maps = self._transform.size, tiles.shape[-1]
        return tiles.reshape(size, size, -1, maps)

    def _scatter(self, strip: Strip, tiles: Tensor) -> None:
        """Add tiles (T, T, t, M) up where they overlap.

        Every other tile of a row or column is clear of the next such one.
        """
        assert self._to_padded is not None
        whole = self._overlapping(self._to_padded, strip)  # (b, M, r, c, T, T)
        images, _, rows, columns = whole.shape[:4]
        tiles = tiles.unflatten(2, (images, rows, columns)).permute(2, 5, 3, 4, 0, 1)
        for y in range(min(2, rows)):
            for x in range(min(2, columns)):
                whole[:, :, y::2, x::2] += tiles[:, :, y::2, x::2]

    def _overlapping(self, padded: Tensor, strip: Strip) -> Tensor:
        """View as overlapping tiles, (b, M, rows, columns, T, T)."""
        size, valid = self._transform.size, self._valid
        tiles = padded[strip.images].unfold(2, size, valid).unfold(3, size, valid)
        return tiles[:, :, strip.rows]


def tile_side(
    maps: Tensor, bank: Tensor, padding: int, *, training: bool
) -> int | None:
    """Choose the side V of tiles, or None where a direct convolution is faster."""
    filters, depth, kernel = bank.shape[:3]
    height, width = (n + 2 * padding - kernel + 1 for n in maps.shape[-2:])
    sides = [v for v in TILE_SIDES if v >= kernel - 1]
    if kernel < 3 or not sides:
        return None

    def cost(valid: int) -> float:
        tiles = len(maps) * -(-height // valid) * -(-width // valid)
        once = sp.bank_operations(valid, kernel, depth, filters)
        return tiles * sp.operations(valid, kernel, depth, filters) + once

    best = min(sides, key=cost)
    advantage = DIRECT_ADVANTAGE_TRAINING if training else DIRECT_ADVANTAGE
    direct = len(maps) * height * width * filters * depth * kernel**2
    return best if advantage * cost(best) < direct else None
