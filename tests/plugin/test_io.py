import numpy as np
import pytest

from napari_roteq._car_shapes import TABLE
from napari_roteq._io import get_cars_reader, get_model_reader, write_car_layer
from napari_roteq._session import Session
from roteq_core.tables import Car, CarTable, read_cars, write_cars


@pytest.fixture
def table():
    return CarTable(
        (
            Car(30, 20, 12, 5, heading_cw_from_up_deg=80, label="car"),
            Car(60, 50, 10, 4, heading_cw_from_up_deg=200, label="car"),
        )
    )


@pytest.mark.parametrize("ending", ["csv", "tsv", "geojson", "xml", "txt"])
def test_cars_survive_reading_and_writing(table, tmp_path, ending):
    first, second = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    write_cars(table, first, format="dota" if ending == "txt" else None)
    reader = get_cars_reader(str(first))
    ((data, meta, kind),) = reader(str(first))
    assert kind == "shapes"
    assert write_car_layer(str(second), data, meta) == [str(second)]
    headings = [car.heading_cw_from_up_deg for car in read_cars(second).cars]
    np.testing.assert_allclose(headings, [80, 200], atol=0.1)


def test_other_tables_are_left_to_other_readers(tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    assert get_cars_reader(str(tmp_path / "other.csv")) is None
    (tmp_path / "notes.txt").write_text("hello\n")
    assert get_cars_reader(str(tmp_path / "notes.txt")) is None


def test_other_safetensors_are_left_to_other_readers(tmp_path, membrane_model):
    (tmp_path / "x.safetensors").write_bytes(b"nothing")
    assert get_model_reader(str(tmp_path / "x.safetensors")) is None
    assert get_model_reader(membrane_model) is not None


def test_opening_a_model_opens_its_widget(make_napari_viewer, membrane_model):
    viewer = make_napari_viewer()
    viewer.open(membrane_model, plugin="napari-roteq")
    assert Session.of(viewer).model.path == membrane_model
    assert "Model (napari-roteq)" in viewer.window.dock_widgets
    assert not viewer.layers


def test_viewer_opens_and_saves_boxes(make_napari_viewer, table, tmp_path):
    viewer = make_napari_viewer()
    write_cars(table, tmp_path / "cars.csv")
    (layer,) = viewer.open(tmp_path / "cars.csv", plugin="napari-roteq")
    assert len(layer.metadata[TABLE]) == 2
    layer.save(str(tmp_path / "again.geojson"), plugin="napari-roteq")
    assert len(read_cars(tmp_path / "again.geojson")) == 2
