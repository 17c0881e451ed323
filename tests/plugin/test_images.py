import subprocess
import sys

import dask.array as da
import numpy as np
import pytest
import zarr
from napari.components import ViewerModel
from napari.layers import Image, Labels, Points, Shapes, Vectors

from napari_roteq import _images
from napari_roteq._images import (
    Area,
    current_index,
    empty_result,
    fit_channels,
    level_names,
    planes_of,
    transform_of,
    visible_area,
)


def ramp(*shape, dtype=np.float32):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def test_an_image_is_one_plane():
    image = ramp(5, 7)
    planes = planes_of(Image(image))
    assert planes.indices() == [()]
    np.testing.assert_array_equal(planes.read(), image)


def test_a_time_series_of_stacks_is_read_plane_by_plane():
    image = ramp(2, 3, 5, 7)
    planes = planes_of(Image(image))
    assert len(planes.indices()) == 6
    np.testing.assert_array_equal(planes.read((1, 2)), image[1, 2])


def test_an_area_is_cut_out():
    image = ramp(3, 8, 9)
    area = Area(top=2, left=1, bottom=5, right=9)
    plane = planes_of(Image(image)).read((1,), area)
    assert plane.shape == area.shape == (3, 8)
    np.testing.assert_array_equal(plane, image[1, 2:5, 1:9])


@pytest.mark.parametrize("colors", [3, 4])
def test_colors_come_first_and_alpha_is_dropped(colors):
    image = ramp(2, 5, 7, colors, dtype=np.uint8)
    planes = planes_of(Image(image, rgb=True))
    assert planes.shape == (2, 5, 7)
    plane = planes.read((1,))
    assert plane.shape == (3, 5, 7)
    np.testing.assert_array_equal(plane[2], image[1, ..., 2])


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("u1", "u1"),
        ("u2", "u2"),
        (">u2", "u2"),
        ("f4", "f4"),
        ("f8", "f8"),
        ("f2", "f4"),
        ("?", "u1"),
    ],
)
def test_what_is_read_can_be_computed_with(dtype, expected):
    plane = planes_of(Image(np.ones((4, 4), dtype))).read()
    assert plane.dtype == np.dtype(expected)
    assert plane.dtype.isnative
    assert plane.flags.c_contiguous
    assert plane.sum() == 16


class Lazy:
    """An array that remembers which parts were asked for and cannot be had whole."""

    shape, ndim, dtype, size = (1000, 2000, 3000), 3, np.dtype("f4"), 6_000_000_000

    def __init__(self):
        self.asked = []

    def __getitem__(self, key):
        self.asked.append(key)
        return np.zeros([len(range(*k.indices(10**6))) for k in key[1:]], "f4")

    def __array__(self, *args, **kwargs):
        raise MemoryError("the whole array was asked for")


def test_only_the_asked_part_of_lazy_data_is_touched():
    lazy = Lazy()
    planes = _images.Planes(lazy, False, (1.0, 1.0, 1.0))
    assert planes.read((7,), Area(10, 20, 14, 25)).shape == (4, 5)
    assert lazy.asked == [(7, slice(10, 14), slice(20, 25))]


def test_dask_and_zarr_layers_are_read():
    image = ramp(4, 6, 6)
    stored = zarr.array(image, chunks=(1, 6, 6))
    for lazy in (da.from_array(image, chunks=(1, 6, 6)), stored):
        layer = Image(lazy, multiscale=False)
        np.testing.assert_array_equal(planes_of(layer).read((2,)), image[2])


def test_each_level_of_a_multiscale_image_can_be_chosen():
    image = ramp(3, 16, 12)
    levels = [image, image[:, ::2, ::2], image[:, ::4, ::4]]
    layer = Image(levels, multiscale=True)
    planes = planes_of(layer, level=2)
    assert planes.step == (1, 4, 4)
    np.testing.assert_array_equal(planes.read((1,)), image[1, ::4, ::4])
    assert level_names(layer) == ["16 × 12", "8 × 6", "4 × 3"]
    with pytest.raises(ValueError, match=r"level must be in 0…2 .* got 3"):
        planes_of(layer, level=3)


def test_labels_are_read_like_images():
    labels = ramp(3, 5, 5, dtype=np.int32)
    np.testing.assert_array_equal(planes_of(Labels(labels)).read((2,)), labels[2])


def test_channels_are_fitted_to_the_model():
    gray = ramp(4, 5)
    colors = fit_channels(gray, 3)
    assert colors.shape == (3, 4, 5)
    np.testing.assert_allclose(fit_channels(colors, 1), gray, rtol=1e-5)
    assert fit_channels(gray, 1) is not None
    assert fit_channels(gray[None], 1).shape == (4, 5)
    with pytest.raises(ValueError, match="expects 5 channels, the image has 3"):
        fit_channels(colors, 5)


def test_the_plane_in_view_is_found_through_scale_and_translate():
    viewer = ViewerModel()
    layer = viewer.add_image(ramp(10, 8, 8), scale=(40, 4, 4), translate=(100, 0, 0))
    viewer.dims.set_point(0, 100 + 40 * 7)
    assert current_index(viewer, layer, planes_of(layer)) == (7,)


def test_the_plane_in_view_is_clipped_to_a_shorter_layer():
    viewer = ViewerModel()
    short = viewer.add_image(ramp(3, 8, 8))
    viewer.add_image(ramp(20, 8, 8))
    viewer.dims.set_point(0, 15)
    assert current_index(viewer, short, planes_of(short)) == (2,)


def test_a_flat_layer_among_stacks_has_an_empty_index():
    viewer = ViewerModel()
    flat = viewer.add_image(ramp(8, 8))
    viewer.add_image(ramp(20, 8, 8))
    assert current_index(viewer, flat, planes_of(flat)) == ()


def test_the_plane_in_view_is_counted_in_the_chosen_level():
    viewer = ViewerModel()
    image = ramp(16, 16, 16)
    layer = viewer.add_image([image, image[::4, ::4, ::4]], multiscale=True)
    viewer.dims.set_point(0, 9)
    assert current_index(viewer, layer, planes_of(layer, level=1)) == (2,)


def turned(image, **more):
    ndim = image[0].ndim if more.get("multiscale") else image.ndim
    affine = np.eye(ndim + 1)
    affine[-3, -2], affine[-2, -1] = 0.3, 5.0
    return Image(
        image,
        scale=np.arange(2, 2 + ndim),
        translate=10.0 * np.arange(1, 1 + ndim),
        rotate=np.array(
            [[0.8, -0.6], [0.6, 0.8]]
            if ndim == 2
            else [[1, 0, 0], [0, 0.8, -0.6], [0, 0.6, 0.8]]
        ),
        shear=[0.2] * (ndim * (ndim - 1) // 2),
        affine=affine,
        units=("um",) * ndim,
        axis_labels=("z", "y", "x")[-ndim:],
        **more,
    )


def same_place(source, source_position, result, result_position):
    np.testing.assert_allclose(
        source.data_to_world(source_position),
        result.data_to_world(result_position),
        atol=1e-9,
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda t: Image(np.zeros((4, 8, 9)), **t),
        lambda t: Labels(np.zeros((4, 8, 9), int), **t),
        lambda t: Vectors(np.ones((3, 2, 3)), **t),
        lambda t: Points(np.ones((3, 3)), **t),
        lambda t: Shapes([np.array([[0, 0, 0], [0, 0, 5], [0, 5, 5], [0, 5, 0]])], **t),
    ],
    ids=["Image", "Labels", "Vectors", "Points", "Shapes"],
)
def test_results_of_every_kind_lie_where_the_image_lies(make):
    source = turned(np.zeros((4, 8, 9)))
    result = make(transform_of(source))
    for position in [(0, 0, 0), (1, 2, 3), (3, 7, 8)]:
        same_place(source, position, result, position)
    assert result.units == source.units
    assert result.axis_labels == ("z", "y", "x")
    np.testing.assert_allclose(result.scale, source.scale)
    np.testing.assert_allclose(result.shear, source.shear)
    np.testing.assert_allclose(result.rotate, source.rotate)


def test_a_crop_of_a_turned_image_lies_where_it_was_cut():
    source = turned(np.zeros((20, 30)))
    result = Image(np.zeros((5, 6)), **transform_of(source, area=Area(3, 7, 8, 13)))
    same_place(source, (3, 7), result, (0, 0))
    same_place(source, (7, 12), result, (4, 5))


def test_a_single_plane_of_a_stack_lies_in_its_place():
    source = turned(np.zeros((9, 20, 30)))
    result = Image(np.zeros((1, 20, 30)), **transform_of(source, index=(6,)))
    same_place(source, (6, 2, 3), result, (0, 2, 3))


def test_the_result_of_a_coarse_level_covers_the_same_ground():
    image = np.zeros((16, 12))
    source = turned([image, image[::4, ::4]], multiscale=True)
    planes = planes_of(source, level=1)
    result = Image(np.zeros((4, 3)), **transform_of(source, step=planes.step))
    same_place(source, (-0.5, -0.5), result, (-0.5, -0.5))
    same_place(source, (15.5, 11.5), result, (3.5, 2.5))


def test_an_area_of_a_coarse_level_is_counted_in_its_pixels():
    image = np.zeros((16, 12))
    source = turned([image, image[::2, ::2]], multiscale=True)
    step = planes_of(source, level=1).step
    transform = transform_of(source, step=step, area=Area(3, 1, 8, 6))
    same_place(source, (5.5, 1.5), Image(np.zeros((5, 5)), **transform), (-0.5, -0.5))


def test_small_results_are_numpy_and_huge_ones_are_on_disk(monkeypatch):
    assert isinstance(empty_result((2, 8, 8), np.float32), np.ndarray)
    monkeypatch.setattr(_images, "_LARGE", 100)
    large = empty_result((3, 8, 8), np.float32)
    assert isinstance(large, zarr.Array)
    assert large.chunks == (1, 8, 8)
    large[1] = 5
    assert large[1].sum() == 320
    assert large[2].sum() == 0


def test_without_a_canvas_everything_is_visible():
    viewer = ViewerModel()
    layer = viewer.add_image(ramp(3, 20, 30))
    planes = planes_of(layer)
    assert visible_area(viewer, layer, planes) == planes.whole


@pytest.mark.parametrize("multiscale", [False, True])
def test_the_visible_area_follows_the_camera(make_napari_viewer, qtbot, multiscale):
    viewer = make_napari_viewer(show=True)
    image = np.zeros((3, 2000, 3000), np.uint8)
    data = [image, image[:, ::4, ::4]] if multiscale else image
    layer = viewer.add_image(data, multiscale=multiscale, scale=(1, 2, 2))
    planes = planes_of(layer)
    qtbot.wait(50)
    assert visible_area(viewer, layer, planes).shape[0] > 1900
    camera = viewer.scene.camera if hasattr(viewer, "scene") else viewer.camera
    camera.center = (0, 2 * 1000, 2 * 600)
    camera.zoom = 4
    viewer.screenshot(canvas_only=True, flash=False)  # draws
    area = visible_area(viewer, layer, planes)
    assert area.top < 1000 < area.bottom
    assert area.left < 600 < area.right
    assert area.shape[0] < 600
    assert area.shape[1] < 700


def test_an_image_out_of_view_is_named(make_napari_viewer, qtbot):
    viewer = make_napari_viewer(show=True)
    layer = viewer.add_image(np.zeros((50, 50)), name="cells")
    camera = viewer.scene.camera if hasattr(viewer, "scene") else viewer.camera
    camera.center = (0, 5000, 5000)
    viewer.screenshot(canvas_only=True, flash=False)
    with pytest.raises(ValueError, match="cells must be in view"):
        visible_area(viewer, layer, planes_of(layer))


def test_no_qt_is_loaded():
    code = (
        "import sys, napari_roteq._images; "
        "print([m for m in sys.modules if m.startswith(('PyQt', 'PySide'))])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr
