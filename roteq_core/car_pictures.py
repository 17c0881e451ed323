"""Reading pictures of cars, whatever their kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def read_image(path: Path | str) -> np.ndarray:
    """Read one picture: (H, W), (H, W, 3) or (H, W, 4)."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no image {path}")
    image = _read_any(path)
    if image.ndim == 3 and image.shape[0] in (3, 4) and image.shape[-1] not in (3, 4):
        image = np.moveaxis(image, 0, -1)  # planar TIFF
    return np.squeeze(image)


def _read_any(path: Path) -> np.ndarray:
    if path.suffix.lower() in (".tif", ".tiff"):
        import tifffile

        return np.asarray(tifffile.imread(path))
    from imageio import v3 as imageio

    try:
        return np.asarray(imageio.imread(path))
    except Exception as error:  # every format raises what it likes
        raise ValueError(f"cannot read the image {path}: {error}") from error
