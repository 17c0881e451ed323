import numpy as np
import pytest
import tifffile

from roteq_core import areas
from roteq_core.config import SegmentOptions
from roteq_core.files.plane_writer import read_recipe
from roteq_core.jobs import drain
from roteq_core.membranes.segment_part import iter_segment_part, iter_segment_part_file
from roteq_core.normalize import fit_normalization
from roteq_core.serving.membranes import iter_segment_plane


@pytest.fixture
def stack():
    return np.random.default_rng(0).integers(0, 255, (3, 32, 40), dtype=np.uint8)


@pytest.mark.parametrize("area", [(4, 8, 28, 40), (13, 0, 25, 21)])
def test_part_of_a_file_is_what_the_whole_gives_there(
    tiny_file, stack, tmp_path, area, monkeypatch
):
    stack = np.tile(stack, (1, 5, 5))[:, :157, :195]
    monkeypatch.setattr(areas, "CONTEXT", 60)
    tifffile.imwrite(tmp_path / "em.tif", stack, photometric="minisblack")
    options = SegmentOptions(model=tiny_file, close=False, direction=True)
    top, left, bottom, right = (side + 40 for side in area)
    job = iter_segment_part(
        tmp_path / "em.tif", options, plane=2, area=(top, left, bottom, right)
    )
    part = drain(job)
    given = stack[2], fit_normalization(stack), None
    whole = drain(iter_segment_plane(given, options))
    for name, found in part.items():
        expected = whole[name][top:bottom, left:right]
        np.testing.assert_allclose(found, expected, atol=1e-5)
    alone = stack[2, top:bottom, left:right], given[1], None
    alone = drain(iter_segment_plane(alone, options))["probability"]
    assert np.abs(alone - part["probability"]).max() > 0.01


def test_part_is_written_with_the_hash_of_the_model(tiny_file, stack, tmp_path):
    source = tmp_path / "em.tif"
    tifffile.imwrite(source, stack, photometric="minisblack")
    options = SegmentOptions(model=tiny_file)
    job = iter_segment_part_file(source, tmp_path / "x.tif", options, plane=1)
    (written,) = drain(job)
    assert len(read_recipe(written)["model_hash"]) == 16
    with pytest.raises(ValueError, match="must not be the input itself"):
        drain(iter_segment_part_file(source, source, options))
    assert (tifffile.imread(source) == stack).all()


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        ({"plane": 3}, "0…2"),
        ({"area": (0, 9, 5, 9)}, "hold pixels"),
        ({"area": (-5, 0, 5, 9)}, r"got \(-5"),
        ({"area": (0, 0, 33, 9)}, "of 32 × 40 pixels"),
    ],
)
def test_part_outside_the_file_is_refused(tiny_file, stack, tmp_path, part, rule):
    tifffile.imwrite(tmp_path / "em.tif", stack, photometric="minisblack")
    job = iter_segment_part(
        tmp_path / "em.tif", SegmentOptions(model=tiny_file), **part
    )
    with pytest.raises(ValueError, match=rule):
        drain(job)
