from __future__ import annotations

import pytest

from roteq_core.cars.splits import read_split


def test_splits_are_read_and_missing_ones_refused(tmp_path):
    (tmp_path / "cars.csv").write_text(
        "file,cx,cy,length_px,width_px,heading_cw_from_up_deg,stationary_id,split\n"
        "a.jpg,1,2,50,20,90,-1,test\n"
    )
    frames = read_split(tmp_path, "test")
    assert frames.cars[0][0].length == 50
    with pytest.raises(ValueError, match="no rows with split 'train'"):
        read_split(tmp_path, "train")
    with pytest.raises(ValueError, match=r"no cars\.csv"):
        read_split(tmp_path / "nowhere", "test")


def test_rows_of_other_splits_in_the_same_frame_are_doubtful(tmp_path):
    (tmp_path / "cars.csv").write_text(
        "file,cx,cy,length_px,width_px,heading_cw_from_up_deg,stationary_id,split\n"
        "a.jpg,1,2,50,20,90,-1,test\n"
        "a.jpg,3,4,50,20,90,7,test_seen_stationary\n"
        "b.jpg,5,6,50,20,90,-1,train\n"
    )
    frames = read_split(tmp_path, "test")
    assert [path.name for path in frames.images] == ["a.jpg"]
    assert [car.cx for car in frames.cars[0]] == [1]
    assert [car.cx for car in frames.doubtful[0]] == [3]
