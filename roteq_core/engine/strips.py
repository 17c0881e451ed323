"""Convolution of large images in strips, whose results are used at once.

A strip is padded, convolved, used and forgotten, so that neither the maps of a whole
image nor a padded copy of it ever exist; gradients are taken strip by strip too.
`DirectConv` does rows of pixels by `conv2d`; `roteq_core.engine.spectral_strips` does
rows of tiles by their spectra.
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

    Pixels of a strip come in an order of the convolution's own. A result holds some
    parts (u and v, or a magnitude) of each of F filters.

    Parameters
    ----------
    maps : Tensor of shape (B, M, H, W)
    bank : Tensor of shape (N, M, k, k)
    padding, stride : int
        As in `conv2d`.
    side : int
        Of the pixels or tiles that rows are made of.
    """

    def __init__(
        self, maps: Tensor, bank: Tensor, padding: int, stride: int = 1, side: int = 1
    ):
        self._maps, self._padding, self._stride = maps, padding, stride
        self._kernel, self._side = bank.shape[-1], side
        self._to_maps: Tensor | None = None
        sides = (n + 2 * padding - self._kernel for n in maps.shape[-2:])
        self.size = torch.Size(n // stride + 1 for n in sides)
        """Of the results, (H', W')."""
        self._grid = [-(-n // side) for n in self.size]

    def strips(self, budget: int) -> Iterator[Strip]:
        """Cut the work into strips of about `budget` pixels."""
        count, (height, width) = len(self._maps), self._grid
        row = width * self._side**2
        rows = max(1, min(height, budget // row))
        images = max(1, budget // (row * height)) if rows == height else 1
        for first in range(0, count, images):
            last = min(first + images, count)
            for top in range(0, height, rows):
                yield Strip(slice(first, last), slice(top, min(top + rows, height)))

    @abstractmethod
    def coefficients(self, strip: Strip) -> Tensor:
        """Convolve a strip: (pixels, N)."""

    @abstractmethod
    def noise(self, filters: int) -> Tensor | None:
        """Bound the rounding errors of the last strip by filter, (pixels · F,).

        None if they do not matter, since zeros stay exactly zero.
        """

    def place(self, result: Tensor, strip: Strip, parts: tuple[Tensor, ...]) -> None:
        """Put the parts of a strip, each (pixels · F,), into (B, F, parts, H', W')."""
        window = self._window(result, strip)
        height, width = window.shape[-2:]
        for number, part in enumerate(parts):
            image = self._as_image(part, strip)
            window[:, :, number] = image[..., :height, :width]

    def take(self, result: Tensor, strip: Strip) -> tuple[Tensor, ...]:
        """Get the parts of a strip, each (pixels · F,), from (B, F, parts, H', W')."""
        window = self._window(result, strip)
        height = (strip.rows.stop - strip.rows.start) * self._side
        width = self._grid[1] * self._side
        missing = [0, width - window.shape[-1], 0, height - window.shape[-2]]
        window = F.pad(window, missing) if any(missing) else window
        return tuple(self._as_pixels(part) for part in window.unbind(2))

    def _window(self, result: Tensor, strip: Strip) -> Tensor:
        rows = slice(strip.rows.start * self._side, strip.rows.stop * self._side)
        return result[strip.images, :, :, rows]

    @abstractmethod
    def _as_image(self, pixels: Tensor, strip: Strip) -> Tensor:
        """Order pixels (pixels · F,) as rows of an image, (b, F, h, w)."""

    @abstractmethod
    def _as_pixels(self, image: Tensor) -> Tensor:
        """Undo `_as_image`."""

    def want_gradients(self, of_maps: bool, of_bank: bool) -> None:
        """Make room for gradients, before the first `add_gradient`."""
        if of_maps:
            self._to_maps = torch.zeros_like(
                self._maps, memory_format=torch.channels_last
            )

    @abstractmethod
    def add_gradient(self, strip: Strip, coefficients: Tensor) -> None:
        """Take in the gradient (pixels, N) of a strip's coefficients."""

    @abstractmethod
    def gradients(self) -> tuple[Tensor | None, Tensor | None]:
        """Give the gradients of the maps and of the bank."""

    def _source(self, strip: Strip) -> Tensor:
        """What a strip reads, with zeros around the image, in `channels_last`."""
        (rows, above, below), (columns, left, right) = self._source_sides(strip)
        source = F.pad(
            self._maps[strip.images, :, rows, columns], [left, right, above, below]
        )
        return source.contiguous(memory_format=torch.channels_last)

    def _add_to_source(self, strip: Strip, grad: Tensor) -> None:
        """Add the gradient of what `_source` gave."""
        assert self._to_maps is not None
        (rows, above, _), (columns, left, _) = self._source_sides(strip)
        height, width = rows.stop - rows.start, columns.stop - columns.start
        grad = grad[..., above : above + height, left : left + width]
        self._to_maps[strip.images, :, rows, columns] += grad

    def _source_sides(self, strip: Strip) -> list[tuple[slice, int, int]]:
        """Rows and columns of the image that a strip reads, with zeros beside."""
        firsts, lasts = (strip.rows.start, 0), (strip.rows.stop, self._grid[1])
        sides = []
        for first, last, length in zip(
            firsts, lasts, self._maps.shape[-2:], strict=True
        ):
            start = first * self._side * self._stride - self._padding
            end = (last * self._side - 1) * self._stride + self._kernel - self._padding
            sides.append(_part_inside(start, end, length))
        return sides


def _part_inside(first: int, stop: int, length: int) -> tuple[slice, int, int]:
    """Which of [first, stop) lie within a side, and how many before and after it."""
    start = min(max(0, first), length)
    inside = slice(start, max(start, min(stop, length)))
    before = min(max(0, -first), stop - first)
    return inside, before, stop - first - before - (inside.stop - inside.start)


class DirectConv(StripConv):
    """Strips of rows through `conv2d` in `channels_last`."""

    def __init__(self, maps: Tensor, bank: Tensor, padding: int, stride: int = 1):
        super().__init__(maps, bank, padding, stride)
        self._bank = bank.contiguous(memory_format=torch.channels_last)
        self._to_bank: Tensor | None = None

    def coefficients(self, strip: Strip) -> Tensor:
        """See `StripConv`."""
        out = F.conv2d(self._source(strip), self._bank, stride=self._stride)
        # channels_last: the maps of a pixel lie side by side in memory already, but
        # not for images with one channel, where torch cannot tell the layout.
        return out.permute(0, 2, 3, 1).flatten(0, 2).contiguous()

    def noise(self, filters: int) -> None:
        """See `StripConv`."""

    def _as_image(self, pixels: Tensor, strip: Strip) -> Tensor:
        images = strip.images.stop - strip.images.start
        rows = strip.rows.stop - strip.rows.start
        return pixels.view(images, rows, self.size[1], -1).permute(0, 3, 1, 2)

    def _as_pixels(self, image: Tensor) -> Tensor:
        return image.permute(0, 2, 3, 1).reshape(-1)

    def want_gradients(self, of_maps: bool, of_bank: bool) -> None:
        """See `StripConv`."""
        super().want_gradients(of_maps, of_bank)
        self._to_bank = torch.zeros_like(self._bank) if of_bank else None

    def add_gradient(self, strip: Strip, coefficients: Tensor) -> None:
        """See `StripConv`."""
        to_source, to_bank, _ = torch.ops.aten.convolution_backward(
            self._as_image(coefficients, strip),
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
            self._add_to_source(strip, to_source)
        if self._to_bank is not None:
            self._to_bank += to_bank

    def gradients(self) -> tuple[Tensor | None, Tensor | None]:
        """See `StripConv`."""
        return self._to_maps, self._to_bank
