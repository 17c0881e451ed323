"""Rotated VOC files of two editors with known answers, and ours as they read them."""

import math
from xml.etree import ElementTree

import pytest

from roteq_core.tables import (
    AXIS_ONLY,
    Car,
    CarTable,
    read_cars,
    write_cars as write,
)

# A car at (100, 50), 40 long and 20 wide, that points right.
RIGHT = Car(100, 50, length=40, width=20, heading_cw_from_up_deg=90, label="car")


SIZE = (200, 400)  # height, width


def voc(robndbox, before="", after=""):
    box = "".join(f"<{name}>{value}</{name}>" for name, value in robndbox.items())
    return (
        "<annotation><folder>f</folder><filename>a.png</filename>"
        "<source><database>Unknown</database></source>"
        "<size><width>400</width><height>200</height><depth>3</depth></size>"
        f"<object>{before}<name>car</name><pose>Unspecified</pose>"
        f"<truncated>0</truncated><difficult>0</difficult>"
        f"<robndbox>{box}</robndbox>{after}</object></annotation>"
    )


BOX = {"cx": 191.5053, "cy": 270.3088, "w": 18.5619, "h": 46.7749, "angle": 4.721653}


def test_labelimg2_gives_the_heading_clockwise_from_up(read):
    table = read(voc(BOX, after="<extra/>"), "a.xml")
    (car,) = table.cars
    assert table.format == "voc-labelimg2"
    assert (car.length, car.width) == (46.7749, 18.5619)
    assert car.heading_cw_from_up_deg == pytest.approx(math.degrees(4.721653))
    assert (car.file, car.label, car.status) == ("a.png", "car", "")
    assert table.image_size == (200, 400)


@pytest.mark.parametrize("sign", ["<type>robndbox</type>", "<extra/>"])
def test_angles_in_degrees_are_refused(read, sign):
    with pytest.raises(
        ValueError, match=r"object 1: .*/angle must be in radians.* 129"
    ):
        read(voc(BOX | {"angle": 129}, before=sign), "a.xml")


@pytest.mark.parametrize(("w", "h"), [(40, 20), (20, 40)])
def test_rolabelimg_gives_the_axis_of_the_longer_side(read, w, h):
    # w lies along the angle, clockwise from right; h a quarter turn further.
    box = {"cx": 1, "cy": 2, "w": w, "h": h, "angle": 0.3}
    table = read(voc(box, before="<type>robndbox</type>"), "a.xml")
    (car,) = table.cars
    along = math.degrees(0.3) + (90 if w > h else 0)
    assert table.format == "voc-rolabelimg"
    assert car.axis_cw_from_up_deg == pytest.approx(along)
    assert (car.length, car.width, car.status) == (40, 20, AXIS_ONLY)
    assert "front" in table.notes[0]


def test_a_voc_file_that_does_not_say_its_dialect_gives_axes(read):
    table = read(voc(BOX), "a.xml")
    assert table.format == "voc-rolabelimg"
    assert table.cars[0].heading_cw_from_up_deg is None


def test_a_person_may_say_the_dialect(read):
    (car,) = read(voc(BOX), "a.xml", format="voc-labelimg2").cars
    assert car.heading_cw_from_up_deg == pytest.approx(math.degrees(4.721653))


def written_xml(car, path, format):
    write(CarTable((car,), image_size=SIZE), path, format=format)
    return ElementTree.parse(path).getroot().find("object")


def test_our_labelimg2_file_is_what_labelimg2_draws(tmp_path):
    item = written_xml(RIGHT, tmp_path / "a.xml", "voc-labelimg2")
    box = {child.tag: float(child.text) for child in item.find("robndbox")}
    assert box == pytest.approx(
        {"cx": 100, "cy": 50, "w": 20, "h": 40, "angle": math.pi / 2}
    )
    assert item.find("type") is None
    assert item.find("extra") is not None


def test_our_rolabelimg_file_is_what_rolabelimg_draws(tmp_path):
    car = RIGHT.with_heading(270.0)
    item = written_xml(car, tmp_path / "a.xml", "voc-rolabelimg")
    box = {child.tag: float(child.text) for child in item.find("robndbox")}
    assert box == pytest.approx({"cx": 100, "cy": 50, "w": 40, "h": 20, "angle": 0})
    assert item.findtext("type") == "robndbox"


@pytest.mark.parametrize("format", ["voc-labelimg2", "voc-rolabelimg"])
def test_the_convention_is_written_into_xml(tmp_path, format):
    write(CarTable((RIGHT,)), tmp_path / "a.xml", format=format)
    assert "<!-- convention: robndbox as in " in (tmp_path / "a.xml").read_text()


def test_voc_keeps_what_stands_above_the_objects(read, tmp_path):
    text = voc(BOX, after="<extra>wet road</extra>").replace(
        "<annotation>", '<annotation verified="yes">'
    )
    table = read(text, "a.xml")
    write(table, tmp_path / "b.xml")
    root = ElementTree.parse(tmp_path / "b.xml").getroot()
    assert root.get("verified") == "yes"
    assert root.findtext("folder") == "f"
    assert root.findtext("source/database") == "Unknown"
    assert root.findtext("size/width") == "400"
    assert root.findtext("object/extra") == "wet road"


def test_a_box_turned_by_another_tool_wins_over_our_heading(tmp_path):
    path = tmp_path / "a.xml"
    write(CarTable((RIGHT,)), path)
    angle = repr(math.pi / 2)
    assert angle in path.read_text()
    path.write_text(path.read_text().replace(angle, "3.0"))
    table = read_cars(path)
    assert table.cars[0].heading_cw_from_up_deg == pytest.approx(math.degrees(3.0))
    assert "object 1 was turned" in table.notes[0]


def test_upright_voc_boxes_give_centers_and_are_kept(read, tmp_path):
    upright = "<xmin>10</xmin><ymin>20</ymin><xmax>30</xmax><ymax>60</ymax>"
    text = (
        "<annotation><object><name>car</name>"
        f"<bndbox>{upright}</bndbox></object></annotation>"
    )
    table = read(text, "a.xml")
    assert (table.cars[0].cx, table.cars[0].cy) == (20, 40)
    write(table, tmp_path / "b.xml")
    bounds = ElementTree.parse(tmp_path / "b.xml").getroot().find("object/bndbox")
    assert [child.text for child in bounds] == ["10", "20", "30", "60"]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("<annotation><object>", "line 1: not XML"),
        ("<kml/>", "the root element must be annotation, got 'kml'"),
        ("<annotation><object/></annotation>", "object 1: a car needs a robndbox"),
        (voc(BOX | {"angle": "north"}), "object 1: robndbox/angle must be a number"),
        (voc(BOX | {"h": -1}), "object 1: width must be positive"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><annotation/>', "must not define XML entities"),
    ],
)
def test_broken_voc_is_named(read, text, rule):
    with pytest.raises(ValueError, match=rf"a\.xml: .*{rule}"):
        read(text, "a.xml")


def test_a_character_that_xml_cannot_hold_is_named(tmp_path):
    table = CarTable((Car(1, 2, 30, 10, 5, label="a\x07b"),))
    with pytest.raises(ValueError, match=r"car 1: XML cannot hold the character"):
        write(table, tmp_path / "a.xml")
    assert not list(tmp_path.iterdir())
