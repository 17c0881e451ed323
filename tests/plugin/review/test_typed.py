"""Headings as people type them."""

import pytest

from napari_roteq._review.typed import read_heading

HEADINGS = {
    "12,5": 12.5,
    "12.5°": 12.5,
    " 12,5 ° ": 12.5,
    ".5": 0.5,
    "7.": 7.0,
    "+90": 90.0,
    "361.5": 1.5,
    "-10": 350.0,
    "720": 0.0,
    "123.456": 123.5,
    "359.96": 0.0,
    "-0.01": 0.0,
}


@pytest.mark.parametrize(("text", "degrees"), HEADINGS.items())
def test_typed_heading_is_read_with_point_or_comma_and_wrapped(text, degrees):
    assert read_heading(text) == degrees


@pytest.mark.parametrize(
    "text", ["", "°", "abc", "1e2", "1.234,5", "1 2", "inf", "nan", "12.5.1", "--1"]
)
def test_what_is_no_heading_is_refused(text):
    with pytest.raises(ValueError, match="must be a number of degrees"):
        read_heading(text)
