"""Tiles: what to read, what to keep, where it goes. No torch.

A tile reads more than it keeps: a halo at least as wide as the network's reach, cut off
at the border of the image, where the network pads with zeros in any case. Origins are
multiples of the network's stride, so that pooling falls on the same pixels as it would
for the whole image. Then a tiled prediction equals the whole one, and nothing needs to
be blended.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """A range of pixels along one axis, stop excluded."""

    start: int
    stop: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.stop:
            raise ValueError(f"a span needs 0 <= start < stop, got {self}")

    @property
    def length(self) -> int:
        """Pixels in the span."""
        return self.stop - self.start

    def within(self, other: Span) -> slice:
        """Give this span as a slice of `other`, which holds it."""
        return slice(self.start - other.start, self.stop - other.start)

    def grown(self, by: int, length: int) -> Span:
        """Give the span with `by` pixels more at each end, within an axis."""
        return Span(max(0, self.start - by), min(length, self.stop + by))

    def cut(self, length: int) -> list[Span]:
        """Cut the span into spans of at most a length."""
        starts = range(self.start, self.stop, length)
        return [Span(start, min(start + length, self.stop)) for start in starts]

    @property
    def slice(self) -> slice:
        """Give this span as a slice of the whole axis."""
        return slice(self.start, self.stop)


@dataclass(frozen=True)
class Tile:
    """Three rectangles: `read` from the image, `keep` of the result, place it there."""

    read: tuple[Span, Span]
    keep: tuple[Span, Span]

    @property
    def source(self) -> tuple[slice, slice]:
        """What to read, in the image."""
        return self.read[0].slice, self.read[1].slice

    @property
    def kept(self) -> tuple[slice, slice]:
        """What to keep, in the tile's own result."""
        return (
            self.keep[0].within(self.read[0]),
            self.keep[1].within(self.read[1]),
        )

    @property
    def target(self) -> tuple[slice, slice]:
        """Where it goes, in the image."""
        return self.keep[0].slice, self.keep[1].slice


def plan_tiles(
    height: int, width: int, *, tile: int, reach: int, stride: int
) -> list[Tile]:
    """Cover an image with tiles, row by row.

    Parameters
    ----------
    height, width : int
        Size of the image; multiples of `stride` (pad it first).
    tile : int
        Side of what a tile keeps; rounded up to a multiple of `stride`.
    reach : int
        How far an output depends on its input.
    stride : int
        What tile origins are multiples of.

    Returns
    -------
    list of Tile
        Every pixel is kept exactly once.
    """
    if min(height, width) < 1 or height % stride or width % stride:
        raise ValueError(
            f"image sides must be positive multiples of the stride {stride}, got "
            f"{height}x{width}"
        )
    if tile < 1:
        raise ValueError(f"tile must be at least 1 pixel, got {tile}")
    side = round_up(tile, stride)
    halo = round_up(reach, stride)
    rows = _spans(height, side, halo)
    columns = _spans(width, side, halo)
    return [
        Tile((read_y, read_x), (keep_y, keep_x))
        for keep_y, read_y in rows
        for keep_x, read_x in columns
    ]


def _spans(length: int, side: int, halo: int) -> list[tuple[Span, Span]]:
    """Pairs (keep, read) along one axis."""
    return [(keep, keep.grown(halo, length)) for keep in Span(0, length).cut(side)]


def round_up(value: int, multiple: int) -> int:
    """Give the smallest multiple that is at least `value`."""
    return -(-value // multiple) * multiple


def symmetric_padding(length: int, multiple: int) -> tuple[int, int]:
    """Pixels to add before and after, to reach a multiple, evenly where possible."""
    missing = -length % multiple
    return missing // 2, missing - missing // 2
