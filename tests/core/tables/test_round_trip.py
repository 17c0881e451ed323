"""Whatever is written is read again: geometry, headings, columns, for every format."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from roteq_core.tables import AXIS_ONLY, FORMATS, Car, CarTable, read_cars, write_cars

SIZE = (720, 1280)
NAMES = {
    "csv": "cars.csv",
    "geojson": "cars.geojson",
    "dota": "cars.txt",
    "yolo-obb": "cars.txt",
    "voc-labelimg2": "cars.xml",
    "voc-rolabelimg": "cars.xml",
}
# Any text that a cell may hold; surrogates are no text, and XML refuses controls.
TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"),
    max_size=8,
)
OPTIONAL = st.none() | st.floats(0, 1)


@st.composite
def cars(draw, *, front=None):
    directed = draw(st.booleans()) if front is None else front
    heading = draw(st.floats(0, 360, exclude_max=True))
    return Car(
        draw(st.floats(-100, 5000)),
        draw(st.floats(-100, 5000)),
        draw(st.floats(2, 300)),
        draw(st.floats(2, 300)),
        heading_cw_from_up_deg=heading if directed else None,
        axis_cw_from_up_deg=None if directed else heading,
        status=draw(st.sampled_from(["", "machine"])) if directed else AXIS_ONLY,
        heading_sd_deg=draw(OPTIONAL),
        p_flip=draw(OPTIONAL),
        score=draw(OPTIONAL),
        source=draw(TEXT),
        label=draw(st.sampled_from(["", "car", "large vehicle", "7"])),
        reviewer=draw(TEXT),
        machine_heading_cw_from_up_deg=draw(st.none() | st.floats(0, 359)),
        extra={"note": draw(TEXT), "odd name, quoted": draw(TEXT)},
    )


def there_and_back(table, format, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAMES[format]
        written = write_cars(table, path, format=format, image_size=SIZE, **options)
        back = read_cars(path, image_size=SIZE)
        assert back.fingerprint == written
        return back


def gap(a, b, period=360.0):
    return abs((a - b + period / 2) % period - period / 2)


def assert_same(before, after, *, pixels, degrees):
    assert (after.cx, after.cy) == pytest.approx((before.cx, before.cy), abs=pixels)
    assert (after.length, after.width) == pytest.approx(
        (before.length, before.width), abs=pixels
    )
    for name, period in (
        ("heading_cw_from_up_deg", 360.0),
        ("axis_cw_from_up_deg", 180.0),
    ):
        old, new = getattr(before, name), getattr(after, name)
        assert (old is None) == (new is None)
        if old is not None:
            assert gap(old, new, period) < degrees


@pytest.mark.parametrize("format", FORMATS)
@given(drawn=st.lists(cars(), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None)
def test_every_format_gives_cars_and_columns_back(format, drawn):
    columns = ("note", "odd name, quoted")
    back = there_and_back(CarTable(tuple(drawn), columns), format)
    assert back.format == format
    assert len(back) == len(drawn)
    for before, after in zip(drawn, back, strict=True):
        assert_same(before, after, pixels=1e-5, degrees=1e-3)
        for name in (
            *("heading_sd_deg", "p_flip", "score", "source", "label", "reviewer"),
            *("machine_heading_cw_from_up_deg", "status"),
        ):
            assert getattr(after, name) == getattr(before, name)
        kept = {name: str(after.extra[name]) for name in before.extra}
        assert kept == before.extra


@pytest.mark.parametrize("format", FORMATS)
@given(drawn=st.lists(cars(), min_size=1, max_size=3))
@settings(max_examples=8, deadline=None)
def test_writing_what_was_read_changes_nothing_more(format, drawn):
    once = there_and_back(CarTable(tuple(drawn)), format)
    twice = there_and_back(once, format)
    for before, after in zip(once, twice, strict=True):
        assert_same(before, after, pixels=2e-6, degrees=1e-5)
        assert replace(after, extra={}).status == before.status
        assert set(before.extra) <= set(after.extra)


@given(drawn=st.lists(cars(front=True), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None)
def test_dota_alone_keeps_the_front(drawn):
    back = there_and_back(CarTable(tuple(drawn)), "dota", sidecar=False)
    for before, after in zip(drawn, back, strict=True):
        assert_same(before, after, pixels=1e-5, degrees=1e-3)


@given(drawn=st.lists(cars(front=True), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None)
def test_yolo_alone_keeps_the_axis_and_says_so(drawn):
    table = CarTable(tuple(replace(c, label="0", length=301.0) for c in drawn))
    back = there_and_back(table, "yolo-obb", sidecar=False)
    for before, after in zip(table, back, strict=True):
        assert after.status == AXIS_ONLY
        assert after.heading_cw_from_up_deg is None
        heading = before.heading_cw_from_up_deg
        assert gap(after.axis_cw_from_up_deg, heading, 180.0) < 1e-2


@pytest.mark.parametrize("first", FORMATS)
@pytest.mark.parametrize("second", FORMATS)
def test_any_format_converts_to_any_other(first, second):
    table = CarTable(
        (
            Car(100.5, 200.25, 40, 20, 33.5, label="car", extra={"note": "007"}),
            Car(300, 20, 50, 60, 333, p_flip=0.25, label="bus", extra={"note": "a b"}),
            Car(9, 8, 30, 10, axis_cw_from_up_deg=170, status=AXIS_ONLY, label="car"),
        ),
        ("note",),
    )
    back = there_and_back(there_and_back(table, first), second)
    for before, after in zip(table, back, strict=True):
        assert_same(before, after, pixels=1e-4, degrees=1e-3)
        assert (after.label, after.p_flip) == (before.label, before.p_flip)
        assert str(after.extra.get("note") or "") == before.extra.get("note", "")


@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_table_stays_empty(format):
    assert len(there_and_back(CarTable(()), format)) == 0


@pytest.mark.parametrize("format", ["csv", "geojson"])
def test_centers_alone_are_kept(format):
    table = CarTable(
        (
            Car(1.5, 2.5),
            Car(3, 4, heading_cw_from_up_deg=5),
            Car(6, 7, length=40, width=20),
        )
    )
    assert there_and_back(table, format).cars == table.cars


@pytest.mark.real_data
@pytest.mark.parametrize("format", FORMATS)
def test_real_cars_survive_every_format(real_data, format):
    table = read_cars(real_data / "cars_aerial" / "cars.csv")
    frame = table.for_image("frame_120.jpg")
    back = there_and_back(frame, format)
    assert len(back) == len(frame) > 0
    for before, after in zip(frame, back, strict=True):
        assert_same(before, after, pixels=1e-5, degrees=1e-3)
        assert str(after.extra["stationary_id"]) == before.extra["stationary_id"]
