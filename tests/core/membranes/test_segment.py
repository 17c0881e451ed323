from __future__ import annotations

import weakref
from dataclasses import replace

import numpy as np
import pytest
import tifffile
import torch

from roteq_core.config import SegmentOptions
from roteq_core.files.plane_writer import read_recipe
from roteq_core.files.volumes import open_volume
from roteq_core.jobs import Report, drain
from roteq_core.membranes.segment import (
    Segmenter,
    iter_segment_file,
    iter_segment_planes,
)
from roteq_core.model import Model, combine_models, make_model, with_card
from roteq_core.networks import build_network

ALL = SegmentOptions(device="cpu", cells=True, direction=True)
CPU = SegmentOptions(device="cpu")


def segment(model, image, options=ALL):
    segmenter = Segmenter(options, model)
    return drain(segmenter.iter_plane(image, segmenter.normalization(image)))


def assert_sound(plane, shape):
    for values in (plane.probability, plane.angle, plane.strength, plane.cells):
        assert values.shape == shape
        assert np.isfinite(values).all()
    assert 0 <= plane.probability.min() <= plane.probability.max() <= 1
    assert 0 <= plane.angle.min() <= plane.angle.max() < np.pi
    assert plane.cells.dtype == np.int32


@pytest.mark.parametrize("shape", [(1, 1), (3, 40), (33, 65), (64, 64)])
def test_images_of_any_size_are_segmented(tiny_model, shape):
    image = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    assert_sound(segment(tiny_model, image), shape)


@pytest.mark.parametrize("kind", ["bool", "int32", "uint16", "float64"])
def test_images_of_any_number_type_are_segmented(tiny_model, em, kind):
    image = em.image[0, :32, :32].astype(kind)
    assert_sound(segment(tiny_model, image), (32, 32))


def test_broken_pixels_stay_where_they_are(tiny_model, em):
    image = em.image[0].astype(float)
    whole = segment(tiny_model, image)
    image[0, 0] = np.nan
    broken = segment(tiny_model, image)
    assert_sound(broken, (64, 64))
    far = np.abs(broken.probability - whole.probability)[-1, -1]
    assert far < 1e-2


def test_constant_image_has_neither_nan_nor_direction(tiny_model):
    plane = segment(tiny_model, np.full((32, 32), 7, np.uint8))
    assert_sound(plane, (32, 32))


def test_only_what_is_asked_is_computed(tiny_model, em):
    plane = segment(tiny_model, em.image[0, :16, :16], SegmentOptions(device="cpu"))
    assert plane.angle is None
    assert plane.cells is None


def test_prediction_turns_with_the_image(tiny_model, em):
    image = em.image[0]
    upright = segment(tiny_model, image)
    turned = segment(tiny_model, np.rot90(image).copy())
    np.testing.assert_allclose(
        turned.probability, np.rot90(upright.probability), atol=1e-4
    )
    gap = turned.angle - np.mod(np.rot90(upright.angle) + np.pi / 2, np.pi)
    weight = turned.strength > 1e-3
    assert np.abs(np.sin(gap[weight])).max() < 1e-2


def test_ensemble_is_the_mean_of_its_networks(tiny_model, em):
    image = em.image[0, :32, :32]
    other = make_model(tiny_model.networks, name="b", task="membranes")
    both = make_model(
        [*tiny_model.networks, *other.networks], name="both", task="membranes"
    )
    one, two = segment(tiny_model, image), segment(both, image)
    np.testing.assert_allclose(one.probability, two.probability, atol=1e-6)


def test_networks_of_an_ensemble_count_by_their_shares(tiny_model, em):
    image = em.image[0, :32, :32]
    torch.manual_seed(7)
    other = build_network(tiny_model.networks[0].config).eval()
    second = Model([other], tiny_model.card)
    as_found = replace(ALL, join=0, close=False)
    one, two = (
        segment(model, image, as_found).probability for model in (tiny_model, second)
    )
    assert np.abs(one - two).max() > 1e-3
    both = combine_models([tiny_model, second], name="both", shares=[1, 3])
    found = segment(both, image, as_found).probability
    np.testing.assert_allclose(found, one / 4 + 3 * two / 4, atol=1e-6)


def test_averages_over_copies_turn_with_the_image_too(tiny_model, em):
    options = replace(CPU, turns=4, join=0)
    image = em.image[0]  # 64², whose diagonal has an odd length
    once = segment(tiny_model, image, options).probability
    turned = segment(tiny_model, np.rot90(image), options).probability
    np.testing.assert_allclose(turned, np.rot90(once), atol=1e-4)


def test_test_time_turns_average_turned_copies(tiny_model, em):
    image = em.image[0, :40, :32]
    as_found = replace(ALL, join=0, close=False)  # the mean alone is mended
    mirrored = segment(tiny_model, image[:, ::-1], as_found).probability[:, ::-1]
    mean = (segment(tiny_model, image, as_found).probability + mirrored) / 2
    two = segment(tiny_model, image, replace(as_found, turns=2))
    np.testing.assert_allclose(two.probability, mean, atol=1e-5)
    assert_sound(segment(tiny_model, image, replace(ALL, turns=3)), (40, 32))


@pytest.mark.parametrize("size", [2.0, 7.0])
def test_other_pixel_sizes_give_maps_of_the_image(tiny_model, em, size):
    plane = segment(tiny_model, em.image[0], replace(ALL, pixel_size_nm=size))
    assert_sound(plane, (64, 64))


@pytest.mark.parametrize("size", [0.4, 4000.0])
def test_pixel_size_in_the_wrong_unit_is_refused(tiny_model, em, size):
    with pytest.raises(
        ValueError, match=f"within 8 times the model's 4 nm, got {size:g}"
    ):
        segment(tiny_model, em.image[0], replace(ALL, pixel_size_nm=size))


def test_pixel_size_of_the_model_changes_nothing(tiny_model, em):
    image = em.image[0, :32, :32]
    same = segment(tiny_model, image, replace(ALL, pixel_size_nm=4.0))
    assert (same.probability == segment(tiny_model, image).probability).all()


def test_inverted_images_are_turned_round(tiny_model, em):
    image = em.image[0, :32, :32]
    upright = segment(tiny_model, image)
    negative = segment(tiny_model, 255 - image, replace(ALL, inverted=True))
    np.testing.assert_allclose(negative.probability, upright.probability, atol=1e-4)


def test_plane_of_the_wrong_rank_is_refused(tiny_model, em):
    segmenter = Segmenter(ALL, tiny_model)
    normalization = segmenter.normalization(em.image)
    with pytest.raises(ValueError, match=r"shape \(H, W\), got \(5, 64, 64\)"):
        drain(segmenter.iter_plane(em.image, normalization))


def test_reports_grow_to_the_end(tiny_model, em):
    segmenter = Segmenter(replace(ALL, tile=32), tiny_model)
    reports = [
        item
        for item in iter_segment_planes(segmenter, em.image[:2])
        if isinstance(item, Report)
    ]
    done = [report.done for report in reports]
    assert done == sorted(done)
    assert done[-1] == reports[-1].total == 200


@pytest.fixture
def stack_file(tmp_path, em):
    path = tmp_path / "stack.tif"
    tifffile.imwrite(
        path,
        em.image[:3],
        imagej=True,
        resolution=(0.25, 0.25),
        metadata={"unit": "nm", "axes": "ZYX"},
    )
    return path


def test_files_hold_maps_recipe_and_pixel_size(stack_file, tiny_file, tiny_model, em):
    output = stack_file.parent / "out" / "x.tif"
    options = replace(ALL, model=str(tiny_file))
    written = drain(iter_segment_file(stack_file, output, options))
    assert [path.name for path in written] == [
        "x.tif",
        "x_cells.tif",
        "x_direction.tif",
    ]
    probability, cells, direction = (tifffile.imread(path) for path in written)
    assert probability.shape == cells.shape == (3, 64, 64)
    assert probability.dtype == np.float32
    assert cells.dtype == np.int32
    assert direction.shape == (3, 2, 64, 64)
    assert open_volume(written[0]).pixel_size_nm == 4
    recipe = read_recipe(written[2])
    assert recipe["model"] == "tiny"
    assert len(recipe["model_hash"]) == 16
    assert recipe["content"] == "direction"
    assert recipe["options"]["cells"] is True
    segmenter = Segmenter(ALL, tiny_model)
    fitted = segmenter.normalization(open_volume(stack_file))
    plane = drain(segmenter.iter_plane(em.image[1], fitted))
    np.testing.assert_allclose(probability[1], plane.probability, atol=1e-6)
    np.testing.assert_allclose(direction[1, 0], plane.angle, atol=1e-6)


def test_stack_without_any_value_is_named(tmp_path, tiny_file):
    path = tmp_path / "nothing.tif"
    tifffile.imwrite(path, np.full((2, 20, 20), np.nan, np.float32))
    job = iter_segment_file(
        path, tmp_path / "x.tif", replace(ALL, model=str(tiny_file))
    )
    with pytest.raises(ValueError, match=r"nothing\.tif: .*without any finite value"):
        drain(job)


def test_cells_of_time_points_are_linked_apart(tmp_path, em, tiny_file):
    path = tmp_path / "movie.tif"
    pixels = np.stack([em.image[:2], em.image[:2]])
    tifffile.imwrite(path, pixels, imagej=True, metadata={"axes": "TZYX"})
    options = replace(ALL, model=str(tiny_file))
    drain(iter_segment_file(path, tmp_path / "x.tif", options))
    cells = tifffile.imread(tmp_path / "x_cells.tif")
    first, second = (set(part[part > 0].tolist()) for part in (cells[:2], cells[2:]))
    assert first
    assert len(first) == len(second)
    assert not first & second


def test_halved_tile_is_kept_for_the_next_planes(tiny_model, em, monkeypatch):
    from roteq_core import predict

    asked = []
    plan = predict.plan_tiles

    def planned(*size, tile, **more):
        asked.append(tile)
        return plan(*size, tile=tile, **more)

    run_tile = predict._run_tile
    fails = iter([True])

    def short_of_memory(*given):
        if next(fails, False):
            raise MemoryError
        return run_tile(*given)

    monkeypatch.setattr(predict, "plan_tiles", planned)
    monkeypatch.setattr(predict, "_run_tile", short_of_memory)
    segmenter = Segmenter(replace(CPU, turns=2), tiny_model)
    drain(segmenter.iter_plane(em.image[0], segmenter.normalization(em.image)))
    assert asked == [1024, 512, 512]


def test_pixel_size_needs_a_model_that_knows_its_own(stack_file, tiny_model):
    options = replace(CPU, pixel_size_nm=8.0)
    segmenter = Segmenter(options, with_card(tiny_model, pixel_size=None))
    output = stack_file.parent / "x.tif"
    job = iter_segment_file(stack_file, output, options, segmenter=segmenter)
    with pytest.raises(ValueError, match=r"tiny does not know.*--pixel-size out"):
        next(job)


def test_distance_of_slices_is_kept(tmp_path, em, tiny_model):
    about = {"unit": "nm", "spacing": 50.0, "axes": "ZYX"}
    path = tmp_path / "s.tif"
    tifffile.imwrite(path, em.image[:2], imagej=True, metadata=about)
    segmenter = Segmenter(CPU, tiny_model)
    job = iter_segment_file(path, tmp_path / "x.tif", CPU, segmenter=segmenter)
    (written,) = drain(job)
    assert open_volume(written).z_spacing_nm == 50


def test_single_image_gives_images(tmp_path, em, tiny_file):
    tifffile.imwrite(tmp_path / "a.tif", em.image[0])
    options = replace(ALL, model=str(tiny_file))
    written = drain(iter_segment_file(tmp_path / "a.tif", tmp_path / "b.tif", options))
    shapes = [tifffile.imread(path).shape for path in written]
    assert shapes == [(64, 64), (64, 64), (2, 64, 64)]


def test_stop_leaves_no_file(stack_file, tiny_file):
    output = stack_file.parent / "out" / "x.tif"
    job = iter_segment_file(stack_file, output, replace(ALL, model=str(tiny_file)))
    while next(job).done <= 100:
        pass
    assert list(output.parent.iterdir())
    job.close()
    assert list(output.parent.iterdir()) == []


def test_input_is_never_overwritten(stack_file, tiny_file):
    options = SegmentOptions(model=str(tiny_file))
    with pytest.raises(ValueError, match="must not be the input itself"):
        next(iter_segment_file(stack_file, stack_file, options))
    folder = stack_file.parent
    with pytest.raises(ValueError, match="must not lie in the input"):
        next(iter_segment_file(folder, folder / "x.tif", options))
    (stack_file.parent / "y.tif").mkdir()
    with pytest.raises(ValueError, match="there is a folder of that name"):
        next(iter_segment_file(stack_file, stack_file.parent / "y.tif", options))


class LongStack:
    """A stack that is drawn when it is read, and knows which planes are alive."""

    ndim, dtype = 3, np.dtype(np.uint8)

    def __init__(self, count, plane):
        self.shape, self.plane, self.read = (count, *plane.shape), plane, []

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        plane = self.plane.copy()
        self.read.append(weakref.ref(plane))
        return plane

    def alive(self):
        return sum(plane() is not None for plane in self.read)


def test_planes_are_let_go_one_by_one(tiny_model, em):
    segmenter = Segmenter(SegmentOptions(device="cpu"), tiny_model)
    stack = LongStack(12, em.image[0, :16, :16])
    results = []
    for item in iter_segment_planes(segmenter, stack):
        assert stack.alive() <= 1
        if not isinstance(item, Report):
            results.append(weakref.ref(item.probability))
        del item
        assert sum(result() is not None for result in results) <= 1
    assert len(results) == 12


def test_what_was_put_around_an_image_is_no_part_of_it(tiny_model, em):
    image = np.clip(em.image[0], 1, None)
    padded = np.pad(image, 40)
    outside = np.pad(np.zeros(image.shape, bool), 40, constant_values=True)
    found = segment(tiny_model, padded)
    assert (found.probability[outside] == 0).all()
    assert not found.cells[outside].any()
    assert not found.strength[outside].any()
    assert (found.probability[~outside] > 0).all()
    assert (found.cells[~outside] > 0).all()


def test_a_blank_plane_of_a_stack_stays_blank(tiny_model, em):
    stack = np.stack([np.clip(em.image[0], 1, None), np.zeros_like(em.image[0])])
    segmenter = Segmenter(ALL, tiny_model)
    fitted = segmenter.normalization(stack)
    blank = drain(segmenter.iter_plane(stack[1], fitted))
    assert not blank.probability.any()
    assert not blank.cells.any()


def test_pixels_that_show_something_are_never_0(tiny_model, em):
    assert segment(tiny_model, em.image[0]).probability.min() > 0
