from __future__ import annotations

from roteq_core.config import SegmentOptions
from roteq_core.membranes.outputs import output_paths


def test_names_of_files_follow_the_output(tmp_path):
    paths = output_paths(
        tmp_path / "a.tiff", SegmentOptions(cells=True, direction=True)
    )
    assert [path.name for path in paths.values()] == [
        "a.tiff",
        "a_cells.tiff",
        "a_direction.tiff",
    ]


def test_only_what_is_asked_for_is_written(tmp_path):
    paths = output_paths(tmp_path / "a.tif", SegmentOptions())
    assert paths == {"probability": tmp_path / "a.tif"}
