from __future__ import annotations

import pickle

import numpy as np
import pytest
import tifffile
import zarr
from imageio import v3 as imageio

from roteq_core.files.volumes import open_volume, to_gray

STACK = np.arange(12 * 10 * 14, dtype=np.uint16).reshape(12, 10, 14)


def write_ome_zarr(path, array, *, version=3):
    group = zarr.create_group(path, zarr_format=version)
    group.create_array("0", data=array)
    axes = ["t", "c", "z", "y", "x"][-array.ndim :]
    scales = [
        {
            "axes": [
                {
                    "name": a,
                    "type": {"t": "time", "c": "channel"}.get(a, "space"),
                    "unit": "micrometer",
                }
                for a in axes
            ],
            "datasets": [
                {
                    "path": "0",
                    "coordinateTransformations": [
                        {
                            "type": "scale",
                            "scale": [0.05] * (array.ndim - 2) + [0.004] * 2,
                        }
                    ],
                }
            ],
        }
    ]
    group.attrs["ome" if version == 3 else "multiscales"] = (
        {"version": "0.5", "multiscales": scales} if version == 3 else scales
    )


def imagej(path, array):
    tifffile.imwrite(
        path,
        array,
        imagej=True,
        resolution=(250, 250),
        metadata={"unit": "\\u00B5m", "axes": "ZYX"},
    )


def imagej_beyond_4_gb(path, array):
    """One page that all planes follow, as ImageJ writes its large stacks."""
    with tifffile.TiffWriter(path, imagej=True) as tif:
        tif.write(array, truncate=True)


def ome(path, array):
    size = {"PhysicalSizeX": 0.004, "PhysicalSizeXUnit": "µm"}
    tifffile.imwrite(path, array, ome=True, metadata={"axes": "ZYX", **size})


def plain_with_size(path, array):
    per_cm = 1e7 / 4
    tifffile.imwrite(
        path, array, resolution=(per_cm, per_cm), resolutionunit="CENTIMETER"
    )


@pytest.mark.parametrize(
    ("write", "size"),
    [
        (lambda path, a: tifffile.imwrite(path, a), None),
        (lambda path, a: tifffile.imwrite(path, a, compression="zlib"), None),
        (lambda path, a: tifffile.imwrite(path, a, byteorder=">"), None),
        (lambda path, a: tifffile.imwrite(path, a, bigtiff=True), None),
        (imagej, 4.0),
        (imagej_beyond_4_gb, None),
        (ome, 4.0),
        (plain_with_size, 4.0),
    ],
)
def test_tiff_of_any_writer_is_read_plane_by_plane(tmp_path, write, size):
    path = tmp_path / "stack.tif"
    write(path, STACK)
    volume = open_volume(path)
    assert volume.shape == STACK.shape
    assert volume.pixel_size_nm == (None if size is None else pytest.approx(size))
    assert volume[3].shape == (10, 14)
    assert (volume.read() == STACK).all()
    assert (volume.read(range(3, 5)) == STACK[3:5]).all()


def test_resolution_for_a_printer_is_no_pixel_size(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, STACK[0], resolution=(72, 72), resolutionunit="INCH")
    assert open_volume(path).pixel_size_nm is None


def test_single_page_is_a_stack_of_one(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", STACK[0])
    assert open_volume(tmp_path / "a.tif").shape == (1, 10, 14)


def test_color_pages_become_gray(tmp_path):
    color = np.random.default_rng(0).integers(0, 255, (10, 14, 3), dtype=np.uint8)
    tifffile.imwrite(tmp_path / "c.tif", color, photometric="rgb")
    volume = open_volume(tmp_path / "c.tif")
    assert volume.shape == (1, 10, 14)
    np.testing.assert_allclose(
        volume[0], color @ [0.299, 0.587, 0.114], rtol=0, atol=1e-3
    )


def test_white_stored_as_zero_is_told_of_and_not_changed(tmp_path):
    path = tmp_path / "w.tif"
    tifffile.imwrite(path, STACK, photometric="miniswhite")
    volume = open_volume(path)
    assert (volume.read() == STACK).all()
    assert "w.tif is stored with white as zero" in volume.note
    tifffile.imwrite(path, STACK)
    assert open_volume(path).note == ""


@pytest.mark.parametrize("count", [3, 4])
@pytest.mark.parametrize("kind", ["uint8", "int32"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_three_or_four_slices_are_no_colors(tmp_path, count, kind):
    stack = STACK[:count].astype(kind)
    tifffile.imwrite(
        tmp_path / "c.tif", stack, photometric="rgb", planarconfig="separate"
    )
    tifffile.imwrite(tmp_path / "d.tif", stack)
    for name in ("c.tif", "d.tif"):
        volume = open_volume(tmp_path / name)
        assert volume.shape == stack.shape
        assert (volume.read() == stack).all()


def test_gray_stored_as_color_keeps_its_values():
    gray = np.arange(12, dtype=np.uint8).reshape(3, 4)
    for stored in (np.stack([gray] * 3, -1), np.stack([gray] * 4, -1), gray[..., None]):
        assert to_gray(stored).dtype == np.uint8
        assert (to_gray(stored) == gray).all()


def test_plane_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"got \(3, 4, 5\)"):
        to_gray(np.zeros((3, 4, 5)))


def cut_off(path, array, **options):
    """Write a stack in one page, and cut the file off behind its first planes."""
    tifffile.imwrite(path, array, planarconfig="separate", photometric="rgb", **options)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_opening_never_changes_a_file(tmp_path):
    path = tmp_path / "cut.tif"
    cut_off(path, STACK[:4])
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"cannot read the TIFF .*cut.tif"):
        open_volume(path)
    assert path.read_bytes() == before


def test_file_is_mapped_for_reading_only(tmp_path):
    path = tmp_path / "large.tif"
    imagej_beyond_4_gb(path, STACK)
    assert not open_volume(path)[3].flags.writeable


def one_by_one(path, planes, **options):
    with tifffile.TiffWriter(path) as tif:
        for plane in planes:
            tif.write(plane, **options)


def appended(path, planes, **options):
    for plane in planes:
        tifffile.imwrite(path, plane, append=True, **options)


@pytest.mark.parametrize("write", [one_by_one, appended])
def test_planes_written_one_by_one_are_one_stack(tmp_path, write):
    write(tmp_path / "gray.tif", STACK)
    assert (open_volume(tmp_path / "gray.tif").read() == STACK).all()
    colors = np.repeat(STACK[:4, :, :, None].astype(np.uint8), 3, -1)
    write(tmp_path / "color.tif", colors, photometric="rgb")
    assert (open_volume(tmp_path / "color.tif").read() == colors[..., 0]).all()


def test_stacks_of_different_sizes_in_one_file_are_refused(tmp_path):
    one_by_one(tmp_path / "a.tif", [STACK[:3], STACK[:3, :5]])
    with pytest.raises(ValueError, match="pages of one stack must have the same size"):
        open_volume(tmp_path / "a.tif")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compressed_planes_of_one_page_are_read_one_by_one(tmp_path, monkeypatch):
    path = tmp_path / "c.tif"
    packed = {"compression": "zlib", "photometric": "rgb", "planarconfig": "separate"}
    tifffile.imwrite(path, STACK[:4], **packed)
    monkeypatch.setattr(tifffile, "imread", None)  # reads all at once
    volume = open_volume(path)
    assert (volume[2] == STACK[2]).all()
    assert (volume.read() == STACK[:4]).all()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_damaged_compressed_planes_are_named(tmp_path):
    path = tmp_path / "c.tif"
    packed = {"compression": "zlib", "photometric": "rgb", "planarconfig": "separate"}
    tifffile.imwrite(path, STACK[:4], **packed)
    with tifffile.TiffFile(path) as tif:
        offset = tif.pages[0].dataoffsets[1]
    content = bytearray(path.read_bytes())
    content[offset : offset + 20] = bytes(20)
    path.write_bytes(content)
    volume = open_volume(path)
    assert (volume[0] == STACK[0]).all()
    with pytest.raises(ValueError, match=r"cannot read plane 1 of .*c.tif"):
        volume[1]


def imagej_with_spacing(path, array):
    about = {"unit": "nm", "spacing": 50.0, "axes": "ZYX"}
    tifffile.imwrite(path, array, imagej=True, resolution=(1, 1), metadata=about)


def ome_with_spacing(path, array):
    size = {"PhysicalSizeZ": 0.05, "PhysicalSizeZUnit": "µm"}
    tifffile.imwrite(path, array, ome=True, metadata={"axes": "ZYX", **size})


@pytest.mark.parametrize(
    ("write", "spacing"),
    [(imagej_with_spacing, 50.0), (ome_with_spacing, 50.0), (imagej, None)],
)
def test_distance_of_slices_is_read(tmp_path, write, spacing):
    write(tmp_path / "s.tif", STACK)
    found = open_volume(tmp_path / "s.tif").z_spacing_nm
    assert found == (None if spacing is None else pytest.approx(spacing))


def test_channels_beside_slices_are_refused_not_mixed(tmp_path):
    two = np.stack([STACK, STACK], 1)
    tifffile.imwrite(tmp_path / "c.ome.tif", two, metadata={"axes": "ZCYX"})
    with pytest.raises(ValueError, match="has 2 channels"):
        open_volume(tmp_path / "c.ome.tif")
    write_ome_zarr(tmp_path / "c.zarr", np.stack([STACK, STACK])[None])
    with pytest.raises(ValueError, match="has 2 channels"):
        open_volume(tmp_path / "c.zarr")


def test_slices_that_were_saved_as_channels_are_slices(tmp_path):
    tifffile.imwrite(tmp_path / "c.tif", STACK, imagej=True, metadata={"axes": "CYX"})
    assert (open_volume(tmp_path / "c.tif").read() == STACK).all()


def test_pages_of_different_sizes_are_refused(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as tif:
        for plane in (STACK[0], STACK[1, :5], STACK[2]):
            tif.write(plane, metadata=None)
    with pytest.raises(ValueError, match="pages of one stack must have the same size"):
        open_volume(tmp_path / "a.tif")


@pytest.mark.parametrize("suffix", [".png", ".tif", ".bmp"])
def test_folder_is_read_in_the_order_of_its_numbers(tmp_path, suffix):
    planes = (STACK % 256).astype(np.uint8)
    for z, plane in enumerate(planes):
        imageio.imwrite(tmp_path / f"slice{z}{suffix}", plane)
    (tmp_path / f"._slice0{suffix}").write_bytes(b"a Mac's litter")
    (tmp_path / "notes.txt").write_text("hello")
    volume = open_volume(tmp_path)
    assert volume.shape == STACK.shape
    assert (volume.read() == planes).all()


def test_folder_of_stacks_is_one_stack(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", STACK[:7])
    tifffile.imwrite(tmp_path / "b.tif", STACK[7:])
    volume = open_volume(tmp_path)
    assert (volume.read() == STACK).all()
    assert "2 stacks (a.tif, b.tif) as one of 12 slices" in volume.note


def test_folder_of_images_is_not_held_in_memory(tmp_path, monkeypatch):
    imageio.imwrite(tmp_path / "0.png", STACK[0].astype(np.uint8))
    imageio.imwrite(tmp_path / "1.png", STACK[0].astype(np.uint8))
    asked = []
    read = imageio.imread
    monkeypatch.setattr(imageio, "imread", lambda p: asked.append(p.name) or read(p))
    volume = open_volume(tmp_path)
    assert asked == []
    volume[1]
    assert asked == ["1.png"]


def test_images_of_16_bits_keep_them(tmp_path):
    imageio.imwrite(tmp_path / "0.png", STACK[5])
    assert (open_volume(tmp_path / "0.png")[0] == STACK[5]).all()


@pytest.mark.parametrize("version", [2, 3])
def test_ome_zarr_gives_its_full_size_and_pixels(tmp_path, version):
    write_ome_zarr(tmp_path / "v.zarr", STACK[None, None], version=version)
    volume = open_volume(tmp_path / "v.zarr")
    assert volume.pixel_size_nm == pytest.approx(4)
    assert (volume.read() == STACK).all()


def test_plain_zarr_arrays_are_read(tmp_path):
    zarr.create_array(tmp_path / "a.zarr", data=STACK)
    zarr.create_array(tmp_path / "one", data=STACK[0], zarr_format=2)
    assert (open_volume(tmp_path / "a.zarr").read() == STACK).all()
    assert (open_volume(tmp_path / "one").read() == STACK[:1]).all()


def broken_files(folder):
    (folder / "text.tif").write_text("no picture")
    (folder / "text.png").write_text("no picture")
    (folder / "text.doc").write_text("no picture")
    (folder / "empty").mkdir()
    (folder / "empty.zarr").mkdir()
    zarr.create_group(folder / "group.zarr")
    zarr.create_array(folder / "line.zarr", data=np.arange(3))
    zarr.create_array(folder / "complex.zarr", data=np.zeros((3, 3), complex))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing.tif", "there is no file or folder"),
        ("text.tif", "cannot read the TIFF"),
        ("text.png", "cannot read the image"),
        ("text.doc", "must be a .tif, .png"),
        ("empty", "holds no images"),
        ("empty.zarr", "cannot read the Zarr"),
        ("group.zarr", "without OME-Zarr 'multiscales'"),
        ("line.zarr", r"must hold planes \(H, W\), got shape \(3,\)"),
        ("complex.zarr", "must be numbers, got complex128"),
    ],
)
def test_unreadable_inputs_are_named(tmp_path, name, message):
    broken_files(tmp_path)
    with pytest.raises(ValueError, match=message) as caught:
        open_volume(tmp_path / name)
    assert name in str(caught.value)


def test_folder_of_different_sizes_names_both_files(tmp_path):
    imageio.imwrite(tmp_path / "a.png", np.zeros((8, 8), np.uint8))
    imageio.imwrite(tmp_path / "b.png", np.zeros((8, 9), np.uint8))
    with pytest.raises(ValueError, match=r"\(8, 8\) in a.png and \(8, 9\) in b.png"):
        open_volume(tmp_path)


def test_folder_of_different_number_types_names_both_files(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", STACK[0].astype(np.uint8))
    tifffile.imwrite(tmp_path / "b.tif", STACK[1])
    with pytest.raises(ValueError, match=r"uint8 in a.tif and uint16 in b.tif"):
        open_volume(tmp_path)


def test_folder_of_different_byte_orders_is_one_stack(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", STACK[0], byteorder=">")
    tifffile.imwrite(tmp_path / "b.tif", STACK[1], byteorder="<")
    imageio.imwrite(tmp_path / "c.png", STACK[2])
    assert (open_volume(tmp_path).read() == STACK[:3]).all()


def with_size(path, size):
    per_cm = 1e7 / size
    resolution = {"resolution": (per_cm, per_cm), "resolutionunit": "CENTIMETER"}
    tifffile.imwrite(path, STACK[0], **resolution)


def test_folder_of_different_pixel_sizes_has_none_and_says_so(tmp_path):
    with_size(tmp_path / "a.tif", 4.0)
    tifffile.imwrite(tmp_path / "b.tif", STACK[1])
    assert open_volume(tmp_path).pixel_size_nm == pytest.approx(4)
    assert open_volume(tmp_path).note == ""
    with_size(tmp_path / "b.tif", 8.0)
    volume = open_volume(tmp_path)
    assert volume.pixel_size_nm is None
    assert "different pixel sizes, 4 nm in a.tif and 8 nm in b.tif" in volume.note


def test_folder_tells_the_notes_of_its_files(tmp_path):
    for name in ("a.tif", "b.tif"):
        tifffile.imwrite(tmp_path / name, STACK[0], photometric="miniswhite")
    note = open_volume(tmp_path).note
    assert "a.tif is stored with white as zero" in note
    assert "the first of 2 files with a note" in note


def test_folder_of_a_movie_keeps_the_depth_of_its_time_points(tmp_path):
    pixels = np.zeros((2, 3, 8, 9), np.uint8)
    for name in ("a.tif", "b.tif"):
        path = tmp_path / name
        tifffile.imwrite(path, pixels, imagej=True, metadata={"axes": "TZYX"})
    assert open_volume(tmp_path).depth == 3


def test_plane_cut_off_in_the_file_is_named(tmp_path):
    path = tmp_path / "cut.tif"
    tifffile.imwrite(path, STACK, compression="zlib")
    with tifffile.TiffFile(path) as tif:
        offset = tif.pages[11].dataoffsets[0]
    content = bytearray(path.read_bytes())
    content[offset : offset + 20] = bytes(20)
    path.write_bytes(content)
    volume = open_volume(path)
    assert (volume[0] == STACK[0]).all()
    with pytest.raises(ValueError, match=r"cannot read plane 11 of .*cut.tif"):
        volume[11]


def ends_early(path, **options):
    """Write a stack, and cut its file off after six pages."""
    tifffile.imwrite(path, STACK, **options)
    with tifffile.TiffFile(path) as tif:
        end = tif.pages[6].offset
    path.write_bytes(path.read_bytes()[:end])
    return path


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "zlib"},
        {"compression": "zlib", "imagej": True},
        {"imagej": True},
    ],
)
def test_stack_that_ends_early_is_refused_before_any_work(tmp_path, options):
    path = ends_early(tmp_path / "half.tif", **options)
    with pytest.raises(ValueError, match=r"half.tif: the file is cut off"):
        open_volume(path)


def test_stack_that_does_not_say_its_size_may_be_ends_early(tmp_path):
    volume = open_volume(ends_early(tmp_path / "half.ome.tif", compression="zlib"))
    assert len(volume) == 6
    assert "may be cut off: 6 planes of it can be read" in volume.note


def test_planes_of_axes_without_names_are_told_of(tmp_path):
    pixels = np.zeros((2, 3, 8, 9), np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", pixels)
    volume = open_volume(tmp_path / "a.tif")
    assert volume.depth is None
    assert "its 2 × 3 planes as one stack of 6" in volume.note
    zarr.save_array(tmp_path / "a.zarr", pixels)
    assert "its 2 × 3 planes as one stack of 6" in open_volume(tmp_path / "a.zarr").note


def test_plane_beyond_the_stack_is_refused(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", STACK)
    with pytest.raises(IndexError, match=r"has planes 0…11, got 12"):
        open_volume(tmp_path / "a.tif")[12]


@pytest.mark.parametrize("index", [(2, slice(0, 10)), slice(0, 2), 1.7, "1", ()])
def test_index_that_names_no_plane_is_refused(tmp_path, index):
    tifffile.imwrite(tmp_path / "a.tif", STACK)
    with pytest.raises(ValueError, match=r"indexed by the number of a plane.*, got "):
        open_volume(tmp_path / "a.tif")[index]


@pytest.mark.parametrize("index", [3, np.int64(3), np.uint8(3), (np.intp(3),)])
def test_index_may_be_an_integer_of_any_kind(tmp_path, index):
    tifffile.imwrite(tmp_path / "a.tif", STACK)
    assert (open_volume(tmp_path / "a.tif")[index] == STACK[3]).all()


def test_time_points_keep_their_depth_and_are_told_of(tmp_path):
    path = tmp_path / "movie.tif"
    pixels = np.zeros((2, 3, 8, 9), np.uint8)
    tifffile.imwrite(path, pixels, imagej=True, metadata={"axes": "TZYX"})
    volume = open_volume(path)
    assert volume.shape == (6, 8, 9)
    assert volume.depth == 3
    assert "2 time points of 3 slices one after the other, 6 in all" in volume.note
    tifffile.imwrite(path, pixels[0], imagej=True, metadata={"axes": "ZYX"})
    assert open_volume(path).note == ""
    assert open_volume(path).depth is None
    tifffile.imwrite(path, pixels[:, 0], imagej=True, metadata={"axes": "TYX"})
    assert open_volume(path).depth is None  # slices that are called time points
    path = tmp_path / "interleaved.ome.tif"
    tifffile.imwrite(path, pixels, metadata={"axes": "ZTYX"})
    assert open_volume(path).depth is None


@pytest.mark.parametrize("version", [2, 3])
def test_time_points_of_zarr_keep_their_depth(tmp_path, version):
    array = np.zeros((2, 1, 3, 8, 9), np.uint8)
    write_ome_zarr(tmp_path / "movie.zarr", array, version=version)
    volume = open_volume(tmp_path / "movie.zarr")
    assert (volume.shape, volume.depth) == ((6, 8, 9), 3)
    write_ome_zarr(tmp_path / "one.zarr", array[:1], version=version)
    assert open_volume(tmp_path / "one.zarr").depth is None


@pytest.mark.parametrize("name", ["a.zarr", "a.png", "folder"])
def test_volume_that_was_read_can_be_pickled(tmp_path, name):
    zarr.save_array(tmp_path / "a.zarr", STACK[:1])
    imageio.imwrite(tmp_path / "a.png", STACK[0])
    (tmp_path / "folder").mkdir()
    imageio.imwrite(tmp_path / "folder" / "a.png", STACK[0])
    volume = open_volume(tmp_path / name)
    assert (volume[0] == STACK[0]).all()
    again = pickle.loads(pickle.dumps(volume))
    assert (again.read() == STACK[:1]).all()
