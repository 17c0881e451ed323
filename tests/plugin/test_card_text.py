from napari_roteq._card_text import card_html, card_rows

CARD = {
    "task": "membranes",
    "networks": [
        {
            "kind": "membranes",
            "width": 2,
            "kernel_size": 9,
            "turning": {"orientations": 16},
        }
    ],
    "parameters": 12345,
    "pixel_size": 4.0,
    "pixel_unit": "nm",
    "scores": {"v_rand": 0.95678},
    "limits": "",
}


def test_rows_say_what_the_card_says():
    rows = dict(card_rows(CARD))
    assert rows["Network"] == "membranes, N 2, 16 orientations, filters 9 × 9"
    assert rows["Weights"] == "12,345"
    assert rows["Pixel size"] == "4 nm"
    assert rows["Scores"] == "V-Rand 0.9568"


def test_empty_entries_are_left_out():
    assert "Limits" not in dict(card_rows(CARD))
    assert card_rows({}) == []


def test_details_add_the_receptive_field():
    rows = dict(card_rows(CARD, {"reach": 79}))
    assert rows["Looks at"].startswith("159 × 159")


def test_nested_records_are_left_to_the_file():
    rows = dict(card_rows({"training": {"seconds": 90, "stages": [{"batch": 2}]}}))
    assert rows["Training"] == "seconds 90"


def test_text_cannot_break_the_page():
    assert "<script" not in card_html([("a", "<script>")], "<script>")
