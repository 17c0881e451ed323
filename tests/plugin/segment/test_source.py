import dask.array as da
import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Image

from napari_roteq._images import Area
from napari_roteq._segment.source import pixel_size_nm, plan_work, source_of
from roteq_core.areas import CONTEXT
from roteq_core.normalize import fit_normalization


@pytest.fixture
def stack():
    return np.random.default_rng(0).integers(0, 255, (4, 20, 30), dtype=np.uint8)


def test_plane_is_normalized_like_the_whole_stack(stack):
    plane, normalization = source_of(Image(stack)).read((2,), inverted=False)
    np.testing.assert_array_equal(plane, stack[2])
    assert normalization == fit_normalization(stack)


def test_area_is_normalized_like_the_whole_image(stack):
    source = source_of(Image(stack[0]), area=Area(2, 3, 10, 13))
    plane, normalization = source.read((), inverted=True)
    np.testing.assert_array_equal(plane, stack[0, 2:10, 3:13])
    assert source.shape == (8, 10)
    assert normalization == fit_normalization(stack[0], inverted=True)


def test_area_is_read_with_what_counts_around_it(stack):
    plane = np.tile(stack[0], (40, 40))
    source = source_of(Image(plane), area=Area(301, 302, 310, 313))
    read, normalization, keep = source.read_around((), inverted=True)
    assert normalization.inverted
    assert min(read.shape) >= 2 * CONTEXT
    found = read[keep[0] : keep[2], keep[1] : keep[3]]
    assert (found == plane[301:310, 302:313]).all()
    whole, _, keep = source_of(Image(plane)).read_around((), inverted=False)
    assert keep is None
    assert (whole == plane).all()


def test_gray_colors_keep_their_values(stack):
    colors = np.stack([stack[0]] * 3, axis=-1)
    plane, _ = source_of(Image(colors, rgb=True)).read((), inverted=False)
    np.testing.assert_array_equal(plane, stack[0])


def test_huge_levels_are_judged_by_a_coarser_one(monkeypatch, stack):
    monkeypatch.setattr("napari_roteq._segment.source._ENOUGH", 200)
    read = []

    def note(block):
        read.append(block.shape)
        return block

    fine = da.from_array(stack, chunks=stack.shape).map_blocks(note, meta=stack[:0])
    source = source_of(Image([fine, stack[:, ::2, ::2]], multiscale=True))
    read.clear()
    assert source._statistics is not None
    assert read == []


@pytest.mark.parametrize(
    ("part", "indices"),
    [("current slice", [(1,)]), ("whole stack", [(0,), (1,), (2,), (3,)])],
)
def test_work_is_the_slice_in_view_or_all(stack, part, indices):
    viewer = ViewerModel()
    layer = viewer.add_image(stack)
    viewer.dims.set_current_step(0, 1)
    work = plan_work(viewer, layer, part)
    assert list(work.indices) == indices
    assert work.focus == (1,)


@pytest.mark.parametrize(
    ("units", "size"), [("nm", 4.0), ("um", 4000.0), ("pixel", None), ("s", None)]
)
def test_pixel_size_comes_from_the_units(stack, units, size):
    layer = Image(stack, scale=(50, 4, 4), units=units)
    assert pixel_size_nm(layer) == size


@pytest.mark.parametrize(
    ("scale", "size"),
    [((50, 12, 4), None), ((50, 4, 12), None), ((50, 4.06, 4), 4.0), ((50, -4, 4), 4)],
)
def test_pixels_that_are_not_square_have_no_size(stack, scale, size):
    assert pixel_size_nm(Image(stack, scale=scale, units="nm")) == size


def test_pixel_size_of_a_coarser_level_counts_its_own_pixels(stack):
    levels = [stack, stack[:, 1::2, ::2], stack[:, ::7, ::15]]
    layer = Image(levels, multiscale=True, scale=(50, 4, 4), units="nm")
    assert [pixel_size_nm(layer, level) for level in range(3)] == [4, 8, 60]


def test_pixel_size_needs_lengths_along_both_sides(stack):
    assert pixel_size_nm(Image(stack[0], scale=(4, 4), units=("s", "nm"))) is None
