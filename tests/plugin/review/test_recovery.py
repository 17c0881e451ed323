"""Nothing is lost: journal, crash, changed tables, saving."""

import itertools
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from napari_roteq._review.journal import JournalError, done_path, journal_path
from napari_roteq._review.queue import ReviewQueue
from napari_roteq._review.recovery import (
    TableChangedError,
    UnfinishedReviewError,
    discard_unfinished,
    find_unfinished,
)
from roteq_core.tables import (
    AXIS_ONLY,
    FORMATS,
    MACHINE,
    Car,
    CarTable,
    FileChangedError,
    box_corners,
    read_cars,
    write_cars,
)

START = datetime(2024, 5, 6, tzinfo=UTC)


def ticking():
    count = itertools.count()
    return lambda: START + timedelta(seconds=next(count))


def cars():
    machine = {"status": MACHINE, "source": "cars 1.0"}
    directed = [
        Car(100.0 * i, 50.0 + i, 40, 20, 60.0 * i, extra={"note": f"n{i}"}, **machine)
        for i in range(5)
    ]
    return (*directed, Car(900, 5, 30, 10, None, 7, status=AXIS_ONLY))


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "cars.csv"
    write_cars(CarTable(cars(), ("note",)), file)
    return file


# Each action is a name and numbers; a row is taken modulo the rows there are.
ROWS = st.integers(0, 20)
DEGREES = st.floats(-400, 400)
ACTIONS = st.one_of(
    st.tuples(st.sampled_from(["accept", "flip", "reject", "restore", "delete"]), ROWS),
    st.tuples(st.just("nudge"), ROWS, DEGREES),
    st.tuples(st.just("set_heading"), ROWS, DEGREES),
    st.tuples(st.just("move"), ROWS, DEGREES, DEGREES),
    st.tuples(st.just("resize"), ROWS, st.floats(1, 90), st.floats(1, 90)),
    st.tuples(st.just("drag"), ROWS, DEGREES, DEGREES),
    st.tuples(st.just("predict"), ROWS, DEGREES),
    st.tuples(st.just("add"), DEGREES, DEGREES),
    st.tuples(st.sampled_from(["undo", "redo", "next", "previous"])),
)


def perform(queue, action):
    """Do one of ACTIONS, where it makes sense."""
    name, *numbers = action
    if name in ("undo", "redo", "next", "previous"):
        getattr(queue, name)()
        return
    if name == "add":
        queue.add(Car(*numbers, 40, 20, extra={"note": "new"}))
        return
    if not len(queue):
        return
    row, *numbers = numbers
    row %= len(queue)
    car = queue.car(row)
    if name == "restore" and car.status != "rejected":
        return
    if car.drawn_cw_from_up_deg is None and name in ("accept", "flip", "nudge"):
        return
    if name == "drag":
        if car.has_box:
            queue.apply_external(row, box_corners(car) + numbers)
    elif name == "predict":
        queue.set_prediction(*numbers, row, p_flip=0.25)
    else:
        getattr(queue, name)(*numbers, row)


def counts(stats):
    return stats.total, stats.accepted, stats.edited, stats.rejected, stats.flips_found


def state(queue):
    return queue.table.cars, queue._history.done, queue._history.undone


@given(st.lists(ACTIONS, max_size=30))
@settings(max_examples=30, deadline=None)
def test_replaying_the_journal_gives_the_same_review(actions):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cars.csv"
        write_cars(CarTable(cars(), ("note",)), path)
        queue = ReviewQueue.open(path, reviewer="ann", clock=ticking())
        for action in actions:
            perform(queue, action)
        queue.close()
        if not journal_path(path).exists():
            return
        again = ReviewQueue.recover(path, clock=ticking())
        assert state(again) == state(queue)
        assert counts(again.stats()) == counts(queue.stats())
        again.close()


@given(st.lists(ACTIONS, min_size=1, max_size=20), st.data())
@settings(max_examples=30, deadline=None)
def test_undoing_everything_gives_the_table_as_it_was_opened(actions, data):
    queue = ReviewQueue(CarTable(cars(), ("note",)), clock=ticking())
    opened = queue.table
    for action in actions:
        perform(queue, action)
    final = state(queue)[0]
    steps = 0
    while queue.undo():
        steps += 1
    assert queue.table == opened
    for _ in range(steps):
        queue.redo()
    assert queue.table.cars == final


@given(st.lists(ACTIONS, max_size=15), st.lists(ACTIONS, max_size=15))
@settings(max_examples=20, deadline=None)
def test_a_review_goes_on_after_saving_and_after_a_crash(before, after):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cars.csv"
        write_cars(CarTable(cars(), ("note",)), path)
        queue = ReviewQueue.open(path, clock=ticking())
        for action in before:
            perform(queue, action)
        queue.save()
        assert not journal_path(path).exists()
        assert read_cars(path).cars == queue.table.cars
        for action in after:  # undo reaches back behind the save
            perform(queue, action)
        queue.close()
        if journal_path(path).exists():
            again = ReviewQueue.recover(path, clock=ticking())
            assert again.table.cars == queue.table.cars
            again.close()


@given(st.lists(ACTIONS, min_size=1, max_size=12), st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_a_journal_torn_anywhere_gives_the_review_up_to_there(actions, share):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cars.csv"
        write_cars(CarTable(cars(), ("note",)), path)
        queue = ReviewQueue.open(path, clock=ticking())
        tables = {0: queue.table.cars}
        for action in actions:
            perform(queue, action)
            if journal_path(path).exists():
                lines = journal_path(path).read_bytes().count(b"\n")
                tables[lines] = queue.table.cars
        queue.close()
        if not journal_path(path).exists():
            return
        content = journal_path(path).read_bytes()
        kept = content[: int(len(content) * share)]
        journal_path(path).write_bytes(kept)
        again = ReviewQueue.recover(path, clock=ticking())
        expected = tables.get(kept.count(b"\n"), tables[0])
        assert again.table.cars == expected
        perform(again, ("flip", 0))  # and it can be gone on with
        again.close()
        if len(again):
            assert ReviewQueue.recover(path).table.cars == again.table.cars


def test_opening_leaves_no_files_and_an_action_leaves_one(path):
    queue = ReviewQueue.open(path)
    assert list(path.parent.iterdir()) == [path]
    queue.accept()
    assert sorted(path.parent.iterdir()) == [path, journal_path(path)]
    queue.close()


def test_an_unfinished_review_is_found_and_must_be_decided(path):
    queue = ReviewQueue.open(path, reviewer="ann", clock=ticking())
    queue.accept()
    queue.flip(1)
    queue.close()
    unfinished = find_unfinished(path)
    assert (unfinished.actions, unfinished.reviewer) == (2, "ann")
    assert not unfinished.is_table_changed
    assert unfinished.started <= unfinished.last
    with pytest.raises(UnfinishedReviewError, match="2 actions that was not saved"):
        ReviewQueue.open(path)


def test_a_discarded_review_is_kept_aside(path):
    queue = ReviewQueue.open(path)
    queue.accept()
    queue.close()
    aside = discard_unfinished(path, "2024-05-06")
    assert aside.exists()
    assert find_unfinished(path) is None
    assert discard_unfinished(path, "2024-05-06") is None
    assert ReviewQueue.open(path).stats().done == 0


def test_a_second_window_cannot_take_over_a_review(path):
    queue = ReviewQueue.open(path)
    queue.accept()
    with pytest.raises(JournalError, match="another window"):
        ReviewQueue.recover(path)
    queue.close()


def test_an_action_that_cannot_be_written_down_does_not_happen(path, monkeypatch):
    queue = ReviewQueue.open(path)
    queue.accept(0)
    before = state(queue)

    def fail(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", fail)
        with pytest.raises(OSError, match="disk full"):
            queue.flip(1)
    assert state(queue) == before
    queue.flip(1)
    queue.close()
    assert ReviewQueue.recover(path).table.cars == queue.table.cars


def test_saving_writes_provenance_and_ids(path):
    queue = ReviewQueue.open(path, reviewer="ann", clock=lambda: START)
    queue.flip(1)
    queue.save()
    car = read_cars(path).cars[1]
    assert (car.status, car.reviewer, car.id) == ("edited", "ann", "car-00002")
    assert car.reviewed_at == "2024-05-06T00:00:00+00:00"
    assert (car.machine_heading_cw_from_up_deg, car.extra["note"]) == (60, "n1")
    assert queue.is_saved
    assert "flip" in done_path(path).read_text()


def test_undo_works_across_a_save(path):
    queue = ReviewQueue.open(path)
    before = queue.table.cars
    queue.flip(1)
    queue.save()
    queue.undo()
    assert queue.table.cars == before
    assert not queue.is_saved
    queue.close()
    again = ReviewQueue.recover(path)
    assert again.table.cars == before
    again.redo()
    assert again.car(1).heading_cw_from_up_deg == 240


def test_saving_never_overwrites_what_others_have_written(path):
    queue = ReviewQueue.open(path)
    queue.flip(1)
    path.write_text("cx,cy\n1,2\n")
    with pytest.raises(FileChangedError, match=r"cars\.csv has changed on disk"):
        queue.save()
    assert path.read_text() == "cx,cy\n1,2\n"
    assert journal_path(path).exists()
    queue.save(overwrite_changed=True)
    assert read_cars(path).cars == queue.table.cars
    assert not journal_path(path).exists()


def test_a_new_file_must_be_new(path, tmp_path):
    queue = ReviewQueue.open(path)
    queue.flip(1)
    other = tmp_path / "other.geojson"
    other.write_text("mine")
    with pytest.raises(FileChangedError, match=r"other\.geojson exists already"):
        queue.save(other)
    queue.save(other, overwrite_changed=True)
    assert queue.path == other
    assert len(read_cars(other)) == len(queue)
    queue.flip(2)
    assert journal_path(other).exists()
    assert not journal_path(path).exists()
    queue.close()


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_can_be_reviewed_saved_and_recovered(tmp_path, format):
    path = tmp_path / "cars.dat"  # the name does not tell
    size = (200, 1000)
    start = CarTable(cars(), ("note",))
    queue = ReviewQueue.start(start, path, format=format, image_size=size)
    queue.flip(1)
    queue.save()
    queue.accept(2)
    queue.add(Car(30, 40, 40, 20, heading_cw_from_up_deg=10))
    queue.close()
    again = ReviewQueue.recover(path, format=format)
    assert [c.id for c in again.table] == [c.id for c in queue.table]
    assert [c.status for c in again.table] == [c.status for c in queue.table]
    headings = [c.heading_cw_from_up_deg for c in queue.table]
    assert [c.heading_cw_from_up_deg for c in again.table] == pytest.approx(headings)
    again.save()
    assert [c.status for c in read_cars(path, format=format)] == [
        c.status for c in queue.table
    ]


def test_cars_in_no_file_yet_are_written_first(tmp_path):
    path = tmp_path / "new.csv"
    queue = ReviewQueue.start(CarTable(cars()), path)
    assert len(read_cars(path)) == len(queue) == 6
    with pytest.raises(FileChangedError):
        ReviewQueue.start(CarTable(cars()), path)


def test_a_crash_between_writing_and_retiring_is_seen(path, monkeypatch):
    queue = ReviewQueue.open(path)
    queue.flip(1)
    queue.add(Car(3, 4, extra={"note": ""}))

    def crash(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("napari_roteq._review.history.retire_journal", crash)
        with pytest.raises(KeyboardInterrupt):
            queue.save()
    queue.close()
    assert journal_path(path).exists()
    assert find_unfinished(path) is None  # it is all in the table
    again = ReviewQueue.open(path)
    assert again.table.cars == queue.table.cars
    assert not journal_path(path).exists()
    assert ReviewQueue.open(path).stats().edited == 2


def test_a_crash_before_writing_loses_nothing(path, monkeypatch):
    queue = ReviewQueue.open(path)
    queue.flip(1)

    def crash(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("napari_roteq._review.history.write_rendered", crash)
        with pytest.raises(KeyboardInterrupt):
            queue.save()
    queue.close()
    assert find_unfinished(path).actions == 1
    assert ReviewQueue.recover(path).table.cars == queue.table.cars


def reviewed_then_changed(path, change):
    """Review some cars, then let another program change the table."""
    queue = ReviewQueue.open(path, reviewer="ann")
    queue.accept(0)
    queue.flip(1)
    queue.flip(2)
    queue.undo()
    queue.delete(3)
    queue.add(Car(31, 41, 40, 20, heading_cw_from_up_deg=99))
    queue.close()
    table = read_cars(path)
    write_cars(table.with_cars(change(list(table.cars))), path)
    return queue


def test_a_changed_table_is_not_replayed_unasked(path):
    reviewed_then_changed(path, lambda cars: cars[::-1])
    assert find_unfinished(path).is_table_changed
    with pytest.raises(TableChangedError) as caught:
        ReviewQueue.recover(path)
    assert caught.value.unfinished.actions == 6
    assert journal_path(path).exists()


def test_a_shuffled_table_is_replayed_by_place(path):
    queue = reviewed_then_changed(path, lambda cars: cars[::-1])
    again = ReviewQueue.recover(path, replay_changed=True)
    assert again.conflicts == ()

    def by_place(table):
        return {
            (c.cx, c.cy): (c.heading_cw_from_up_deg, c.status, c.reviewer)
            for c in table
        }

    assert by_place(again.table) == by_place(queue.table)


def test_what_was_decided_about_is_kept_when_the_model_says_otherwise(path):
    def newer_model(cars):
        return [car.with_heading(1.0) if car.cx < 150 else car for car in cars]

    reviewed_then_changed(path, newer_model)
    again = ReviewQueue.recover(path, replay_changed=True)
    assert again.car(0).heading_cw_from_up_deg == 0  # accepted as it was then
    assert again.car(1).heading_cw_from_up_deg == 240


def test_cars_that_are_gone_are_reported_and_undo_stays_in_step(path):
    reviewed_then_changed(path, lambda cars: [c for c in cars if c.cx != 100])
    again = ReviewQueue.recover(path, replay_changed=True)
    assert len(again.conflicts) == 1
    assert "flip of car car-00002 at (100, 51)" in again.conflicts[0]
    table = again.table
    while again.undo():
        pass
    assert len(again) == 5
    while again.redo():
        pass
    assert again.table == table


def test_a_replayed_review_survives_the_next_crash(path):
    reviewed_then_changed(path, lambda cars: cars[::-1])
    again = ReviewQueue.recover(path, replay_changed=True)
    again.flip(0)
    again.close()
    third = ReviewQueue.recover(path)
    assert third.table.cars == again.table.cars
    aside = [p for p in path.parent.iterdir() if p.name.count(".review.2")]
    assert len(aside) == 1  # the old journal


def test_a_journal_of_another_table_is_named(path):
    queue = ReviewQueue.open(path)
    queue.flip(1)
    queue.close()
    text = journal_path(path).read_text().replace("car-00002", "car-99999")
    journal_path(path).write_text(text)
    with pytest.raises(JournalError, match=r"action 1 cannot be done: .*no such car"):
        ReviewQueue.recover(path)


def test_a_record_that_is_no_action_is_named(path):
    queue = ReviewQueue.open(path)
    queue.flip(1)
    queue.close()
    with journal_path(path).open("a") as stream:
        stream.write('{"op": "do", "surprise": 1}\n')
    with pytest.raises(JournalError, match="action 2 cannot be done"):
        ReviewQueue.recover(path)


REVIEWER = """
    import sys, time
    from napari_roteq._review.queue import ReviewQueue
    queue = ReviewQueue.open(sys.argv[1], reviewer="ann")
    for step in range(10_000):
        row = step % len(queue)
        (queue.flip if step % 3 else queue.accept)(row)
        if step % 5 == 0:
            queue.undo()
        print(step, flush=True)
        time.sleep(0.001)
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_a_killed_review_is_recovered_whole(path):
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(REVIEWER), str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in process.stdout:
        if int(line) == 20:
            break
    process.send_signal(signal.SIGKILL)
    # What it had said by then it must have kept.
    said = [int(line) for line in process.stdout.read().split("\n") if line] or [20]
    process.wait()
    assert process.returncode == -signal.SIGKILL

    recovered = ReviewQueue.recover(path)
    expected = ReviewQueue(read_cars(path), reviewer="ann")
    states = []
    for step in range(said[-1] + 3):
        row = step % len(expected)
        (expected.flip if step % 3 else expected.accept)(row)
        states.append(decided(expected))
        if step % 5 == 0:
            expected.undo()
            states.append(decided(expected))
        if step == said[-1]:
            known = len(states) - 1
    assert decided(recovered) in states[known:]
    assert recovered.can_undo


def decided(queue):
    """Give what was decided, without the times."""
    return [(c.heading_cw_from_up_deg, c.status, c.reviewer) for c in queue.table]
