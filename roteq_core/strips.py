"""Convolution of large images in strips, whose results are used at once.

A strip is convolved, used and forgotten, so that the maps of a whole image never exist;
gradients are taken strip by strip too. `DirectConv` does rows of pixels by `conv2d`;
`roteq_core.spectral_strips` does rows of tiles by their spectra.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Strip:
    """Some rows, of pixels or of tiles, of some images."""

    images: slice
    rows: slice


class StripConv(ABC):
    """A convolution that is done, and differentiated, strip by strip.

    Pixels of a strip come in an order of the convolution's own, which `place` and
    `take` know. A result holds some parts (u and v, or a magnitude) of each of F
    filters.
    """

    images: int
    rows: int  # of pixels or tiles
    row_pixels: int
    size: torch.Size  # of the results, (H', W')

    def strips(self, budget: int) -> Iterator[Strip]:
        """Cut the work into strips of about `budget` pixels."""
        rows = max(1, min(self.rows, budget // self.row_pixels))
        fits = budget // (self.row_pixels * self.rows)
        images = max(1, fits) if rows == self.rows else 1
        for first in range(0, self.images, images):
            last = min(first + images, self.images)
            for top in range(0, self.rows, rows):
                bottom = min(top + rows, self.rows)
                yield Strip(slice(first, last), slice(top, bottom))

    @abstractmethod
    def coefficients(self, strip: Strip) -> Tensor:
        """Convolve a strip: (pixels, N)."""

    @abstractmethod
    def noise(self, strip: Strip, filters: int) -> Tensor | None:
        """Bound the rounding errors of a strip by filter, (pixels · F,).

        None if they do not matter, since zeros stay exactly zero.
        """

    @abstractmethod
    def new_result(self, filters: int, parts: int) -> Tensor:
        """Make room for the results of all strips, (B, F, parts, ≥ H', ≥ W')."""

    @abstractmethod
    def fit(self, result: Tensor) -> Tensor:
        """Widen (B, F, parts, H', W') to the size that strips cover."""

    @abstractmethod
    def window(self, result: Tensor, strip: Strip) -> Tensor:
        """View what a strip covers: (parts, pixels in their order …, F)."""

    @abstractmethod
    def want_gradients(self, of_maps: bool, of_bank: bool) -> None:
        """Make room for gradients, before the first `add_gradient`."""

    @abstractmethod
    def add_gradient(self, strip: Strip, coefficients: Tensor) -> None:
        """Take in the gradient (pixels, N) of a strip's coefficients."""

    @abstractmethod
    def gradients(self) -> tuple[Tensor | None, Tensor | None]:
        """Give the gradients of the maps and of the bank."""

    def place(self, result: Tensor, strip: Strip, parts: tuple[Tensor, ...]) -> None:
        """Put the parts of a strip, each (pixels · F,), into the result."""
        for window, part in zip(self.window(result, strip), parts, strict=True):
            window.copy_(part.view(window.shape))

    def take(self, result: Tensor, strip: Strip) -> tuple[Tensor, ...]:
        """Get the parts of a strip, each (pixels · F,), from a fitted result."""
        return tuple(window.reshape(-1) for window in self.window(result, strip))

    def crop(self, result: Tensor) -> Tensor:
        """Cut a result to its size."""
        height, width = self.size
        return result[..., :height, :width].contiguous()


class DirectConv(StripConv):
    """Strips of rows through `conv2d` in `channels_last`.

    Parameters
    ----------
    maps : Tensor of shape (B, M, H, W)
    bank : Tensor of shape (N, M, k, k)
    padding, stride : int
        As in `conv2d`.
    """

    def __init__(self, maps: Tensor, bank: Tensor, padding: int, stride: int):
        self._padding, self._stride = padding, stride
        padded = F.pad(maps, [padding] * 4) if padding else maps
        self._padded = padded.contiguous(memory_format=torch.channels_last)
        self._bank = bank.contiguous(memory_format=torch.channels_last)
        self._reach = bank.shape[-1]
        sides = padded.shape[-2:]
        self.size = torch.Size((n - self._reach) // stride + 1 for n in sides)
        self.images, (self.rows, self.row_pixels) = len(maps), self.size
        self._to_maps: Tensor | None = None
        self._to_bank: Tensor | None = None

    def coefficients(self, strip: Strip) -> Tensor:
        """See `StripConv`."""
        out = F.conv2d(self._source(strip), self._bank, stride=self._stride)
        # channels_last: the maps of a pixel lie side by side in memory.
        return out.permute(0, 2, 3, 1).flatten(0, 2)

    def noise(self, strip: Strip, filters: int) -> None:
        """See `StripConv`."""

    def new_result(self, filters: int, parts: int) -> Tensor:
        """See `StripConv`."""
        return self._padded.new_empty(self.images, filters, parts, *self.size)

    def fit(self, result: Tensor) -> Tensor:
        """See `StripConv`."""
        return result

    def window(self, result: Tensor, strip: Strip) -> Tensor:
        """See `StripConv`."""
        window = result[strip.images, :, :, strip.rows]  # (b, F, parts, h, W)
        return window.permute(2, 0, 3, 4, 1)

    def want_gradients(self, of_maps: bool, of_bank: bool) -> None:
        """See `StripConv`."""
        self._to_maps = torch.zeros_like(self._padded) if of_maps else None
        self._to_bank = torch.zeros_like(self._bank) if of_bank else None

    def add_gradient(self, strip: Strip, coefficients: Tensor) -> None:
        """See `StripConv`."""
        rows = strip.rows.stop - strip.rows.start
        shape = (-1, rows, self.row_pixels, coefficients.shape[-1])
        to_maps, to_bank, _ = torch.ops.aten.convolution_backward(
            coefficients.view(shape).permute(0, 3, 1, 2),
            self._source(strip),
            self._bank,
            None,
            [self._stride] * 2,
            [0, 0],
            [1, 1],
            False,
            [0, 0],
            1,
            [self._to_maps is not None, self._to_bank is not None, False],
        )
        if self._to_maps is not None:
            self._to_maps[strip.images, :, self._source_rows(strip)] += to_maps
        if self._to_bank is not None:
            self._to_bank += to_bank

    def gradients(self) -> tuple[Tensor | None, Tensor | None]:
        """See `StripConv`."""
        to_maps, p = self._to_maps, self._padding
        if to_maps is not None and p:
            to_maps = to_maps[..., p:-p, p:-p]
        return to_maps, self._to_bank

    def _source(self, strip: Strip) -> Tensor:
        return self._padded[strip.images, :, self._source_rows(strip)]

    def _source_rows(self, strip: Strip) -> slice:
        start = strip.rows.start * self._stride
        return slice(start, (strip.rows.stop - 1) * self._stride + self._reach)
