"""Exports: which file and format is meant, and what is never overwritten."""

import numpy as np
import pytest
from napari.layers import Image

from napari_roteq._car_export import chosen_file, save_cars
from napari_roteq._review.export import TRAINING_SET, export_review
from napari_roteq._review.frame import Frame
from napari_roteq._review.journal import done_path, journal_path
from roteq_core.tables import Car, CarTable, detect_format, read_cars, write_cars

CAR = Car(100, 50, 40, 20, 30, status="accepted")
REJECTED = Car(10, 50, 40, 20, 30, status="rejected")
CSV, GEOJSON = "CSV (*.csv)", "GeoJSON (*.geojson)"
DOTA, YOLO = "DOTA (*.txt)", "YOLO-OBB (*.txt)"
VOC = "VOC, roLabelImg (*.xml)"


@pytest.mark.parametrize(
    ("typed", "chosen", "name", "kind"),
    [
        ("ex.geojson", CSV, "ex.geojson", "geojson"),
        ("ex.JSON", CSV, "ex.JSON", "geojson"),
        ("ex.tsv", GEOJSON, "ex.tsv", "csv"),
        ("ex.csv", YOLO, "ex.csv", "csv"),
        ("ex.txt", YOLO, "ex.txt", "yolo-obb"),
        ("ex.txt", CSV, "ex.txt", "dota"),
        ("ex.xml", VOC, "ex.xml", "voc-rolabelimg"),
        ("ex.xml", CSV, "ex.xml", "voc-labelimg2"),
        ("ex", GEOJSON, "ex.geojson", "geojson"),
        ("ex", "", "ex.csv", "csv"),
        ("ex.txt", "", "ex.txt", "dota"),
        ("ex.v2", CSV, "ex.v2", "csv"),
        ("ex.v2", "", "ex.v2", None),
    ],
)
def test_a_known_ending_counts_more_than_the_filter(typed, chosen, name, kind):
    file, format = chosen_file(typed, chosen)
    assert (file.name, format) == (name, kind)


def test_files_are_written_in_the_format_of_their_ending(tmp_path):
    table = CarTable((CAR,))
    path = tmp_path / "ex.geojson"
    export_review(table, str(path), CSV, None)
    assert detect_format(path.name, path.read_text()) == "geojson"
    save_cars(table, str(tmp_path / "b.geojson"), CSV)
    assert read_cars(tmp_path / "b.geojson").format == "geojson"
    with pytest.raises(ValueError, match=r"known format, got '\.v2'"):
        export_review(table, str(tmp_path / "ex.v2"), "", None)


@pytest.fixture
def own(tmp_path):
    table = CarTable((CAR, REJECTED))
    write_cars(table, tmp_path / "scene.csv")
    return tmp_path / "scene.csv"


def export(own, path, chosen=CSV, **fields):
    cars = (CAR.with_heading(30, status="accepted", **fields), REJECTED)
    return export_review(CarTable(cars), str(path), chosen, None, own)


@pytest.mark.parametrize("way", ["same", "link", "folders"])
def test_the_table_under_review_is_not_exported_over(own, tmp_path, way):
    path = own
    if way == "link":
        path = tmp_path / "other.csv"
        path.symlink_to(own)
    elif way == "folders":
        (tmp_path / "deep").mkdir()
        path = tmp_path / "deep" / ".." / "scene.csv"
    with pytest.raises(ValueError, match="is the table under review: use Save"):
        export(own, path)
    assert len(read_cars(own)) == 2


def test_a_training_set_is_not_written_over_the_table_under_review(own, tmp_path):
    with pytest.raises(ValueError, match=r"scene\.csv: that is the table under review"):
        export(own, tmp_path, TRAINING_SET, file="scene.png")
    assert len(read_cars(own)) == 2
    layer = Image(np.zeros((9, 9)), metadata={"path": str(tmp_path / "scene.png")})
    with pytest.raises(ValueError, match=r"scene\.csv: that is the table under review"):
        export_review(CarTable((CAR,)), str(tmp_path), TRAINING_SET, Frame(layer), own)
    export(own, tmp_path / "set", TRAINING_SET, file="scene.png")
    assert len(read_cars(tmp_path / "set" / "scene.csv")) == 1


@pytest.mark.parametrize("path_of", [journal_path, done_path])
def test_files_beside_the_table_under_review_are_not_exported_over(own, path_of):
    beside = path_of(own)
    with pytest.raises(ValueError, match="belongs to the table under review"):
        export(own, beside)
    assert not beside.exists()


def test_other_files_in_the_folder_may_be_exported_to(own, tmp_path):
    path, _ = export(own, tmp_path / "scene2.csv")
    assert len(read_cars(path)) == 1
    path, _ = export(own, tmp_path / "scene.geojson", GEOJSON)
    assert len(read_cars(path)) == 1
