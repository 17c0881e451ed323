from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import tifffile
import torch

from roteq_core.config import FieldOptions
from roteq_core.fields.compute import (
    chosen_network,
    iter_field,
    iter_field_part,
    model_zoom,
    turned_filters,
)
from roteq_core.jobs import drain
from roteq_core.model import make_model
from roteq_core.net_config import CarNetConfig
from roteq_core.networks import build_network
from roteq_core.normalize import Normalization, fit_normalization


@pytest.fixture
def plane():
    return np.random.default_rng(0).integers(0, 255, (64, 80)).astype(np.uint8)


@pytest.fixture
def options(tiny_file):
    return FieldOptions(model=str(tiny_file), layer="blocks.1")


@pytest.fixture(scope="module")
def cars_file(tmp_path_factory):
    torch.manual_seed(0)
    config = CarNetConfig(filters=(2, 2), kernel_size=7, in_maps=3)
    networks = [build_network(config) for _ in range(2)]
    path = tmp_path_factory.mktemp("cars") / "cars.safetensors"
    make_model(networks, name="cars", task="cars").save(path)
    return path


def test_field_of_a_strided_layer_lies_between_the_pixels(plane, options):
    given = plane, fit_normalization(plane), None
    found = drain(iter_field(given, options))
    assert found.field.shape == (2, 2, 32, 40)
    assert found.field.dtype == np.float32
    assert found.first == (0.5, 0.5)
    assert found.step == (2.0, 2.0)
    assert found.filters == (0, 1)


def test_field_is_placed_in_pixels_of_the_plane_whatever_the_zoom(plane, options):
    coarse = FieldOptions(model=options.model, layer="blocks.1", pixel_size_nm=8.0)
    found = drain(
        iter_field((plane, fit_normalization(plane), None), coarse, filters=[1])
    )
    assert found.field.shape == (1, 2, 64, 80)  # twice as many pixels, stride 2
    assert found.first == (0.0, 0.0)
    assert found.step == (1.0, 1.0)


def test_quarter_turn_of_the_plane_turns_the_field(plane, options):
    square = plane[:, :64]
    normalization = fit_normalization(square)
    upright = drain(iter_field((square, normalization, None), options)).field
    around = np.rot90(square, -1), normalization, None
    turned = drain(iter_field(around, options)).field
    u, v = (np.rot90(part, -1, (1, 2)) for part in upright.swapaxes(0, 1))
    np.testing.assert_allclose(turned[:, 0], -v, atol=1e-4)
    np.testing.assert_allclose(turned[:, 1], u, atol=1e-4)


def test_part_of_a_file_has_the_vectors_of_the_whole(options, tmp_path):
    rng = np.random.default_rng(3)
    stack = rng.integers(0, 255, (2, 150, 330), dtype=np.uint8)
    stack[0] //= 3  # the part is normalized like the whole file
    tifffile.imwrite(tmp_path / "em.tif", stack, photometric="minisblack")
    read = partial(iter_field_part, tmp_path / "em.tif", options, plane=1, filters=[0])
    whole, part = drain(read()), drain(read(area=(7, 290, 56, 330)))
    assert part.step == whole.step
    assert part.field.shape[2:] == (25, 21)  # those on the rim are in it
    moved = np.array([7, 290]) + part.first - whole.first
    row, column = (moved / part.step).astype(int).tolist()
    np.testing.assert_array_equal(moved, np.array([row, column]) * part.step)
    height, width = part.field.shape[2:]
    expected = whole.field[:, :, row : row + height, column : column + width]
    np.testing.assert_allclose(part.field, expected, atol=1e-5)


def test_member_of_an_ensemble_is_chosen(cars_file):
    plane = np.random.default_rng(1).random((90, 90), np.float32)
    given = plane, Normalization(0.5, 0.3), None
    fields = [
        drain(iter_field(given, FieldOptions(model=str(cars_file), member=member)))
        for member in (0, 1)
    ]
    assert not np.allclose(fields[0].field, fields[1].field)
    with pytest.raises(ValueError, match="member must be below 2"):
        drain(iter_field(given, FieldOptions(model=str(cars_file), member=2)))


def test_models_that_look_at_colors_get_them(cars_file, tmp_path):
    from imageio import v3 as imageio

    picture = np.random.default_rng(2).integers(0, 255, (90, 100, 3), dtype=np.uint8)
    imageio.imwrite(tmp_path / "scene.png", picture)
    options = FieldOptions(model=str(cars_file), layer="blocks.0", car_length_px=28.0)
    colored = drain(iter_field((picture, Normalization(0, 1), None), options))
    job = iter_field_part(tmp_path / "scene.png", options, area=(0, 0, 90, 100))
    np.testing.assert_array_equal(drain(job).field, colored.field)
    swapped = drain(
        iter_field((picture[..., ::-1], Normalization(0, 1), None), options)
    )
    assert not np.allclose(swapped.field, colored.field)
    gray = picture.mean(-1)
    found = drain(iter_field((gray, Normalization(0, 1), None), options))
    assert found.field.shape == colored.field.shape


def test_cars_are_seen_at_the_length_the_model_learnt(cars_file):
    from roteq_core.model import warm_model

    card = warm_model(str(cars_file)).card
    assert model_zoom(card, FieldOptions(car_length_px=56.0)) == 0.5
    assert model_zoom(card, FieldOptions()) == pytest.approx(28 / 36)


def test_pixel_size_far_from_the_models_is_refused(tiny_model):
    with pytest.raises(ValueError, match="within 8 times the model's 4 nm, got 400 nm"):
        model_zoom(tiny_model.card, FieldOptions(pixel_size_nm=400.0))


def test_filters_are_turned_to_all_orientations(options, tiny_model):
    turned = turned_filters(options)
    _, layer = chosen_network(tiny_model, options)
    assert turned.shape == (2, 8, 1, 2, 5, 5)
    assert layer.filters == 2
    quarter = np.rot90(turned[:, 0], -1, (-2, -1))
    np.testing.assert_allclose(turned[:, 2, :, 0], -quarter[:, :, 1], atol=1e-5)
    np.testing.assert_allclose(turned[:, 2, :, 1], quarter[:, :, 0], atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"filters": [2]}, r"filters of blocks.1 must lie in 0…1, got \[2\]"),
        ({"filters": []}, "filters of blocks.1 must lie"),
        ({"plane": 1}, r"plane must lie in 0…0, got 1"),
        ({"area": (70, 0, 80, 9)}, "must hold pixels and lie in the plane"),
    ],
)
def test_wrong_wishes_are_refused(plane, options, tmp_path, changes, message):
    tifffile.imwrite(tmp_path / "em.tif", plane)
    with pytest.raises(ValueError, match=message):
        drain(iter_field_part(tmp_path / "em.tif", options, **changes))


def test_colors_are_refused_by_the_job_itself(options):
    with pytest.raises(ValueError, match=r"a plane must have shape \(H, W\)"):
        drain(iter_field((np.zeros((3, 8, 8)), Normalization(0, 1), None), options))
