import csv
import re

import pytest

from roteq_core.tables import (
    ADDED_COLUMNS,
    AXIS_ONLY,
    Car,
    car_from_corners,
    read_cars,
    write_cars,
)

HEADER = "cx,cy,length_px,width_px,heading_cw_from_up_deg"


@pytest.fixture
def read(tmp_path):
    def read_text(text, name="cars.csv", **kwargs):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_cars(path, **kwargs)

    return read_text


def rewritten(table, folder):
    """Write a table and give its rows as dicts, by the standard library."""
    path = folder / "out.csv"
    write_cars(table, path)
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_real_table_is_understood(real_data):
    table = read_cars(real_data / "cars_aerial" / "cars.csv")
    assert len(table) == 1315
    assert len(table.files) == 44
    assert table.notes == ()
    first = table.cars[0]
    assert (first.cx, first.cy, first.length, first.width) == (
        *(191.51, 270.31),
        *(46.77, 18.56),
    )
    assert first.heading_cw_from_up_deg == 89.89
    assert first.extra == {"stationary_id": "-1", "split": "train"}
    assert len(table.for_image("frame_101.jpg")) == 38


def test_the_real_table_keeps_every_cell(real_data, tmp_path):
    source = real_data / "cars_aerial" / "cars.csv"
    rows = rewritten(read_cars(source), tmp_path)
    with source.open(newline="") as stream:
        for before, after in zip(csv.DictReader(stream), rows, strict=True):
            for name, text in before.items():
                kept = after[name]
                assert kept == text or float(kept) == float(text)


def test_columns_may_come_in_any_order(read):
    table = read("y,note,heading_cw_from_up_deg,X\n2,hello,90,1\n")
    assert table.cars == (
        Car(1, 2, heading_cw_from_up_deg=90, extra={"note": "hello"}),
    )


def test_output_keeps_columns_in_order_and_adds_ours(read, tmp_path):
    table = read("zeta,cy,cx,alpha\nz,2,1,a\n")
    row = rewritten(table, tmp_path)[0]
    assert list(row)[:4] == ["zeta", "cy", "cx", "alpha"]
    assert set(ADDED_COLUMNS) <= set(row)
    assert (row["zeta"], row["alpha"]) == ("z", "a")


def test_extra_cells_are_kept_letter_for_letter(read, tmp_path):
    cells = ["007", " padded ", "1e3", 'with "quotes", and commas', "ünï", "two\nlines"]
    quoted = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
    names = ",".join(f"e{i}" for i in range(len(cells)))
    table = read(f"cx,cy,{names}\n1,2,{quoted}\n")
    row = rewritten(table, tmp_path)[0]
    assert [row[f"e{i}"] for i in range(len(cells))] == cells


def test_our_added_columns_say_what_the_car_says(tmp_path, read):
    table = read(f"{HEADER}\n1,2,40,20,30\n")
    car = table.cars[0].with_heading(
        210.5, heading_sd_deg=3.25, p_flip=0.125, status="machine", source="cars 1.0"
    )
    row = rewritten(table.with_cars([car]), tmp_path)[0]
    expected = {
        "heading_cw_from_up_deg": "210.5",
        "angle_ccw_from_right_deg": "239.5",
        "heading_sd_deg": "3.25",
        "p_flip": "0.125",
        "status": "machine",
        "source": "cars 1.0",
    }
    assert {name: row[name] for name in expected} == expected
    assert read_cars(tmp_path / "out.csv").cars == (car,)


def test_the_mathematical_angle_alone_gives_the_heading(read):
    assert read("cx,cy,angle_ccw_from_right_deg\n0,0,90\n").cars == (
        Car(0, 0, heading_cw_from_up_deg=0),
    )


def test_an_angle_without_convention_is_kept_and_not_used(read, tmp_path):
    table = read("cx,cy,angle\n0,0,90\n")
    assert table.cars[0].heading_cw_from_up_deg is None
    assert "'angle' names no angle convention" in table.notes[0]
    assert rewritten(table, tmp_path)[0]["angle"] == "90"


def test_corner_columns_give_a_box_without_a_front(read):
    table = read("x1,y1,x2,y2,x3,y3,x4,y4\n0,0,40,0,40,20,0,20\n")
    car = table.cars[0]
    assert (car.cx, car.cy, car.length, car.width) == (20, 10, 40, 20)
    assert (car.axis_cw_from_up_deg, car.status) == (90, AXIS_ONLY)
    assert car.heading_cw_from_up_deg is None


def test_a_heading_tells_which_side_of_the_corners_is_the_length(read):
    text = "x1,y1,x2,y2,x3,y3,x4,y4,heading_cw_from_up_deg\n0,0,40,0,40,20,0,20,180\n"
    car = read(text).cars[0]
    assert (car.length, car.width, car.axis_cw_from_up_deg) == (20, 40, None)


def test_a_model_leaves_the_corner_columns_alone(read, tmp_path):
    table = read("x1,y1,x2,y2,x3,y3,x4,y4\n0,0,40,0,40,20,0,20.0\n")
    car = table.cars[0].with_heading(272.0, status="machine")
    row = rewritten(table.with_cars([car]), tmp_path)[0]
    corners = " ".join(row[f"{a}{i}"] for i in "1234" for a in "xy")
    assert corners == "0 0 40 0 40 20 0 20.0"


def test_a_reviewer_turns_and_moves_the_corner_columns(read, tmp_path):
    table = read("x1,y1,x2,y2,x3,y3,x4,y4\n0,0,40,0,40,20,0,20\n")
    car = table.cars[0].with_heading(0.0, status="edited")
    row = rewritten(table.with_cars([car]), tmp_path)[0]
    corners = [float(row[f"{a}{i}"]) for i in "1234" for a in "xy"]
    # front left, front right, rear right, rear left of a car that points up
    assert corners == pytest.approx([10, -10, 30, -10, 30, 30, 10, 30])


def test_a_reviewer_s_small_turn_moves_the_corner_columns_too(read, tmp_path):
    table = read("x1,y1,x2,y2,x3,y3,x4,y4\n0,0,40,0,40,20,0,20\n")
    car = table.cars[0].with_heading(100.0, status="edited")
    row = rewritten(table.with_cars([car]), tmp_path)[0]
    corners = [[float(row[f"{a}{i}"]) for a in "xy"] for i in "1234"]
    back = car_from_corners(corners, order="front edge first")
    assert back.heading_cw_from_up_deg == pytest.approx(100)


def test_upright_bounds_give_the_center_alone(read, tmp_path):
    table = read("xmin,ymin,xmax,ymax\n10,20,30,60\n")
    assert (table.cars[0].cx, table.cars[0].cy) == (20, 40)
    assert table.cars[0].length is None
    row = rewritten(table, tmp_path)[0]
    bounds = " ".join(row[n] for n in ("xmin", "ymin", "xmax", "ymax"))
    assert bounds == "10 20 30 60"


def test_bounds_move_with_the_car(read, tmp_path):
    table = read("xmin,ymin,xmax,ymax\n10,20,30,60\n")
    row = rewritten(table.with_cars([Car(25, 41, extra=table.cars[0].extra)]), tmp_path)
    assert [float(row[0][n]) for n in ("xmin", "ymin", "xmax", "ymax")] == [
        *(15, 21),
        *(35, 61),
    ]


def test_empty_optional_cells_stay_open(read):
    car = read(f"{HEADER},p_flip\n1,2,,NaN,,n/a\n").cars[0]
    assert (car.length, car.width, car.heading_cw_from_up_deg, car.p_flip) == (
        None,
    ) * 4


def test_a_table_without_rows_is_empty_and_keeps_its_columns(read, tmp_path):
    table = read("cx,cy,note\n")
    assert len(table) == 0
    write_cars(table, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().startswith("cx,cy,note,")
    assert len(read_cars(tmp_path / "out.csv")) == 0


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_are_found_and_kept(read, tmp_path, delimiter):
    table = read(f"cx{delimiter}cy{delimiter}note\n1{delimiter}2{delimiter}a,b\n")
    assert table.cars[0].extra == {"note": "a,b"}
    write_cars(table, tmp_path / "out.csv")
    assert f"cx{delimiter}cy" in (tmp_path / "out.csv").read_text()


def test_a_byte_order_mark_and_windows_lines_are_no_matter(read):
    assert read(b"\xef\xbb\xbfcx,cy\r\n1,2\r\n\r\n").cars == (Car(1, 2),)


def test_header_lines_are_kept(read, tmp_path):
    text = '# recipe: {"model": "cars"}\n# by hand\ncx,cy\n1,2\n'
    table = read(text)
    assert table.header == {"recipe": {"model": "cars"}, "comment": "by hand"}
    write_cars(table, tmp_path / "out.csv")
    assert read_cars(tmp_path / "out.csv").header == table.header


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs columns cx and cy"),
        ("a,b\n1,2\n", "needs columns cx and cy, or x1, .* got a, b"),
        ("cx,cx,cy\n1,2,3\n", r"different names, got \['cx'\] twice"),
        ("cx,cy\n1,2\nx,2\n", r"row 2 \(line 3\): cx must be a finite number, got 'x'"),
        ("cx,cy\n1,2\n3,\n", r"row 2 \(line 3\): cy must be a number, got an empty"),
        ("cx,cy\n1,nan\n", r"row 1 \(line 2\): cy must be a number, got an empty"),
        ("cx,cy\n1,inf\n", r"row 1 \(line 2\): cy must be a finite number, got 'inf'"),
        ("cx,cy\n1,2,3\n", r"row 1 \(line 2\): a row must have 2 cells .* got 3"),
        ("cx;cy\n1,5;2\n", r"row 1 \(line 2\): cx must be a finite number, got '1,5'"),
        ("# a: b\n\ncx,cy\n1\n", r"row 1 \(line 4\): a row must have 2 cells"),
        (f"{HEADER}\n1,2,-4,2,0\n", r"row 1 \(line 2\): length must be positive"),
        ("cx,cy,p_flip\n1,2,7\n", r"row 1 \(line 2\): p_flip must lie in"),
        ('cx,cy\n1,"2\n', r"line 2: not CSV"),
        ("x,y,w,h\n1,2,3,4\n", "may be a center or a corner"),
        ("cx,cy,car_id\n1,2,a\n3,4,a\n", "row 2: car_id must be unique, got 'a' again"),
        (
            "cx,cy,heading_cw_from_up_deg,angle_ccw_from_right_deg\n1,2,90,90\n",
            r"row 1 .* same direction, got 90 and 90 \(which is heading 0\)",
        ),
        (
            "x1,y1,x2,y2,x3,y3,x4,y4\n1,2,3,4,5,6,7,\n",
            r"row 1 \(line 2\): x1 … y4 must be all given or all empty, got 7 of 8",
        ),
    ],
)
def test_what_cannot_be_read_is_named_with_file_row_and_rule(read, text, message):
    with pytest.raises(ValueError, match=f"^cars.csv: .*{message}") as caught:
        read(text)
    assert re.search(message, str(caught.value))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings_are_named(read, encoding):
    with pytest.raises(ValueError, match=r"cars.csv: tables must be UTF-8 .* line"):
        read("cx,cy,note\n1,2,ü\n".encode(encoding))


def test_a_null_byte_is_no_csv(read):
    with pytest.raises(ValueError, match=r"cars.csv: (row|line) \d"):
        read(b"cx,cy\n1,2\x00\n")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Accepted", "accepted"),
        (" EDITED ", "edited"),
        ("rejected", "rejected"),
        ("Axis  only", "axis only"),
        ("Machine", "machine"),
        ("Checked by Ann", "Checked by Ann"),
    ],
)
def test_a_known_status_is_read_however_it_is_spelt(read, written, meant):
    table = read(f"cx,cy,heading_cw_from_up_deg,status\n1,2,300,{written}\n", "a.csv")
    assert table.cars[0].status == meant
