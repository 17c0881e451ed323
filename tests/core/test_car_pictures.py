"""Reading pictures of any kind."""

from __future__ import annotations

import numpy as np
import pytest
from imageio import v3 as imageio
from PIL import Image

from roteq_core.car_pictures import read_image
from roteq_core.tasks.car_crops import image_maps


@pytest.fixture
def color() -> np.ndarray:
    y, x = np.mgrid[:40, :50]
    return np.stack([4 * x, 5 * y, 100 + x], -1).astype(np.uint8)


def test_cmyk_pictures_are_read_as_colors(color, tmp_path):
    path = tmp_path / "a.jpg"
    Image.fromarray(color).convert("CMYK").save(path, quality=98)
    found = read_image(path)
    assert found.shape == color.shape
    assert np.abs(found.astype(int) - color).mean() < 4
    assert image_maps(found)[-1].min() == 1


def test_gray_with_opacity_is_read(color, tmp_path):
    both = np.stack([color[..., 0], np.full((40, 50), 255, np.uint8)], -1)
    Image.fromarray(both, "LA").save(tmp_path / "a.png")
    found = read_image(tmp_path / "a.png")
    np.testing.assert_array_equal(found, both)
    assert image_maps(found, 3).shape == (4, 40, 50)


def test_16_bits_and_colors_are_read_as_they_are(color, tmp_path):
    deep = color[..., 0].astype(np.uint16) * 200
    for name, image in (("a.png", deep), ("b.png", color), ("a.tif", deep)):
        imageio.imwrite(tmp_path / name, image)
        np.testing.assert_array_equal(read_image(tmp_path / name), image)


def test_what_is_no_picture_is_refused_by_name(tmp_path):
    for name in ("a.png", "a.tif"):
        (tmp_path / name).write_text("no picture")
        with pytest.raises(ValueError, match=f"cannot read the image .*{name}"):
            read_image(tmp_path / name)
    with pytest.raises(ValueError, match="there is no image"):
        read_image(tmp_path / "b.png")
