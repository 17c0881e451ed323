from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from roteq_core.config import TrainConfig
from roteq_core.training.augment import Warp, blur, random_intensity, random_warp

STILL = TrainConfig(exact=0, rotate=False, flip=False, scale=0, elastic=0, intensity=0)


def warp_of(size, angle, mirrored=False, center=None):
    """Turn a whole square about its center, as `random_warp` does."""
    line = np.arange(size) - (size - 1) / 2
    y, x = np.meshgrid(line, line, indexing="ij")
    x = -x if mirrored else x
    cos, sin = math.cos(angle), math.sin(angle)
    middle = (size - 1) / 2
    return Warp(middle + sin * x + cos * y, middle + cos * x - sin * y, angle, mirrored)


@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
@pytest.mark.parametrize("mirrored", [False, True])
def test_quarter_turns_are_exact(quarters, mirrored):
    source = np.random.default_rng(0).random((1, 16, 16)).astype(np.float32)
    crop = warp_of(16, quarters * math.pi / 2, mirrored).read(source)
    expected = np.rot90(source, quarters, (1, 2))
    expected = expected[:, :, ::-1] if mirrored else expected
    np.testing.assert_allclose(crop, expected, atol=1e-5)


@pytest.mark.parametrize("mirrored", [False, True])
def test_axes_are_turned_with_the_picture(mirrored):
    axis, angle, size = math.radians(25), math.radians(40), 33
    line = np.arange(size) - size // 2
    y, x = np.meshgrid(line, line, indexing="ij")
    distance = -math.sin(axis) * x + math.cos(axis) * y
    source = np.exp(-((distance / 2) ** 2))[None].astype(np.float32)
    warp = warp_of(size, angle, mirrored)
    crop = warp.read(source)[0]
    double = np.stack([np.full((size, size), f(2 * axis)) for f in (np.cos, np.sin)])
    cos2, sin2 = warp.turn_axes(double)[:, size // 2, size // 2]
    told = math.atan2(sin2, cos2) / 2
    # The bright line of the crop, by its moments within a disc.
    weight = crop * (x**2 + y**2 < 14**2)
    seen = 0.5 * math.atan2(
        2 * (weight * x * y).sum(), (weight * (x * x - y * y)).sum()
    )
    assert abs(math.sin(told - seen)) < 0.02


def test_same_generator_gives_the_same_warp():
    config = TrainConfig()
    first, second = (
        random_warp((64, 80), 32, config, np.random.default_rng(3)) for _ in range(2)
    )
    assert (first.rows == second.rows).all()
    assert first.angle == second.angle


def test_without_augmentation_a_crop_is_cut_out():
    source = np.arange(64 * 80, dtype=np.float32).reshape(1, 64, 80)
    warp = random_warp((64, 80), 16, STILL, np.random.default_rng(0))
    assert (warp.angle, warp.mirrored) == (0, False)
    assert warp.inside(64, 80).all()
    assert np.ptp(warp.rows) == pytest.approx(15)
    assert np.ptp(warp.columns) == pytest.approx(15)
    crop = warp.read(source)[0]
    np.testing.assert_allclose(np.diff(crop, axis=1), 1, atol=0.05)


def test_all_angles_come_up():
    rng = np.random.default_rng(0)
    turning = replace(STILL, rotate=True, flip=True)
    warps = [random_warp((64, 64), 8, turning, rng) for _ in range(200)]
    counts, _ = np.histogram([w.angle for w in warps], 8, (0, 2 * math.pi))
    assert counts.min() > 5
    assert {w.mirrored for w in warps} == {False, True}


@pytest.mark.parametrize("size", [15, 16])
def test_exact_crops_hold_pixels_of_the_source(size):
    config = TrainConfig(exact=1.0, elastic=3.0, scale=0.3, rotate=True, flip=True)
    source = np.arange(64 * 80, dtype=np.float32).reshape(1, 64, 80)
    rng = np.random.default_rng(0)
    warps = [random_warp((64, 80), size, config, rng) for _ in range(40)]
    for warp in warps:
        assert warp.inside(64, 80).all()
        crop = warp.read(source)[0]
        np.testing.assert_allclose(crop, crop.round(), atol=5e-3)
        assert len(np.unique(crop.round())) == size**2
    assert len({(warp.angle, warp.mirrored) for warp in warps}) == 8


def test_pixels_beyond_the_source_are_known_to_be():
    warp = random_warp((20, 20), 40, STILL, np.random.default_rng(0))
    assert 0 < warp.inside(20, 20).sum() < 40 * 40


def test_classes_are_read_without_mixing():
    source = np.random.default_rng(0).integers(0, 4, (1, 32, 32)).astype(np.float32)
    crop = random_warp((32, 32), 24, TrainConfig(), np.random.default_rng(1))
    assert set(np.unique(crop.read(source, "nearest"))) <= {0, 1, 2, 3}


def test_intensity_changes_values_and_not_the_type():
    image = np.random.default_rng(0).standard_normal((1, 16, 16)).astype(np.float32)
    assert random_intensity(image, 0, np.random.default_rng(0)) is image
    changed = random_intensity(image, 1.0, np.random.default_rng(0))
    assert changed.dtype == np.float32
    assert not np.allclose(changed, image)


def test_shading_rises_and_falls_slowly_across_a_crop():
    flat = np.zeros((1, 160, 160), np.float32)
    shaded = [random_intensity(flat, 1.0, np.random.default_rng(n)) for n in range(40)]
    # Averaged over patches, so that noise hardly counts.
    patches = np.stack(shaded).reshape(40, 8, 20, 8, 20).mean((2, 4))
    spread = patches.std((1, 2))
    uneven = spread > 0.05
    assert 8 < uneven.sum() < 32  # about half of the crops
    steps = np.abs(np.diff(patches[uneven], axis=1)).mean()
    far = np.abs(patches[uneven][:, 0] - patches[uneven][:, 4]).mean()
    assert far > 1.5 * steps


def test_blur_spares_the_maps_from_each_other():
    maps = np.zeros((2, 9, 9))
    maps[0, 4, 4] = 1
    blurred = blur(maps, 1.0)
    assert blurred[0].sum() == pytest.approx(1, abs=1e-3)
    assert not blurred[1].any()


def test_cubic_reading_keeps_more_of_fine_texture_than_linear():
    line = np.arange(65) - 32
    texture = np.tile(np.cos(2 * math.pi * line / 5), (65, 1)).astype(np.float32)
    warp = warp_of(65, math.radians(37))
    expected = np.cos(2 * math.pi * (warp.columns - 32) / 5)
    middle = slice(16, -16), slice(16, -16)
    off = {
        mode: float(np.abs(warp.read(texture[None], mode)[0] - expected)[middle].mean())
        for mode in ("bilinear", "bicubic")
    }
    assert off["bicubic"] < 0.5 * off["bilinear"]
