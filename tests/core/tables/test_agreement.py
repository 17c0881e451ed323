from dataclasses import replace

import numpy as np
import pytest

from roteq_core.tables import Car, CarTable, compare_reviews, match_cars


def table_of(*headings, **fields):
    return CarTable(
        tuple(
            Car(100 * i, 50, heading_cw_from_up_deg=heading, id=f"c{i}", **fields)
            for i, heading in enumerate(headings)
        )
    )


def test_the_mean_difference_goes_the_short_way_round():
    result = compare_reviews(table_of(350, 10, 90), table_of(10, 350, 90))
    assert result.mean_difference_deg == pytest.approx((20 + 20 + 0) / 3)
    assert result.median_difference_deg == pytest.approx(20)
    assert (result.pairs, result.compared, result.flips) == (3, 3, 0)


def test_disagreements_come_worst_first():
    result = compare_reviews(table_of(0, 0, 0, 0), table_of(20, 175, 5, 90))
    assert [d.first.id for d in result.disagreements] == ["c1", "c3", "c0"]
    assert [d.reason for d in result.disagreements] == ["flip", "heading", "heading"]
    assert result.flips == 1


def test_a_table_agrees_with_itself():
    table = table_of(1, 2, 3)
    result = compare_reviews(table, table)
    assert (result.mean_difference_deg, result.disagreements) == (0, ())


def test_one_reviewer_may_reject_or_not_know():
    first = table_of(0, 0, 0, None)
    second = first.with_cars(
        [
            replace(first.cars[0], status="rejected"),
            replace(first.cars[1], heading_cw_from_up_deg=None),
            first.cars[2],
            first.cars[3],
        ]
    )
    result = compare_reviews(first, second)
    assert {d.first.id: d.reason for d in result.disagreements} == {
        "c0": "rejected by one",
        "c1": "front not known to one",
    }
    assert (result.pairs, result.compared) == (4, 1)


def test_what_both_reject_is_no_disagreement():
    result = compare_reviews(
        table_of(0, status="rejected"), table_of(90, status="rejected")
    )
    assert result.disagreements == ()
    assert np.isnan(result.mean_difference_deg)


def test_cars_without_ids_match_by_center_the_closest_first():
    first = CarTable((Car(0, 0), Car(10, 0)))
    second = CarTable((Car(9, 0), Car(4, 0), Car(500, 0)))
    assert match_cars(first, second, max_distance=20) == {0: 1, 1: 0}
    result = compare_reviews(first, second)
    assert [d.reason for d in result.disagreements] == ["only in one"]
    assert result.disagreements[0].second.cx == 500


def test_an_id_far_away_is_another_car():
    first = CarTable((Car(0, 0, id="1"), Car(300, 0, id="2")))
    second = CarTable((Car(300, 0, id="1"), Car(0, 0, id="2")))
    assert match_cars(first, second, max_distance=20) == {0: 1, 1: 0}


def test_cars_of_other_images_do_not_match():
    first = CarTable((Car(0, 0, file="a.png"), Car(0, 0, file="b.png")))
    second = CarTable((Car(0, 0, file="b.jpg"),))
    assert match_cars(first, second, max_distance=20) == {1: 0}


def test_a_table_without_image_names_matches_any():
    first = CarTable((Car(0, 0, file="a.png"),))
    assert match_cars(first, CarTable((Car(1, 0),)), max_distance=20) == {0: 0}


def test_nothing_agrees_with_nothing():
    result = compare_reviews(CarTable(()), CarTable(()))
    assert (result.pairs, result.disagreements) == (0, ())
