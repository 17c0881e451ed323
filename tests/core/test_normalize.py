from __future__ import annotations

import numpy as np
import pytest

from roteq_core.normalize import Normalization, fit_normalization


@pytest.mark.parametrize("kind", ["uint8", "uint16", "int32", "float64", "bool"])
def test_any_number_type_becomes_float32_about_zero(kind):
    image = np.random.default_rng(0).integers(0, 2, (40, 40)).astype(kind)
    scaled = fit_normalization(image).apply(image)
    assert scaled.dtype == np.float32
    assert np.isfinite(scaled).all()


def test_stretched_contrast_gives_the_same():
    image = np.random.default_rng(0).normal(100, 20, (64, 64))
    stretched = 3 * image + 70
    first = fit_normalization(image).apply(image)
    second = fit_normalization(stretched).apply(stretched)
    np.testing.assert_allclose(first, second, atol=1e-4)
    assert abs(first.std() - 1) < 0.1


def test_inverted_contrast_is_turned_round():
    image = np.random.default_rng(0).normal(100, 20, (64, 64))
    first = fit_normalization(image).apply(image)
    second = fit_normalization(255 - image, inverted=True).apply(255 - image)
    np.testing.assert_allclose(first, second, atol=1e-4)


def test_pixels_that_are_no_numbers_become_the_center():
    image = np.random.default_rng(0).normal(100, 20, (64, 64))
    broken = image.copy()
    broken[3, 4], broken[5, 6], broken[7, 8] = np.nan, np.inf, -np.inf
    normalization = fit_normalization(broken)
    scaled = normalization.apply(broken)
    assert scaled[3, 4] == 0
    assert (scaled[5, 6], scaled[7, 8]) == (5, -5)
    np.testing.assert_allclose(
        normalization.center, fit_normalization(image).center, rtol=1e-2
    )


def test_flat_image_becomes_zero():
    image = np.full((8, 8), 7, np.uint8)
    assert not fit_normalization(image).apply(image).any()


def test_image_of_mostly_one_value_keeps_its_few_others():
    image = np.zeros((64, 64))
    image[10:12, 10:12] = 1
    assert fit_normalization(image).apply(image)[10, 10] > 0


def test_only_eight_planes_of_a_stack_are_read():
    class Lazy:
        shape, ndim, asked = (100, 4, 4), 3, []

        def __getitem__(self, place):
            self.asked.append(int(place[0]))
            return np.full((4, 4), place[0])

    found = fit_normalization(Lazy())
    assert len(Lazy.asked) == 8
    assert {0, 99} <= set(Lazy.asked)
    assert 40 < found.center < 60


@pytest.mark.parametrize("image", [np.zeros((0, 4)), np.full((4, 4), np.nan)])
def test_images_without_a_value_are_refused(image):
    with pytest.raises(ValueError, match="cannot normalize an"):
        fit_normalization(image)


def test_recipe_holds_plain_values():
    assert Normalization(1.0, 2.0, True).as_dict() == {
        "center": 1.0,
        "spread": 2.0,
        "inverted": True,
        "skips_fill": False,
    }


def tissue(shape=(3, 120, 120)):
    pixels = np.random.default_rng(0).normal(120, 20, shape)
    return np.clip(pixels, 1, 254).astype(np.uint8)


def framed(value):
    padded = np.full((3, 200, 160), value, np.uint8)
    padded[:, 40:160, :120] = tissue()
    return padded


@pytest.mark.parametrize("value", [0, 255])
def test_padding_around_an_image_is_left_out(value):
    inner = fit_normalization(tissue())
    found = fit_normalization(framed(value))
    assert (found.center, found.spread) == (inner.center, inner.spread)
    scaled = found.apply(framed(value))
    assert (scaled[:, 40:160, :120] == inner.apply(tissue())).all()
    assert not scaled[:, :40].any()
    assert not scaled[:, :, 120:].any()


def test_blank_slices_of_a_stack_are_left_out():
    stack = np.concatenate([tissue(), np.zeros((3, 120, 120), np.uint8)])
    found = fit_normalization(stack)
    assert found.center == fit_normalization(tissue()).center
    assert not found.apply(stack)[3:].any()


def test_dark_spots_and_saturated_pixels_are_no_padding():
    image = tissue()
    image[:, :10, :10] = 0  # small, at a corner
    image[:, 50:100, 50:100] = 255  # large, but inside
    image[:, 110::2, :] = 255  # many at the border, none of them solid
    assert fit_normalization(image).outside(image) is None


def test_blank_and_padded_slices_need_not_be_among_those_looked_at():
    stack = tissue((12, 120, 120))
    stack[5] = 0
    stack[2, :, 80:] = 255
    found = fit_normalization(stack).outside(stack)
    assert found[5].all()
    assert found[2, :, 80:].all()
    assert found.sum() == found[5].size + found[2, :, 80:].size


def test_of_drawings_no_area_is_fill():
    drawing = np.zeros((64, 64))
    drawing[20:40, 20:40] = 1
    assert fit_normalization(drawing).outside(drawing) is None


def test_nothing_at_all_is_fill():
    assert fit_normalization(np.zeros((2, 40, 40))).outside(np.zeros((40, 40))).all()
