from __future__ import annotations

import numpy as np
import pytest
import torch

from roteq_core.tasks.car_augment import (
    LOOKS,
    random_color,
    random_gray,
    random_light,
    random_look,
    random_paint,
)


@pytest.fixture
def crops():
    colors = torch.rand(40, 4, 31, 31, generator=torch.Generator().manual_seed(0))
    colors[:, 3] = 1
    return colors


@pytest.mark.parametrize("change", [random_color, random_gray])
def test_colors_change_and_what_is_known_does_not(crops, change):
    changed = change(crops, np.random.default_rng(0))
    assert changed.shape[0] == 40
    torch.testing.assert_close(changed[:, -1], crops[:, -1])
    assert torch.isfinite(changed).all()


def test_some_color_crops_become_gray_and_most_do_not(crops):
    changed = random_color(crops, np.random.default_rng(0))[:, :3]
    is_gray = (changed - changed[:, :1]).abs().amax((1, 2, 3)) < 1e-6
    assert 0.1 < is_gray.float().mean() < 0.5


def test_light_from_one_side_leaves_no_direction_preferred(crops):
    flat = torch.full((600, 4, 31, 31), 0.5)
    lit = random_light(flat, 1.0, np.random.default_rng(0))[:, :3].mean(1)
    line = torch.arange(31.0) - 15
    right = ((lit - 0.5) * line).mean((1, 2))
    down = ((lit - 0.5) * line[:, None]).mean((1, 2))
    for slope in (right, down):
        assert slope.abs().max() > 0.1
        assert abs(slope.mean()) < 0.15 * slope.std()


def test_no_strength_changes_nothing(crops):
    rng = np.random.default_rng(0)
    assert torch.equal(random_light(crops, 0.0, rng), crops)
    assert torch.equal(random_look(crops, 0.0, rng), crops)
    still = np.zeros(40)
    assert torch.equal(random_paint(crops, still, still + 20, 0.0, rng), crops)


def test_only_the_car_is_painted_and_only_some_cars():
    flat = torch.full((200, 4, 41, 41), 0.5)
    right, lengths = np.zeros(200), np.full(200, 28.0)
    changed = random_paint(flat, right, lengths, 1.0, np.random.default_rng(0))
    moved = (changed - flat).abs().amax(1)
    painted = moved.amax((1, 2)) > 1e-3
    assert 0.2 < painted.float().mean() < 0.5
    assert moved[painted][:, 20, 10].min() > 0  # along the car, near its end
    assert moved[:, 5, 20].max() == 0  # beside the car
    assert changed.min() >= 0
    assert changed.max() <= 1


def full_range() -> torch.Tensor:
    """Smooth gray crops whose values span 0…1."""
    line = torch.linspace(0, 1, 31)
    gray = (line[:, None] + line[None]) / 2
    return torch.stack([gray, torch.ones(31, 31)]).repeat(60, 1, 1, 1)


def looking(*names) -> torch.Tensor:
    """Change smooth crops (60, 31, 31) in these ways alone."""
    without = [name for name in LOOKS if name not in names]
    changed = random_look(full_range(), 1.0, np.random.default_rng(0), without)
    return changed[:, 0]


def test_with_everything_left_out_nothing_changes():
    torch.testing.assert_close(looking(), full_range()[:, 0])


@pytest.mark.parametrize(
    "name", ["shadow", "contrast", "inversion", "blur", "noise", "jpeg"]
)
def test_each_look_can_be_left_out_alone(name):
    gaps = (looking(name) - full_range()[:, 0]).abs().amax((1, 2))
    assert (gaps > 1e-3).float().mean() > 0.05
    every = [other for other in LOOKS if other != name]
    assert not torch.equal(looking(*every), looking(*LOOKS))


def test_an_inverted_crop_keeps_its_contrast():
    before, after = full_range()[:, 0], looking("inversion")
    kept = (after - before).abs().amax((1, 2)) < 1e-5
    swapped = (after - (1 - before)).abs().amax((1, 2)) < 1e-5
    assert (kept ^ swapped).all()
    assert 0.03 < swapped.float().mean() < 0.3


def test_a_change_of_contrast_keeps_the_order_of_grays():
    diagonal = looking("contrast").diagonal(dim1=1, dim2=2)
    assert (diagonal.diff(dim=1) >= -1e-6).all()
