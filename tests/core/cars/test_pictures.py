"""Reading pictures of any kind."""

from __future__ import annotations

import numpy as np
import pytest
import tifffile
from imageio import v3 as imageio
from PIL import Image

from roteq_core.cars.pictures import load_picture, orientation_notes, read_image
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


def inks_of(color: np.ndarray, dtype: str) -> np.ndarray:
    """Cyan, magenta, yellow and black of colors, with as much black as there can be."""
    share = color / 255
    light = share.max(-1, keepdims=True)
    inks = np.concatenate([1 - share / np.maximum(light, 1e-9), 1 - light], -1)
    kind = np.dtype(dtype)
    return (inks * (np.iinfo(kind).max if kind.kind == "u" else 1)).astype(kind)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_cmyk_tiffs_are_read_as_colors(color, tmp_path, dtype, planar):
    inks = inks_of(color, dtype)
    stored = np.moveaxis(inks, -1, 0) if planar == "separate" else inks
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, stored, photometric="separated", planarconfig=planar)
    found = read_image(path)
    assert found.dtype == dtype
    full = {"uint8": 255, "uint16": 65535, "float32": 1}[dtype]
    np.testing.assert_allclose(found / full, color / 255, atol=2 / 255)
    assert image_maps(found, 3).shape == (4, 40, 50)


def test_opacity_of_cmyk_tiffs_is_kept(color, tmp_path):
    opacity = np.full((40, 50, 1), 255, np.uint8)
    opacity[:10] = 0
    inks = np.concatenate([inks_of(color, "uint8"), opacity], -1)
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, inks, photometric="separated", extrasamples=["unassalpha"])
    found = read_image(path)
    assert found.shape == (40, 50, 4)
    np.testing.assert_array_equal(image_maps(found, 3)[-1], opacity[..., 0] > 0)


def test_cmyk_tiffs_of_pillow_are_read_as_pillow_reads_them(color, tmp_path):
    picture = Image.fromarray(color).convert("CMYK")
    picture.save(tmp_path / "a.tif")
    found = read_image(tmp_path / "a.tif")
    np.testing.assert_allclose(found, picture.convert("RGB"), atol=1)


def test_other_inks_are_refused(color, tmp_path):
    path = tmp_path / "a.tif"
    other = (332, "H", 1, 2, True)  # InkSet: not cyan, magenta, yellow, black
    inks = inks_of(color, "uint8")
    tifffile.imwrite(path, inks, photometric="separated", extratags=[other])
    with pytest.raises(ValueError, match=r"a\.tif: inks must be .* with InkSet 2"):
        read_image(path)
    tifffile.imwrite(path, inks[..., :3], photometric="rgb")
    with tifffile.TiffFile(path, mode="r+") as tif:
        tif.pages[0].tags["PhotometricInterpretation"].overwrite(5)
    with pytest.raises(ValueError, match=r"a\.tif: inks must be .* got 3 samples"):
        read_image(path)


@pytest.mark.parametrize("pages", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["pages", "pillow", "imagej"])
def test_stacks_of_gray_pages_are_refused_as_no_colors(tmp_path, pages, kind):
    path = tmp_path / "a.tif"
    stack = np.zeros((pages, 40, 50), np.uint8)
    if kind == "pillow":
        first, *others = map(Image.fromarray, stack)
        first.save(path, save_all=True, append_images=others)
    else:
        tifffile.imwrite(path, stack, photometric="minisblack", imagej=kind == "imagej")
    rule = (
        rf"a\.tif: an image of cars must be a single page.* got shape \({pages}, 40, 50"
    )
    with pytest.raises(ValueError, match=rule):
        read_image(path)


@pytest.mark.parametrize("samples", [3, 4])
def test_planar_colors_and_single_pages_are_read(color, tmp_path, samples):
    path = tmp_path / "a.tif"
    image = np.concatenate([color, color], -1)[..., :samples]
    planar = {"photometric": "rgb", "planarconfig": "separate"}
    tifffile.imwrite(path, np.moveaxis(image, -1, 0), **planar)
    np.testing.assert_array_equal(read_image(path), image)
    tifffile.imwrite(path, image[None], photometric="rgb")
    np.testing.assert_array_equal(read_image(path), image)
    narrow = image[:, :4]
    tifffile.imwrite(path, np.moveaxis(narrow, -1, 0), **planar)
    np.testing.assert_array_equal(read_image(path), narrow)


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


@pytest.mark.parametrize("ending", ["png", "tif"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (50, 1), (1, 3), (1, 4)])
@pytest.mark.parametrize("samples", [(), (3,), (4,)])
def test_images_one_pixel_high_or_wide_keep_their_shape(
    tmp_path, shape, samples, ending
):
    image = np.full((*shape, *samples), 7, np.uint8)
    path = tmp_path / f"a.{ending}"
    if ending == "tif":
        kind = "rgb" if samples else "minisblack"
        tifffile.imwrite(path, image, photometric=kind)
    else:
        Image.fromarray(image).save(path)
    np.testing.assert_array_equal(read_image(path), image)
    assert image_maps(read_image(path), 3).shape == (4, *shape)


@pytest.mark.parametrize("shape", [(7,), (2, 4, 5, 3), (4, 5, 6), (0, 5)])
def test_what_has_no_shape_of_a_picture_is_refused(shape):
    with pytest.raises(ValueError, match=r"must have shape \(H, W\), .* got \("):
        load_picture(np.zeros(shape, np.uint8))


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.tif"])
def test_pictures_that_ask_to_be_turned_are_read_as_stored_with_a_note(
    color, tmp_path, name
):
    plain, turned = tmp_path / f"plain_{name}", tmp_path / name
    Image.fromarray(color).save(plain)
    tag = Image.Exif()
    tag[0x0112] = 6
    Image.fromarray(color).save(turned, exif=tag)
    found = load_picture(turned)
    np.testing.assert_array_equal(found.pixels, read_image(plain))
    np.testing.assert_array_equal(found.pixels, imageio.imread(turned))
    (note,) = found.notes
    assert f"the EXIF tag Orientation of {name} (6) is not 1 and is not obeyed" in note
    assert "save the image turned, without the tag" in note
    assert load_picture(plain).notes == orientation_notes([plain]) == ()
    tag[0x0112] = 1
    Image.fromarray(color).save(turned, exif=tag)
    assert load_picture(turned).notes == ()
