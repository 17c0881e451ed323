"""Reading pictures of cars, whatever their kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

# How Pillow names colors that are not red, green and blue.
_OTHER_COLORS = ("CMYK", "YCbCr", "LAB", "HSV")


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
    if image.ndim == 3 and image.shape[0] in (3, 4) and image.shape[-1] not in (3, 4):
        image = np.moveaxis(image, 0, -1)  # planar TIFF
    return np.squeeze(image)


def _read_tiff(path: Path) -> np.ndarray:
    import tifffile

    with tifffile.TiffFile(path) as tif:
        image, first = np.asarray(tif.asarray()), tif.series[0]
        page: Any = first.keyframe
        if page.photometric != tifffile.PHOTOMETRIC.SEPARATED:
            return image
        inks = page.tags.valueof("InkSet", default=1)
        if "S" not in first.axes or page.samplesperpixel < 4 or inks != 1:
            raise ValueError(
                "inks must be cyan, magenta, yellow and black, got "
                f"{page.samplesperpixel} samples with InkSet {int(inks)}"
            )
        return _colors_of_inks(np.moveaxis(image, first.axes.index("S"), -1))


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
    return np.asarray(imageio.imread(path))
