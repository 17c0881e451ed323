import pytest

from roteq_core.tables import (
    AXIS_ONLY,
    FORMATS,
    Car,
    CarTable,
    read_car_folder,
    write_car_folder,
)

SIZE = (720, 1280)
CARS = (
    Car(10, 20, 40, 20, 30, label="car", file="a.png", id="1", extra={"n": "x"}),
    Car(50, 60, 40, 20, 210, label="bus", file="b.png", id="2", extra={"n": "y"}),
    Car(90, 70, 40, 20, 110, label="bus", file="a.png", id="3", extra={"n": "z"}),
)
TABLE = CarTable(CARS, ("n",))


@pytest.mark.parametrize("format", FORMATS)
def test_a_folder_gives_the_table_back(tmp_path, format):
    paths = write_car_folder(TABLE, tmp_path / "out", format=format, image_sizes=SIZE)
    assert [path.stem for path in paths] == ["a", "b"]
    back = read_car_folder(tmp_path / "out", image_sizes=SIZE)
    expected = [CARS[0], CARS[2], CARS[1]]  # by image
    assert [(c.id, c.label, c.file) for c in back] == [
        (c.id, c.label, c.file) for c in expected
    ]
    headings = [car.heading_cw_from_up_deg for car in back]
    assert headings == pytest.approx([30, 110, 210])


def test_yolo_classes_have_one_number_in_all_files(tmp_path):
    write_car_folder(
        TABLE, tmp_path, format="yolo-obb", image_sizes={"a": SIZE, "b.png": SIZE}
    )
    assert (tmp_path / "classes.txt").read_text().split() == ["bus", "car"]
    numbers = [
        [line[0] for line in (tmp_path / f"{name}.txt").read_text().splitlines()]
        for name in "ab"
    ]
    assert numbers == [["1", "0"], ["0"]]


def test_foreign_label_folders_are_named_by_their_files(tmp_path):
    for name in ("p1", "p2"):
        (tmp_path / f"{name}.txt").write_text("gsd:0.1\n0 0 40 0 40 20 0 20 car 0\n")
    table = read_car_folder(tmp_path)
    assert [car.file for car in table] == ["p1", "p2"]
    assert {car.status for car in table} == {AXIS_ONLY}
    write_car_folder(table, tmp_path / "out", format="dota")
    assert (tmp_path / "out" / "p2.txt").read_text().startswith("gsd:0.1\n")


def test_ids_that_repeat_in_a_folder_are_told_apart(tmp_path):
    for name in ("p1", "p2"):
        (tmp_path / f"{name}.csv").write_text("cx,cy,car_id\n1,2,1\n")
    ids = [car.id for car in read_car_folder(tmp_path)]
    assert len(set(ids)) == 2


def test_cars_without_an_image_cannot_be_sorted_by_image(tmp_path):
    with pytest.raises(ValueError, match="every car must name its file, got none in"):
        write_car_folder(
            TABLE.with_cars([*CARS, Car(1, 2)]), tmp_path / "out", format="csv"
        )
    assert not (tmp_path / "out").exists()


def test_the_car_without_an_image_is_told_by_name_or_place(tmp_path):
    cars = [*CARS, Car(1, 2, id="new-4"), Car(8, 9)]
    with pytest.raises(ValueError, match="got none in new-4, the car at x 8, y 9"):
        write_car_folder(TABLE.with_cars(cars), tmp_path / "out", format="csv")


def test_images_that_would_share_a_file_are_refused(tmp_path):
    cars = (Car(1, 2, file="x/a.png"), Car(1, 2, file="y/a.png"))
    with pytest.raises(ValueError, match="different names without ending, got a"):
        write_car_folder(CarTable(cars), tmp_path, format="csv")
