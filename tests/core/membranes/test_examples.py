from __future__ import annotations

import numpy as np
import pytest
import tifffile

from roteq_core.membranes.examples import make_examples, read_examples


def test_stack_and_labels_are_read_and_described(tmp_path, em):
    tifffile.imwrite(tmp_path / "a.tif", em.image)
    tifffile.imwrite(tmp_path / "b.tif", em.cells)
    found = read_examples(tmp_path / "a.tif", tmp_path / "b.tif")
    assert (found.membranes == (em.cells == 0)).all()
    assert found.held_out == range(4, 5)
    assert found.description["images"] == "a.tif"
    assert found.description["held_out"] == [4, 4]
    assert found.description["labelled_share"] == 1


def test_shapes_that_differ_are_named_with_their_files(tmp_path, em):
    tifffile.imwrite(tmp_path / "a.tif", em.image)
    tifffile.imwrite(tmp_path / "b.tif", em.cells[:4])
    with pytest.raises(
        ValueError, match=r"\(5, 64, 64\) in .*a.tif and \(4, 64, 64\) in .*b.tif"
    ):
        read_examples(tmp_path / "a.tif", tmp_path / "b.tif")


def test_unreadable_labels_are_named(tmp_path, em):
    tifffile.imwrite(tmp_path / "a.tif", em.image)
    (tmp_path / "b.tif").write_text("no labels")
    with pytest.raises(ValueError, match=r"cannot read the TIFF .*b.tif"):
        read_examples(tmp_path / "a.tif", tmp_path / "b.tif")


def test_labels_of_one_kind_only_are_refused(em):
    with pytest.raises(ValueError, match="show membranes and cells"):
        make_examples(em.image, np.zeros_like(em.image), kind="membranes")
    with pytest.raises(ValueError, match="every pixel has the ignored label 3"):
        make_examples(em.image, np.full_like(em.image, 3), ignore=3)


def test_images_that_show_nothing_are_refused_by_name(tmp_path, em):
    tifffile.imwrite(tmp_path / "b.tif", em.cells)
    steps = np.ones(em.image.shape) * np.arange(len(em.image))[:, None, None]
    steps[2, :3] = np.nan
    for images, message in (
        (np.full_like(em.image, 7), r"images in a.tif .* every slice .*, got \[7\]"),
        (steps, "images in a.tif must show something"),
        (np.full(em.image.shape, np.nan), "images in a.tif must have a finite value"),
    ):
        tifffile.imwrite(tmp_path / "a.tif", images)
        with pytest.raises(ValueError, match=message):
            read_examples(tmp_path / "a.tif", tmp_path / "b.tif")


def test_slices_of_one_value_beside_others_are_taken(em):
    images = em.image.astype(np.float32)
    images[0], images[1] = 7, np.nan
    assert make_examples(images, em.cells).images.shape == em.image.shape


def test_partial_labels_are_kept_apart(em):
    labels = np.where(em.membranes, 1, 2).astype(np.uint8)
    labels[:, 20:] = 0
    found = make_examples(
        em.image,
        np.where(labels == 2, 0, 255 * (labels == 1)) + 7 * (labels == 0),
        kind="membranes",
        ignore=7,
    )
    assert found.known[:, :20].all()
    assert not found.known[:, 20:].any()
    assert found.description["labelled_share"] == pytest.approx(20 / 64, abs=1e-3)


def test_reading_of_the_labels_is_described(em):
    told = make_examples(em.image, em.cells).description
    assert told["labels_read_as"] == "labels"
    assert "values" in told["labels_read_because"]


def test_files_that_are_no_labels_are_refused_with_the_way_out(tmp_path, em):
    tifffile.imwrite(tmp_path / "a.tif", em.image)
    with pytest.raises(ValueError, match=r"Are these labels\?.*--label-kind"):
        read_examples(tmp_path / "a.tif", tmp_path / "a.tif")


def test_wrong_slices_are_not_blamed_on_the_labels(tmp_path, em):
    tifffile.imwrite(tmp_path / "a.tif", em.image)
    tifffile.imwrite(tmp_path / "b.tif", em.cells)
    with pytest.raises(ValueError, match=r"slices must lie in 0…4, got '20'$"):
        read_examples(tmp_path / "a.tif", tmp_path / "b.tif", held_out="20")


def test_slices_without_labels_are_not_held_out(em):
    labels = em.cells.copy()
    labels[3:] = 0
    assert make_examples(em.image, labels).held_out == range(2, 3)


def test_single_slice_is_trained_on_whole(em):
    found = make_examples(em.image[0], em.cells[0])
    assert found.images.shape == (1, 64, 64)
    assert len(found.held_out) == 0
    assert found.description["held_out"] is None


def test_fingerprint_tells_other_data_apart(em):
    first = make_examples(em.image, em.cells).description["fingerprint"]
    changed = em.image.copy()
    changed[0, 0, 0] ^= 1
    assert make_examples(changed, em.cells).description["fingerprint"] != first
    other = make_examples(em.image, em.cells, held_out="0-1")
    assert other.description["fingerprint"] != first


def test_painted_labels_are_known_where_they_were_painted(em):
    labels = np.zeros(em.image.shape, np.uint8)
    labels[:, :20] = np.where(em.membranes[:, :20], 1, 2)
    found = make_examples(em.image, labels, kind="painted")
    assert (found.known == (labels > 0)).all()
    assert (found.membranes == (labels == 1)).all()
