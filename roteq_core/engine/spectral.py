"""Convolution of small tiles by way of their Fourier transform, as matrix products.

A k×k convolution of tiles of T×T pixels gives V×V, V = T - k + 1, and becomes one small
matrix product per frequency. With tiles of about 32 pixels the transforms themselves
are best done as products with cosine and sine tables: any T will do, only the V pixels
that are wanted are computed, and layouts can be chosen so that nothing is transposed.
For a 9×9 bank of 20 to 88 maps this needs seven times fewer multiplications than the
direct sum, and rounds less. Every step is linear, and its transpose is here too, for
the gradient. See docs/performance.md.

Layouts, all contiguous: tiles (T, T, t, M) are rows, columns, tiles, maps; spectra
(Q, 2, t, M) are frequencies, real and imaginary part, tiles, maps, where Q = T·(T//2+1)
counts frequencies along x within the non-negative ones along y.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class TileTransform:
    """The transforms of T×T tiles under a k×k kernel, as tables.

    With H = T//2 + 1 frequencies along y. See `tile_transform`.
    """

    size: int
    valid: int
    rows: Tensor  # (2H, T): y → (frequency, part)
    columns: Tensor  # (2T, 2T): (part, x) → (frequency, part)
    back_columns: Tensor  # (2V, 2T): (frequency, part) → (part, x)
    back_rows: Tensor  # (V, 2H): (frequency, part) → y

    def spectra(self, tiles: Tensor) -> Tensor:
        """(S, S, t, M), S ≤ T and zero beyond → (Q, 2, t, M)."""
        side, _, count, maps = tiles.shape
        columns = self._columns(side)
        z = self.rows[:, :side] @ tiles.reshape(side, -1)
        z = _each(columns, z.reshape(-1, 2 * side, count * maps))
        return z.reshape(-1, 2, count, maps)

    def spectra_transposed(self, spectra: Tensor, side: int) -> Tensor:
        """(Q, 2, t, M) → (S, S, t, M): the transpose of `spectra`."""
        _, _, count, maps = spectra.shape
        z = spectra.reshape(-1, 2 * self.size, count * maps)
        z = _each(self._columns(side).T, z).reshape(len(self.rows), -1)
        return (self.rows[:, :side].T @ z).reshape(side, side, count, maps)

    def tiles(self, spectra: Tensor) -> Tensor:
        """(Q, 2, t, N) → the V×V valid pixels (V, V, t, N)."""
        _, _, count, maps = spectra.shape
        z = spectra.reshape(-1, 2 * self.size, count * maps)
        z = _each(self.back_columns, z).reshape(len(self.rows), -1)
        return (self.back_rows @ z).reshape(self.valid, self.valid, count, maps)

    def tiles_transposed(self, tiles: Tensor) -> Tensor:
        """(V, V, t, N) → (Q, 2, t, N): the transpose of `tiles`."""
        _, _, count, maps = tiles.shape
        z = self.back_rows.T @ tiles.reshape(self.valid, -1)
        z = _each(self.back_columns.T, z.reshape(-1, 2 * self.valid, count * maps))
        return z.reshape(-1, 2, count, maps)

    def _columns(self, side: int) -> Tensor:
        """The column table for tiles that are zero beyond `side`."""
        if side == self.size:
            return self.columns
        parts = self.columns.view(-1, 2, self.size)
        return parts[..., :side].flatten(1)


def _each(table: Tensor, batch: Tensor) -> Tensor:
    """Multiply each of (B, n, m) by the same table."""
    return torch.bmm(table.expand(len(batch), -1, -1), batch)


@functools.lru_cache(maxsize=64)
def tile_transform(valid: int, kernel_size: int, dtype: torch.dtype) -> TileTransform:
    """Make the tables for V×V results of a k×k kernel, on the CPU."""
    size = valid + kernel_size - 1
    half = size // 2 + 1
    place = torch.arange(size, dtype=torch.float64)
    phase = place[:, None] * place * (2 * math.pi / size)  # (frequency, place)
    cos, sin = phase.cos(), phase.sin()
    rows = torch.stack([cos[:half], -sin[:half]], 1).flatten(0, 1)
    real = torch.cat([cos, sin], 1)
    imaginary = torch.cat([-sin, cos], 1)
    columns = torch.stack([real, imaginary], 1).flatten(0, 1)
    # Frequencies between zero and the last stand for their mirror images too.
    weight = torch.full((half,), 2.0, dtype=torch.float64)
    weight[0] = 1
    if size % 2 == 0:
        weight[-1] = 1
    keep = slice(valid)
    back_real = torch.stack([cos[keep], -sin[keep]], 2).flatten(1)
    back_imaginary = torch.stack([sin[keep], cos[keep]], 2).flatten(1)
    back_columns = torch.cat([back_real, back_imaginary])
    back_rows = torch.stack([cos[keep, :half], -sin[keep, :half]], 2)
    back_rows = (back_rows * weight[:, None]).flatten(1)
    tables = (rows, columns, back_columns / size, back_rows / size)
    return TileTransform(size, valid, *(t.to(dtype).contiguous() for t in tables))


def bank_spectra(transform: TileTransform, bank: Tensor) -> Tensor:
    """Filters (N, M, k, k) → (Q, 2M, N), for `multiply`."""
    return transform.spectra(bank.permute(2, 3, 1, 0).contiguous()).flatten(1, 2)


def bank_spectra_transposed(
    transform: TileTransform, spectra: Tensor, kernel_size: int
) -> Tensor:
    """(Q, 2M, N) → filters (N, M, k, k): the transpose of `bank_spectra`."""
    spectra = spectra.unflatten(1, (2, -1))
    return transform.spectra_transposed(spectra, kernel_size).permute(3, 2, 0, 1)


def pair(spectra: Tensor) -> Tensor:
    """(Q, 2, t, M) → (Q, 2t, 2M): complex numbers as rows [re, im] and [im, -re].

    Such rows times columns [re; im] of a bank give the real and imaginary parts of
    tile times conjugate filter, which is correlation.
    """
    real, imaginary = spectra.unbind(1)
    paired = spectra.new_empty(*spectra.shape[:3], 2, spectra.shape[3])
    paired[:, 0, :, 0], paired[:, 0, :, 1] = real, imaginary
    paired[:, 1, :, 0] = imaginary
    torch.neg(real, out=paired[:, 1, :, 1])
    return paired.flatten(3).flatten(1, 2)


def pair_transposed(paired: Tensor) -> Tensor:
    """(Q, 2t, 2M) → (Q, 2, t, M): the transpose of `pair`."""
    parts = paired.unflatten(2, (2, -1)).unflatten(1, (2, -1))  # (Q, 2, t, 2, M)
    real = parts[:, 0, :, 0] - parts[:, 1, :, 1]
    imaginary = parts[:, 0, :, 1] + parts[:, 1, :, 0]
    return torch.stack([real, imaginary], 1)


def multiply(paired: Tensor, bank: Tensor) -> Tensor:
    """Tiles (Q, 2t, 2M) by filters (Q, 2M, N) → (Q, 2, t, N)."""
    product = torch.bmm(paired, bank)
    return product.view(len(bank), 2, -1, bank.shape[2])


def operations(valid: int, kernel_size: int, maps: int, filters: int) -> int:
    """Count multiplications for one tile: transforms both ways, and the product."""
    size = valid + kernel_size - 1
    half = size // 2 + 1
    there = 2 * half * size * (size + 2 * size) * maps
    product = 4 * half * size * maps * filters
    back = 2 * half * valid * (2 * size + valid) * filters
    return there + product + back


def bank_operations(valid: int, kernel_size: int, maps: int, filters: int) -> int:
    """Count multiplications for the spectra of a bank."""
    size = valid + kernel_size - 1
    half = size // 2 + 1
    return 2 * half * kernel_size * (kernel_size + 2 * size) * maps * filters
