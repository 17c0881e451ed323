"""Parts of planes, and what must be read around them. No torch."""

from __future__ import annotations

Area = tuple[int, int, int, int]  # top, left, bottom, right

# Pixels around an area that count for what is found in it: the reach of the shipped
# networks, and then what closing a wall looks at.
CONTEXT = 256
# Networks answer alike where their coarsest map has the same pixels.
_STRIDE = 8


def check_area(area: Area, shape: tuple[int, ...]) -> None:
    """Refuse an area that does not lie in a plane (H, W)."""
    top, left, bottom, right = area
    if not (0 <= top < bottom <= shape[0] and 0 <= left < right <= shape[1]):
        raise ValueError(
            "an area (top, left, bottom, right) must hold pixels and lie in the plane "
            f"of {shape[0]} × {shape[1]} pixels, got {area}"
        )


def with_context(area: Area, shape: tuple[int, ...]) -> tuple[Area, Area]:
    """Grow an area so that what is found in it is what is found in the whole plane.

    Parameters
    ----------
    area : (int, int, int, int)
    shape : (int, int)
        Rows and columns of the plane.

    Returns
    -------
    read, keep : (int, int, int, int)
        The larger area, and the area's own place in it.
    """
    top, left, bottom, right = area
    rows, columns = _grown(top, bottom, shape[0]), _grown(left, right, shape[1])
    read = rows[0], columns[0], rows[1], columns[1]
    keep = top - rows[0], left - columns[0], bottom - rows[0], right - columns[0]
    return read, keep


def _grown(start: int, stop: int, size: int) -> tuple[int, int]:
    """Grow a span so that whole strides of the plane are left out on both sides.

    Planes are filled up to whole strides evenly on both sides: so filled up, the pixels
    of the span's coarse maps are pixels of the plane's.
    """
    before = max(0, start - CONTEXT) // _STRIDE * _STRIDE
    after = max(0, size - stop - CONTEXT) // _STRIDE * _STRIDE
    return before, size - after
