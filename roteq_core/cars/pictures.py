"""Reading pictures of cars, whatever their kind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from roteq_core.tables.files import summarize
from roteq_core.tasks.car_crops import check_picture_shape

# How Pillow names colors that are not red, green and blue.
_OTHER_COLORS = ("CMYK", "YCbCr", "LAB", "HSV")
ORIENTATION, UPRIGHT = 0x0112, 1  # an EXIF tag, and its value for images as stored


class Picture(NamedTuple):
    """A picture that was given: the name of its file, if any, pixels, and notes."""

    name: str
    pixels: np.ndarray
    notes: tuple[str, ...] = ()


def load_picture(image: np.ndarray | Path | str) -> Picture:
    """Take pixels, or read them, and refuse what is no picture of cars."""
    if isinstance(image, (str, Path)):
        pixels = read_image(image)
        found = Picture(Path(image).name, pixels, orientation_notes([image]))
    else:
        found = Picture("", np.asarray(image))
    check_picture_shape(found.pixels.shape)
    return found


def read_image(path: Path | str) -> np.ndarray:
    """Read one picture: (H, W), with opacity (H, W, 2), (H, W, 3) or (H, W, 4)."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no image {path}")
    is_tiff = path.suffix.lower() in (".tif", ".tiff")
    try:
        image = _read_tiff(path) if is_tiff else _read_plain(path)
    except Exception as error:  # every format raises what it likes
        raise ValueError(f"cannot read the image {path}: {error}") from error
    return _without_pages(image)


def _without_pages(image: np.ndarray) -> np.ndarray:
    """Drop axes of length one that are neither rows, columns nor more than one color.

    An image of one pixel's height or width keeps it.
    """
    if image.ndim > 2 and image.shape[-1] == 1:
        image = image[..., 0]
    is_color = image.shape[-1] in (2, 3, 4)
    while image.ndim > 2 + is_color and image.shape[0] == 1:
        image = image[0]
    return image


def orientation_notes(paths: Iterable[Path | str]) -> tuple[str, ...]:
    """Say which pictures ask to be turned when shown, which nobody here does."""
    tags = {Path(path).name: orientation_tag(path) for path in paths}
    turned = [f"{name} ({tag})" for name, tag in tags.items() if tag != UPRIGHT]
    if not turned:
        return ()
    return (
        f"the EXIF tag Orientation of {summarize(turned)} is not 1 and is not obeyed, "
        "as in napari: centers and headings are those of the pixels as stored; where a "
        "table is of the image as others show it, save the image turned, without the "
        "tag",
    )


def orientation_tag(path: Path | str) -> int:
    """Give how a picture asks to be turned, 1 to 8; 1, upright, if it does not."""
    from PIL import Image

    try:
        with Image.open(path) as picture:
            tag = picture.getexif().get(ORIENTATION, UPRIGHT)
    except Exception:  # nothing that Pillow reads: no tag that others would obey
        return UPRIGHT
    return tag if tag in range(1, 9) else UPRIGHT


def _read_tiff(path: Path) -> np.ndarray:
    import tifffile

    with tifffile.TiffFile(path) as tif:
        first = tif.series[0]
        page: Any = first.keyframe
        image = _colors_last(np.asarray(tif.asarray()), first.axes)
        if page.photometric != tifffile.PHOTOMETRIC.SEPARATED:
            return image
        inks = page.tags.valueof("InkSet", default=1)
        if "S" not in first.axes or page.samplesperpixel < 4 or inks != 1:
            raise ValueError(
                "inks must be cyan, magenta, yellow and black, got "
                f"{page.samplesperpixel} samples with InkSet {int(inks)}"
            )
        return _colors_of_inks(image)


def _colors_last(image: np.ndarray, axes: str) -> np.ndarray:
    """Give one picture (H, W) or (H, W, samples) of a TIFF's array, or refuse it.

    Only samples are colors: three or four pages are not.
    """
    others = [i for i, axis in enumerate(axes) if axis not in "YXS"]
    if any(image.shape[i] > 1 for i in others):
        raise ValueError(
            "an image of cars must be a single page, gray, RGB or RGBA, got shape "
            f"{image.shape} with axes {axes}"
        )
    image, axes = image.squeeze(tuple(others)), re.sub("[^YXS]", "", axes)
    return np.moveaxis(image, axes.index("S"), -1) if "S" in axes else image


def _colors_of_inks(inks: np.ndarray) -> np.ndarray:
    """Give red, green, blue (…, 3) of cyan, magenta, yellow, black (…, ≥ 4).

    As everywhere, an ink takes its share of the light: (1 - cyan) (1 - black). A fifth
    sample is opacity and is kept.
    """
    whole = inks.dtype.kind in "ui"
    full = float(np.iinfo(inks.dtype).max) if whole else 1.0
    kept = 5 if inks.shape[-1] > 4 else 4
    colors = np.empty((*inks.shape[:-1], kept - 1), inks.dtype)
    light = 1 - inks[..., 3] / full
    for channel in range(3):
        lit = (full - inks[..., channel].astype(float)) * light
        colors[..., channel] = lit.round() if whole else lit
    if kept == 5:
        colors[..., 3] = inks[..., 4]
    return colors


def _read_plain(path: Path) -> np.ndarray:
    from imageio import v3 as imageio
    from PIL import Image

    with Image.open(path) as picture:
        if picture.mode in _OTHER_COLORS:
            return np.asarray(picture.convert("RGB"))
    image = np.asarray(imageio.imread(path))
    if image.ndim == 3 and image.shape[0] in (3, 4) and image.shape[-1] not in (3, 4):
        return np.moveaxis(image, 0, -1)  # colors came first
    return image
