"""Reading pictures of cars, whatever their kind."""

from __future__ import annotations

from pathlib import Path

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

    return np.asarray(tifffile.imread(path))


def _read_plain(path: Path) -> np.ndarray:
    from imageio import v3 as imageio
    from PIL import Image

    with Image.open(path) as picture:
        if picture.mode in _OTHER_COLORS:
            return np.asarray(picture.convert("RGB"))
    return np.asarray(imageio.imread(path))
