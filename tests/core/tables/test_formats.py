"""What all formats share: telling them apart, refusing, the file beside."""

import pytest

from roteq_core.tables import (
    AXIS_ONLY,
    Car,
    CarTable,
    detect_format,
    read_cars,
    write_cars as write,
)

# A car at (100, 50), 40 long and 20 wide, that points right.
RIGHT = Car(100, 50, length=40, width=20, heading_cw_from_up_deg=90, label="car")


SIZE = (200, 400)  # height, width
DOTA = "imagesource:GoogleEarth\ngsd:0.12\n120 40 120 60 80 60 80 40 car 1\n"
YOLO = "0 0.3 0.2 0.3 0.3 0.2 0.3 0.2 0.2\n"
VOC = "<annotation><object><name>car</name></object></annotation>"


def test_tables_are_parted_by_what_their_ending_says(tmp_path):
    for name, mark in (("a.tsv", "\t"), ("a.csv", ",")):
        write(CarTable((RIGHT,)), tmp_path / name)
        assert f"cx{mark}cy" in (tmp_path / name).read_text()
        assert read_cars(tmp_path / name).cars == (RIGHT,)


@pytest.mark.parametrize("format", ["dota", "yolo-obb"])
def test_a_line_changed_by_another_tool_is_foreign_again(tmp_path, format):
    path = tmp_path / "a.txt"
    cars = tuple(
        Car(50 * i, 60, 40, 20, heading_cw_from_up_deg=10 * i, extra={"note": str(i)})
        for i in range(1, 5)
    )
    write(CarTable(cars, ("note",), image_size=SIZE), path, format=format)
    lines = [x for x in path.read_text().splitlines() if ":" not in x]
    moved = lines[1].replace(lines[1].split()[1], "0.25", 1)
    path.write_text("\n".join([lines[3], moved, lines[0]]) + "\n")
    table = read_cars(path)
    assert table.cars[0] == cars[3]
    assert table.cars[2] == cars[0]
    assert table.cars[1].status == AXIS_ONLY
    assert "1 lines were changed" in table.notes[-1]
    assert "2 of its cars are gone" in table.notes[-1]


@pytest.mark.parametrize("format", ["dota", "yolo-obb"])
def test_lines_that_are_alike_keep_their_own_columns(tmp_path, format):
    cars = tuple(Car(50, 60, 40, 20, 10, extra={"note": n}) for n in ("a", "b"))
    path = tmp_path / "a.txt"
    write(CarTable(cars, ("note",), image_size=SIZE), path, format=format)
    assert read_cars(path).cars == cars


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a.csv", "cx,cy\n", "csv"),
        ("a.dat", "cx;cy\n1;2\n", "csv"),
        ("a.txt", DOTA, "dota"),
        ("a.txt", "1 1 2 1 2 2 1 2 car 0\n", "dota"),
        ("a.txt", YOLO, "yolo-obb"),
        ("a.txt", "", "yolo-obb"),
        ("a.txt", "gsd:0.12\n", "dota"),
        ("a.xml", VOC, "voc-rolabelimg"),
        ("a.json", "{}", "geojson"),
        ("noending", DOTA, "dota"),
        ("noending", YOLO, "yolo-obb"),
    ],
)
def test_formats_are_told_apart(name, text, format):
    assert detect_format(name, text) == format


def test_an_empty_label_file_is_an_empty_table_and_stays_empty(read, tmp_path):
    table = read("", "a.txt")
    assert len(table) == 0
    write(table, tmp_path / "b.txt", sidecar=False)
    assert (tmp_path / "b.txt").read_text() == ""


def test_an_unknown_format_is_named(read, tmp_path):
    with pytest.raises(ValueError, match=r"a\.dat: the format must be one of csv"):
        read("hello\n", "a.dat")
    with pytest.raises(ValueError, match=r"format must be one of .* got 'kml'"):
        read("", "a.txt", format="kml")
    with pytest.raises(ValueError, match=r"must be given for a\.txt"):
        write(CarTable(()), tmp_path / "a.txt")


@pytest.mark.parametrize("format", ["dota", "yolo-obb", "voc-labelimg2"])
def test_formats_of_boxes_refuse_cars_without(tmp_path, format):
    table = CarTable((RIGHT, Car(1, 2, label="car")), image_size=SIZE)
    with pytest.raises(ValueError, match=r"a\.out: car 2: a box needs .* got no leng"):
        write(table, tmp_path / "a.out", format=format)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", ["dota", "yolo-obb", "voc-labelimg2"])
def test_formats_of_one_image_refuse_two(tmp_path, format):
    cars = (Car(1, 2, 3, 4, 5, file="a.png"), Car(1, 2, 3, 4, 5, file="b.png"))
    with pytest.raises(ValueError, match=r"one image a file, got 2: a\.png, b\.png"):
        write(CarTable(cars, image_size=SIZE), tmp_path / "a.out", format=format)
