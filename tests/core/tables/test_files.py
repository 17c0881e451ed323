import os
import stat

import pytest

from roteq_core.tables import (
    Car,
    CarTable,
    FileChangedError,
    fingerprint,
    fingerprint_of,
    read_cars,
    render_cars,
    write_atomically,
    write_cars,
)

TABLE = CarTable((Car(1, 2, 30, 10, 45),), image_size=(100, 100))


def test_a_table_knows_the_fingerprint_of_its_file(tmp_path):
    path = tmp_path / "cars.csv"
    written = write_cars(TABLE, path)
    assert written == fingerprint(path) == read_cars(path).fingerprint


def test_a_missing_file_has_an_empty_fingerprint(tmp_path):
    assert fingerprint(tmp_path / "none.csv") == ""


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path):
    path = tmp_path / "cars.csv"
    write_cars(TABLE, path)
    before = fingerprint(path)
    path.write_text("cx,cy\n5,6\n")
    with pytest.raises(FileChangedError, match=r"cars\.csv has changed on disk"):
        write_cars(TABLE, path, if_changed_since=before)
    assert path.read_text() == "cx,cy\n5,6\n"


def test_a_file_that_did_not_change_is_overwritten(tmp_path):
    path = tmp_path / "cars.csv"
    before = write_cars(TABLE, path)
    os.utime(path, (1, 1))  # touched, not changed
    after = write_cars(TABLE.with_cars([]), path, if_changed_since=before)
    assert after == fingerprint(path) != before


def test_an_empty_fingerprint_stands_for_no_file(tmp_path):
    path = tmp_path / "cars.csv"
    write_cars(TABLE, path, if_changed_since="")
    with pytest.raises(FileChangedError):
        write_cars(TABLE, path, if_changed_since="")


def test_a_change_of_the_file_beside_counts(tmp_path):
    path = tmp_path / "cars.txt"
    before = write_cars(TABLE, path, format="yolo-obb")
    beside = tmp_path / "cars.txt.roteq.csv"
    beside.write_text(beside.read_text().replace("45", "225"))
    with pytest.raises(FileChangedError):
        write_cars(TABLE, path, format="yolo-obb", if_changed_since=before)


def test_the_file_beside_is_emptied_with_its_table(tmp_path):
    path = tmp_path / "cars.txt"
    write_cars(TABLE, path, format="dota")
    written = write_cars(TABLE.with_cars([]), path, format="dota")
    assert written == fingerprint(path)
    assert "45" not in (tmp_path / "cars.txt.roteq.csv").read_text()


def test_what_will_be_written_has_the_fingerprint_that_is_written(tmp_path):
    path = tmp_path / "cars.txt"
    contents = render_cars(TABLE, path, format="yolo-obb")
    assert not path.exists()
    assert write_cars(TABLE, path, format="yolo-obb") == fingerprint_of(contents)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "cars.csv"
    write_cars(TABLE, path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_cars(TABLE.with_cars([]), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_table_that_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "cars.xml"
    write_cars(TABLE, path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="car 1"):
        write_cars(TABLE.with_cars([Car(1, 2)]), path)
    assert path.read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_permissions_are_kept(tmp_path):
    path = tmp_path / "cars.csv"
    write_cars(TABLE, path)
    assert stat.S_IMODE(path.stat().st_mode) & 0o600 == 0o600
    path.chmod(0o640)
    write_cars(TABLE, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "cars.csv", tmp_path / "cars.csv"
    target.write_text("cx,cy\n")
    link.symlink_to(target)
    write_atomically(link, b"cx,cy\n1,2\n")
    assert link.is_symlink()
    assert target.read_text() == "cx,cy\n1,2\n"


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(ValueError, match="read_car_folder"):
        read_cars(tmp_path)


def test_a_missing_table_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_cars(tmp_path / "none.csv")
