"""Reading crops: kinds of images, turning, scale, borders."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from roteq_core.tasks import car_crops as cc


@pytest.fixture
def scene() -> np.ndarray:
    """A smooth gray scene (120, 150) as uint8."""
    y, x = np.mgrid[:120, :150]
    waves = np.sin(x / 7) + np.cos(y / 9 + x / 23)
    return ((waves + 2) / 4 * 255).astype(np.uint8)


def crop_of(image, center, length=28.0, turn=0.0, mirrored=False, maps=1):
    pyramid = cc.make_pyramid(cc.image_maps(image, maps), length)
    return cc.read_crops(
        pyramid, np.array([center]), np.array([length]), turn, mirrored=mirrored
    )[0]


def test_16_bit_images_give_the_same_crops_as_8_bit_ones(scene):
    narrow = crop_of(scene, (70, 60))
    wide = crop_of(scene.astype(np.uint16) * 257, (70, 60))
    torch.testing.assert_close(wide, narrow)


def test_8_bit_images_are_not_stretched(scene):
    dim = scene // 8 + 20
    np.testing.assert_array_equal(cc.image_maps(dim)[0], dim * np.float32(1 / 255))


@pytest.mark.parametrize(
    "other",
    [
        lambda x: x.astype(np.uint16) * 16,
        lambda x: x.astype(np.int16) * 16 - 900,
        lambda x: x.astype(np.int32) * 16,
        lambda x: x.astype(np.int64) + 2**40,
        lambda x: x.astype(np.float32),
        lambda x: x.astype(np.float32) * 1e-6,
        lambda x: x.astype(np.float64) * 1e-4 + 5000,
    ],
)
def test_any_scale_of_values_gives_the_same_crops(scene, other):
    narrow = crop_of(scene, (70, 60))
    wide = crop_of(other(scene), (70, 60))
    gap = cc.normalize_crops(wide[None]) - cc.normalize_crops(narrow[None])
    assert gap.abs().max() < 1e-3
    assert wide[0].max() - wide[0].min() > 0.5


def test_stray_pixels_do_not_set_the_range(scene):
    image = scene.astype(np.float32)
    image[3, 4], image[5, 6] = 1e9, -1e9
    low, high = cc.value_range(image[..., None])
    assert (low, high) == pytest.approx((scene.min(), scene.max()), abs=3)


def test_a_few_bright_pixels_on_flat_ground_do(scene):
    image = np.zeros((200, 200, 1))
    image[3, 4] = 8.0
    assert cc.value_range(image) == (0, 8)
    assert cc.value_range(np.full((20, 20, 1), 7.0)) == (0, 1)


def test_gray_with_opacity_is_gray_with_unknown_pixels(scene):
    opacity = np.full_like(scene, 255)
    opacity[:, 75:] = 0
    maps = cc.image_maps(np.stack([scene, opacity], -1))
    np.testing.assert_array_equal(maps[1], opacity > 0)
    np.testing.assert_array_equal(maps[0, :, :75], cc.image_maps(scene)[0, :, :75])


def test_transparent_pixels_are_not_known(scene):
    rgba = np.stack([scene] * 3 + [np.full_like(scene, 255)], -1)
    rgba[:, 75:, 3] = 0
    crop = crop_of(rgba, (75, 60))
    assert crop[1, :, :23].min() == 1
    assert crop[1, :, 26:].max() == 0


def test_values_that_are_not_finite_are_not_known(scene):
    image = scene.astype(np.float32)
    image[60, 70] = np.nan
    crop = crop_of(image, (70, 60))
    assert torch.isfinite(crop).all()
    assert crop[1].min() < 1


@pytest.mark.parametrize("shape", [(5,), (4, 5, 5), (2, 4, 5, 3), (0, 5)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match="must have shape"):
        cc.image_maps(np.zeros(shape))


def test_color_is_kept_when_asked_for(scene):
    color = np.stack([scene, scene // 2, scene * 0], -1)
    maps = cc.image_maps(color, 3)
    assert maps.shape == (4, 120, 150)
    np.testing.assert_allclose(maps[2], 0)
    with pytest.raises(ValueError, match=r"3 \(color\), got 2"):
        cc.image_maps(color, 2)


def test_a_crop_at_rest_is_the_image_itself(scene):
    crop = crop_of(scene, (70.5, 60.5))
    expected = scene[37:85, 47:95] / 255
    np.testing.assert_allclose(crop[0], expected, atol=0.01)


def test_a_quarter_turn_of_the_reading_turns_the_crop(scene):
    upright = crop_of(scene, (70.5, 60.5))
    turned = crop_of(scene, (70.5, 60.5), turn=math.pi / 2)
    torch.testing.assert_close(turned, torch.rot90(upright, 1, (-2, -1)))


def test_mirroring_swaps_left_and_right_of_the_crop(scene):
    upright = crop_of(scene, (70, 60), turn=0.3)
    mirrored = crop_of(scene, (70, 60), turn=0.3, mirrored=True)
    torch.testing.assert_close(mirrored, upright.flip(-1))


@pytest.mark.parametrize("factor", [2, 3, 5])
def test_a_larger_picture_of_the_same_car_gives_the_same_crop(scene, factor):
    large = np.kron(scene, np.ones((factor, factor), np.uint8))
    place = (np.array([70, 60]) + 0.5) * factor - 0.5
    small_crop = crop_of(scene, (70, 60))
    large_crop = crop_of(large, place, 28.0 * factor)
    assert (large_crop - small_crop)[0].abs().max() < 0.02


def test_beyond_the_border_nothing_is_known_and_the_crop_is_zero(scene):
    crop = crop_of(scene, (0, 60))
    assert crop[1, :, :22].max() == 0
    image = cc.normalize_crops(crop[None])[0, 0]
    assert image[:, :22].abs().max() == 0
    assert image[20:28, 30:].abs().max() > 0.1


def test_reading_crops_does_not_copy_the_image(scene, monkeypatch):
    pyramid = cc.make_pyramid(cc.image_maps(scene), 28.0)
    sample, seen = cc.F.grid_sample, []

    def watched(image, *rest, **options):
        seen.append(image.data_ptr())
        return sample(image, *rest, **options)

    monkeypatch.setattr(cc.F, "grid_sample", watched)
    cc.read_crops(pyramid, np.array([[70, 60]]), np.array([28.0]))
    assert seen == [pyramid.levels[0].data_ptr()]


@pytest.mark.parametrize("length", [28.0, 60.0])
def test_unknown_pixels_do_not_darken_their_neighbors(length):
    rgba = np.full((120, 150, 4), 200, np.uint8)
    rgba[::3, ::2, 3] = 0
    crop = crop_of(rgba, (70, 60), length)
    np.testing.assert_allclose(crop[0], 200 / 255, atol=1e-5)
    assert 0 < crop[1].mean() < 1


def test_contrast_and_brightness_do_not_matter(scene):
    crop = crop_of(scene, (70, 60))[None]
    other = crop.clone()
    other[:, 0] = 0.3 * other[:, 0] + 0.2
    torch.testing.assert_close(
        cc.normalize_crops(other), cc.normalize_crops(crop), atol=1e-4, rtol=0
    )


def test_a_flat_crop_stays_zero():
    crop = crop_of(np.full((60, 60), 90, np.uint8), (30, 30))
    assert cc.normalize_crops(crop[None]).abs().max() == 0


def test_the_corners_of_a_crop_do_not_count():
    mask = cc.disc(48)
    assert mask[0, 0] == mask[-1, 0] == 0
    assert mask[24, 24] == 1
    torch.testing.assert_close(mask, torch.rot90(mask))
