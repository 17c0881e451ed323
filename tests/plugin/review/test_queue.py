"""The review queue: actions, provenance, order, undo, statistics."""

import math
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from napari_roteq._review.order import spell_end
from napari_roteq._review.queue import ReviewQueue
from roteq_core.tables import (
    ACCEPTED,
    AXIS_ONLY,
    EDITED,
    MACHINE,
    REJECTED,
    Car,
    CarTable,
    box_corners,
    write_cars,
)

START = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


def machine_car(i, heading=45.0, **fields):
    values = {
        "heading_cw_from_up_deg": heading,
        "heading_sd_deg": 5.0,
        "p_flip": 0.01,
        "status": MACHINE,
        "source": "cars 1.0",
    }
    return Car(100.0 * i, 50.0, 40.0, 20.0, **{**values, **fields})


@pytest.fixture
def queue():
    cars = tuple(machine_car(i) for i in range(4))
    return ReviewQueue(CarTable(cars), reviewer="ann", clock=lambda: START)


def without_id(car):
    return replace(car, id="")


def test_accepting_keeps_the_heading_and_signs(queue):
    queue.accept()
    car = queue.car(0)
    assert (car.status, car.heading_cw_from_up_deg) == (ACCEPTED, 45)
    assert (car.reviewer, car.reviewed_at) == ("ann", "2024-05-06T07:08:09+00:00")
    assert car.machine_heading_cw_from_up_deg == 45
    assert car.source == "cars 1.0"


@pytest.mark.parametrize(
    ("act", "heading"),
    [
        (lambda q: q.flip(), 225),
        (lambda q: q.nudge(10), 55),
        (lambda q: q.nudge(-50), 355),
        (lambda q: q.set_heading(123.5), 123.5),
        (lambda q: q.set_heading(-90), 270),
    ],
)
def test_turning_keeps_the_machine_s_word(queue, act, heading):
    act(queue)
    car = queue.car(0)
    assert car.heading_cw_from_up_deg == heading
    assert (car.status, car.machine_heading_cw_from_up_deg) == (EDITED, 45)
    assert car.reviewer == "ann"


def test_the_machine_s_word_outlives_many_edits(queue):
    queue.flip()
    queue.nudge(7)
    queue.accept()
    car = queue.car(0)
    assert (car.machine_heading_cw_from_up_deg, car.status) == (45, EDITED)


def test_a_label_of_a_person_is_not_called_the_machine_s():
    queue = ReviewQueue(CarTable((Car(1, 2, 40, 20, 30),)))
    queue.flip()
    assert queue.car().machine_heading_cw_from_up_deg is None


def test_rejecting_and_restoring(queue):
    queue.reject()
    assert (queue.car(0).status, len(queue)) == (REJECTED, 4)
    queue.restore()
    assert queue.car(0).status == MACHINE
    with pytest.raises(ValueError, match="only a rejected car is restored"):
        queue.restore()


@pytest.mark.parametrize("status", [ACCEPTED, EDITED, AXIS_ONLY, ""])
def test_restoring_gives_the_status_before(status):
    queue = ReviewQueue(CarTable((Car(1, 2, 40, 20, 30, status=status),)))
    queue.reject()
    queue.restore()
    assert queue.car().status == status


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"heading_cw_from_up_deg": 1, "machine_heading_cw_from_up_deg": 1}, MACHINE),
        ({"heading_cw_from_up_deg": 2, "machine_heading_cw_from_up_deg": 1}, EDITED),
        ({"heading_cw_from_up_deg": 2}, ""),
        ({"axis_cw_from_up_deg": 2}, AXIS_ONLY),
        ({}, ""),
    ],
)
def test_a_rejection_of_another_day_is_restored_by_what_is_known(fields, status):
    queue = ReviewQueue(CarTable((Car(1, 2, status=REJECTED, **fields),)))
    queue.restore()
    assert queue.car().status == status


def test_accepting_an_axis_settles_the_front():
    axis = Car(1, 2, 40, 20, axis_cw_from_up_deg=30, status=AXIS_ONLY)
    queue = ReviewQueue(CarTable((axis, axis)))
    queue.accept(0)
    queue.flip(1)
    assert [c.heading_cw_from_up_deg for c in queue.table] == [30, 210]
    assert [c.axis_cw_from_up_deg for c in queue.table] == [None, None]


def test_a_car_without_direction_cannot_be_accepted_or_flipped():
    queue = ReviewQueue(CarTable((Car(1, 2),)))
    for act in (queue.accept, queue.flip):
        with pytest.raises(ValueError, match="has no heading yet"):
            act()
    assert not queue.can_undo


def test_moving_and_resizing(queue):
    queue.move(3, -4)
    queue.resize(50, 25)
    car = queue.car(0)
    assert (car.cx, car.cy, car.length, car.width) == (3, 46, 50, 25)
    assert (car.status, car.heading_cw_from_up_deg) == (EDITED, 45)


def test_moving_does_not_settle_a_front():
    axis = Car(1, 2, 40, 20, axis_cw_from_up_deg=30, status=AXIS_ONLY)
    queue = ReviewQueue(CarTable((axis,)))
    queue.move(1, 1)
    assert (queue.car().status, queue.car().axis_cw_from_up_deg) == (AXIS_ONLY, 30)


def test_impossible_values_change_nothing(queue):
    before = queue.table
    for act in (
        lambda: queue.resize(-1, 2),
        lambda: queue.set_heading(math.nan),
        lambda: queue.move(math.inf, 0),
    ):
        with pytest.raises(ValueError, match="must be"):
            act()
    assert queue.table == before
    assert not queue.can_undo


def test_adding_a_car_goes_to_it(queue):
    edit = queue.add(Car(7, 8, 40, 20, heading_cw_from_up_deg=90))
    new = edit.changes[0].car_id
    assert queue.current == new
    assert (queue.car().status, queue.car().reviewer) == (EDITED, "ann")
    assert queue.row_of(new) == 4


def test_an_added_car_takes_a_prediction(queue):
    queue.add(Car(7, 8, 40, 20))
    queue.set_prediction(90, heading_sd_deg=4, p_flip=0.1, source="cars 1.0")
    car = queue.car()
    assert (car.status, car.machine_heading_cw_from_up_deg) == (MACHINE, 90)
    assert (car.heading_sd_deg, car.p_flip, car.source) == (4, 0.1, "cars 1.0")


def test_deleting_goes_on_to_the_next_car(queue):
    first, second = queue.ids[:2]
    queue.delete()
    assert queue.current == second
    assert first not in queue.ids
    assert len(queue) == 3


def test_deleting_the_last_car_goes_back(queue):
    queue.go_to(3)
    queue.delete()
    assert queue.row_of(queue.current) == 2


def test_an_empty_queue_has_no_current_car():
    queue = ReviewQueue(CarTable(()))
    assert (queue.current, queue.next(), queue.previous()) == (None, None, None)
    with pytest.raises(ValueError, match="there must be such a car"):
        queue.accept()


def test_deleting_everything_and_undoing_it(queue):
    before = queue.table
    for _ in range(4):
        queue.delete()
    assert (queue.current, len(queue)) == (None, 0)
    for _ in range(4):
        queue.undo()
    assert queue.table == before


def test_ids_are_never_used_twice(queue):
    first = queue.add(Car(1, 2)).changes[0].car_id
    queue.delete(first)
    second = queue.add(Car(1, 2)).changes[0].car_id
    assert first != second


def test_the_same_table_always_gets_the_same_ids():
    table = CarTable((Car(1, 2), Car(3, 4, id="mine"), Car(5, 6)))
    ids = [[car.id for car in ReviewQueue(table).table] for _ in range(2)]
    assert ids[0] == ids[1] == ["car-00001", "mine", "car-00003"]


def test_ids_of_the_file_must_be_unique():
    with pytest.raises(ValueError, match="car_id must be unique, got 'a' twice"):
        ReviewQueue(CarTable((Car(1, 2, id="a"), Car(3, 4, id="a"))))


def test_undo_and_redo_go_through_everything(queue):
    tables = [queue.table]
    for act in (
        lambda: queue.accept(0),
        lambda: queue.flip(1),
        lambda: queue.delete(2),
        lambda: queue.add(Car(9, 9, 40, 20, 5)),
        lambda: queue.nudge(3, 0),
        lambda: queue.move(1, 2, 1),
        lambda: queue.apply_external(0, box_corners(machine_car(5))),
        lambda: queue.reject(0),
    ):
        act()
        tables.append(queue.table)
    for table in reversed(tables[:-1]):
        assert queue.undo() is not None
        assert queue.table == table
    assert queue.undo() is None
    for table in tables[1:]:
        queue.redo()
        assert queue.table == table
    assert queue.redo() is None


def test_a_new_action_ends_redo(queue):
    queue.flip()
    queue.undo()
    queue.accept()
    assert not queue.can_redo


def test_undo_goes_to_the_car_it_changes(queue):
    queue.flip()
    queue.go_to(3)
    queue.undo()
    assert queue.row_of(queue.current) == 0


def test_a_drag_of_the_handles_is_an_edit(queue):
    turned = replace(queue.car(2), cx=210, heading_cw_from_up_deg=100)
    edit = queue.apply_external(2, box_corners(turned))
    car = queue.car(2)
    assert edit.action == "drag"
    assert (car.cx, car.heading_cw_from_up_deg) == pytest.approx((210, 100))
    assert (car.length, car.width, car.cy) == (40, 20, 50)  # untouched, so exact
    assert (car.status, car.machine_heading_cw_from_up_deg) == (EDITED, 45)
    queue.undo()
    assert without_id(queue.car(2)) == machine_car(2)


def test_a_drag_that_moves_nothing_is_none(queue):
    assert queue.apply_external(1, box_corners(queue.car(1)) + 1e-6) is None
    assert not queue.can_undo


def test_rolled_corners_are_a_flip(queue):
    queue.apply_external(1, np.roll(box_corners(queue.car(1)), 2, axis=0))
    assert queue.car(1).heading_cw_from_up_deg == pytest.approx(225)


def test_several_boxes_dragged_at_once_are_one_action(queue):
    before = queue.table
    moved = {i: box_corners(queue.car(i)) + 5 for i in (0, 2)}
    assert len(queue.apply_external_all(moved).changes) == 2
    assert queue.car(2).cx == 205
    queue.undo()
    assert queue.table == before


def test_turning_an_axis_by_hand_gives_it_a_front():
    axis = Car(1, 2, 40, 20, axis_cw_from_up_deg=30, status=AXIS_ONLY)
    queue = ReviewQueue(CarTable((axis,)))
    queue.apply_external(0, box_corners(axis) + 3)
    assert queue.car().heading_cw_from_up_deg is None
    queue.apply_external(0, np.roll(box_corners(queue.car()), 2, axis=0))
    assert queue.car().heading_cw_from_up_deg == pytest.approx(210)
    assert queue.car().status == EDITED


def test_listeners_hear_of_edits_and_their_reverse(queue):
    heard = []
    queue.changed.connect(lambda edit: heard.append(edit.changes[0].after.status))
    queue.accept()
    queue.undo()
    queue.redo()
    assert heard == [ACCEPTED, MACHINE, ACCEPTED]


def test_listeners_hear_where_one_is(queue):
    heard = []
    queue.moved.connect(heard.append)
    queue.next()
    queue.previous()
    queue.previous()  # at the start already
    queue.delete()
    assert [queue.id_of(0)] == heard[-1:]
    assert len(heard) == 3


def test_most_uncertain_come_first():
    sure = machine_car(0, heading_sd_deg=1, p_flip=0.0)
    flippy = machine_car(1, heading_sd_deg=1, p_flip=0.4)
    vague = machine_car(2, heading_sd_deg=30, p_flip=0.0)
    silent = machine_car(3, heading_sd_deg=None, p_flip=None)
    open_ = machine_car(4, heading=None)
    queue = ReviewQueue(CarTable((sure, flippy, vague, silent, open_)))
    queue.set_order("uncertain")
    assert [queue.row_of(car_id) for car_id in queue.ids] == [4, 1, 2, 0, 3]
    assert queue.row_of(queue.current) == 4


def test_disagreement_between_label_and_model_goes_the_short_way():
    cars = [
        Car(i, 0, heading_cw_from_up_deg=h, machine_heading_cw_from_up_deg=m)
        for i, (h, m) in enumerate([(0, 5), (350, 10), (90, None), (0, 180)])
    ]
    queue = ReviewQueue(CarTable(tuple(cars)))
    queue.set_order("disagreement")
    assert [queue.row_of(car_id) for car_id in queue.ids] == [3, 1, 0, 2]


def test_reading_order_goes_line_by_line_and_image_by_image():
    places = [(90, 5, "b"), (10, 12, "a"), (90, 3, "a"), (20, 90, "a"), (10, 80, "a")]
    cars = tuple(Car(x, y, 40, 20, file=f) for x, y, f in places)
    queue = ReviewQueue(CarTable(cars))
    queue.set_order("reading")
    assert [queue.row_of(car_id) for car_id in queue.ids] == [1, 2, 4, 3, 0]


def test_a_random_sample_depends_on_the_seed_alone():
    table = CarTable(tuple(machine_car(i) for i in range(50)))
    samples = []
    for seed in (1, 1, 2):
        queue = ReviewQueue(table)
        queue.set_order("random", seed=seed, sample=10)
        samples.append(queue.ids)
    assert samples[0] == samples[1] != samples[2]
    assert len(set(samples[0])) == 10


def test_an_unknown_order_is_named(queue):
    with pytest.raises(ValueError, match=r"order must be one of uncertain, .* 'size'"):
        queue.set_order("size")


def test_the_filter_shows_some_statuses(queue):
    queue.accept(1)
    queue.reject(2)
    queue.set_order("reading", statuses=[ACCEPTED, REJECTED])
    assert [queue.row_of(car_id) for car_id in queue.ids] == [1, 2]
    queue.set_order("reading", statuses=[])
    assert (queue.ids, queue.current) == ([], None)


def test_an_accepted_car_stays_until_one_goes_on(queue):
    queue.set_order("reading", statuses=[MACHINE])
    first = queue.current
    queue.accept()
    assert queue.current == first
    queue.next()
    assert queue.row_of(queue.current) == 1
    assert queue.previous() is None  # the first is no longer shown


def test_edits_do_not_shuffle_the_order_under_one_s_feet(queue):
    queue.set_order("uncertain")
    before = queue.ids
    queue.set_prediction(10, heading_sd_deg=0.1, p_flip=0.0)
    assert queue.ids == before


def test_statistics_follow_every_step(queue):
    assert (queue.stats().done, queue.stats().left) == (0, 4)
    assert math.isnan(queue.stats().mean_change_deg)
    queue.accept(0)
    queue.flip(1)
    queue.nudge(-10, 2)
    queue.reject(3)
    stats = queue.stats()
    assert (stats.total, stats.done, stats.left) == (4, 4, 0)
    assert (stats.accepted, stats.edited, stats.rejected) == (1, 2, 1)
    assert stats.flips_found == 1
    assert stats.mean_change_deg == pytest.approx((0 + 180 + 10) / 3)
    for _ in range(4):
        queue.undo()
    stats = queue.stats()
    assert (stats.done, stats.flips_found) == (0, 0)
    assert (stats.mean_heading_deg, stats.resultant) == pytest.approx((45, 1))


def test_the_mean_heading_crosses_zero():
    cars = (machine_car(0, 350.0), machine_car(1, 20.0), machine_car(2, 180.0))
    queue = ReviewQueue(CarTable(cars))
    queue.reject(2)  # does not count
    assert queue.stats().mean_heading_deg == pytest.approx(5)
    assert queue.stats().resultant == pytest.approx(math.cos(math.radians(15)))


def test_changes_of_labels_are_measured_from_what_was_opened():
    queue = ReviewQueue(CarTable((Car(1, 2, 40, 20, 30),)))
    queue.set_heading(40)
    queue.set_heading(50)
    assert queue.stats().mean_change_deg == pytest.approx(20)


def test_cars_per_minute_leave_breaks_out():
    times = iter([0, 10, 20, 30 + 3600])
    cars = tuple(machine_car(i) for i in range(4))
    now = [START]
    queue = ReviewQueue(CarTable(cars), clock=lambda: now[0])
    assert math.isnan(queue.stats().cars_per_minute)
    for row, second in enumerate(times):
        now[0] = START + timedelta(seconds=second)
        queue.accept(row)
    # 10 s, 10 s, and a break that counts as one minute: 4 cars in 80 s
    assert queue.stats().cars_per_minute == pytest.approx(3.0)


def test_rows_and_ids_name_the_same_car(queue):
    assert queue.car(2) == queue.car(queue.id_of(2)) == queue.car(np.int64(2))
    with pytest.raises(ValueError, match="row must be below 4, got 7"):
        queue.car(7)
    with pytest.raises(ValueError, match="got 'nobody'"):
        queue.car("nobody")


def test_a_review_without_a_file_has_no_journal_and_asks_for_a_path(queue):
    queue.accept()
    assert not queue.is_saved
    with pytest.raises(ValueError, match="a path must be given"):
        queue.save()


def test_ten_thousand_cars_load_and_step_quickly(tmp_path):
    rng = np.random.default_rng(0)
    cars = tuple(
        machine_car(i, float(heading), heading_sd_deg=float(rng.uniform(0, 90)))
        for i, heading in enumerate(rng.uniform(0, 360, 10_000))
    )
    path = tmp_path / "cars.csv"
    write_cars(CarTable(cars), path)
    # The processor's time: other programs may be busy too.
    begin = time.process_time()
    queue = ReviewQueue.open(path)
    queue.set_order("uncertain")
    assert time.process_time() - begin < 2.0
    steps = []
    for _ in range(100):
        begin = time.process_time()
        queue.flip()
        queue.next()
        queue.stats()
        steps.append(time.process_time() - begin)
    assert np.median(steps) < 0.005


def test_several_cars_are_deleted_in_one_action(queue):
    before = queue.table
    queue.delete_all([queue.id_of(3), queue.id_of(0), queue.id_of(1)])
    assert [car.cx for car in queue.cars()] == [200.0]
    queue.undo()
    assert queue.table == before
    queue.redo()
    assert len(queue) == 1


def test_a_model_s_word_can_stand_beside_a_person_s(queue):
    queue.set_heading(10)
    queue.set_prediction(200, heading_sd_deg=3, source="cars", keep_heading=True)
    car = queue.car()
    assert (car.heading_cw_from_up_deg, car.status) == (10, EDITED)
    assert (car.machine_heading_cw_from_up_deg, car.heading_sd_deg) == (200, 3)
    queue.set_prediction(200, source="cars")
    assert (queue.car().heading_cw_from_up_deg, queue.car().status) == (200, MACHINE)


def test_the_way_leads_through_one_image():
    cars = tuple(machine_car(i, file=f"{i % 2}.png") for i in range(6))
    queue = ReviewQueue(CarTable(cars))
    queue.set_order("reading", file="1.png")
    assert {queue.car(i).file for i in queue.ids} == {"1.png"}
    assert len(queue.ids) == 3


def labelled(*files_and_labels):
    cars = (
        machine_car(i, file=file, label=label)
        for i, (file, label) in enumerate(files_and_labels)
    )
    return ReviewQueue(CarTable(tuple(cars)))


def test_an_added_car_names_the_image_and_the_commonest_label():
    queue = labelled(("a.png", "car"), ("a.png", "van"), ("", "car"))
    queue.add(Car(7, 7, 40, 20))
    assert (queue.car().file, queue.car().label) == ("a.png", "car")
    queue.add(Car(7, 7, 40, 20, label="bus"))
    assert queue.car().label == "bus"


def test_an_added_car_names_no_image_that_is_not_known():
    queue = labelled(("a.png", ""), ("b.png", ""), ("b.png", "car"))
    queue.add(Car(7, 7, 40, 20))
    assert (queue.car().file, queue.car().label) == ("", "")
    queue.add(Car(7, 7, 40, 20, file="a.png"))
    assert queue.car().file == "a.png"
    empty = ReviewQueue(CarTable())
    empty.add(Car(7, 7, 40, 20))
    assert (empty.car().file, empty.car().label) == ("", "")


def test_cars_that_name_no_image_are_reviewed_with_any():
    queue = labelled(("a.png", ""), ("b.png", ""), ("", ""))
    queue.set_order("reading", file="a.png")
    assert {queue.car(car_id).file for car_id in queue.ids} == {"a.png", ""}


def test_after_an_added_car_comes_the_one_that_was_left_for_it(queue):
    first, second = queue.ids[:2]
    queue.next()
    queue.add(Car(7, 7, 40, 20))
    added = queue.current
    assert queue.ids[:3] == [first, added, second]
    queue.accept(second)
    assert queue.next() == second
    queue.previous()
    queue.undo()
    queue.undo()
    assert queue.current == second


def test_the_end_of_an_order_tells_what_was_skipped(queue):
    first, second, _, last = queue.ids
    queue.accept(second)
    queue.go_to(last)
    assert queue.skipped == [first, queue.ids[2]]
    assert "2 before it are left: “Next”" in spell_end("next", 2, 5)
    assert "1 before it is left: “Next”" in spell_end("next", 1, 5)
    assert "last car in this order; 5 of the table are" in spell_end("next", 0, 5)
    assert "first car in this order; 1 of the table is" in spell_end("previous", 3, 1)
