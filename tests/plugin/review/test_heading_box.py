"""Typing into the box of a heading, in any language."""

import pytest
from qtpy.QtCore import QLocale, Qt

from napari_roteq._review.heading_box import HeadingBox

LANGUAGES = (QLocale.Language.C, QLocale.Language.German, QLocale.Language.Arabic)


@pytest.fixture(params=LANGUAGES, ids=lambda each: each.name)
def box(request, qtbot):
    before = QLocale()
    QLocale.setDefault(QLocale(request.param))
    box = HeadingBox()
    qtbot.addWidget(box)
    box.setValue(100.5)
    yield box
    QLocale.setDefault(before)


def type_into(box, text, qtbot):
    box.lineEdit().selectAll()
    qtbot.keyClicks(box.lineEdit(), text)
    qtbot.keyClick(box, Qt.Key.Key_Return)


@pytest.mark.parametrize(
    ("text", "degrees"),
    [
        ("12,5", 12.5),
        ("12.5", 12.5),
        ("361.5", 1.5),
        ("-10", 350.0),
        ("720", 0.0),
        ("123.456", 123.5),
    ],
)
def test_typed_heading_is_the_one_taken(box, qtbot, text, degrees):
    type_into(box, text, qtbot)
    assert box.value() == degrees
    assert box.text() == f"{degrees}°"


@pytest.mark.parametrize("text", ["1e2", "abc", "1.234,5", " "])
def test_refused_text_leaves_the_heading_as_it_is(box, qtbot, text):
    said = []
    box.refused.connect(said.append)
    type_into(box, text, qtbot)
    assert (box.value(), box.text()) == (100.5, "100.5°")
    (error,) = said
    assert "must be a number of degrees" in str(error)


def test_steps_still_count(box, qtbot):
    qtbot.keyClick(box, Qt.Key.Key_Up)
    assert box.value() == 101.5
