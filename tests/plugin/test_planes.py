from napari_roteq._planes import PlaneOrder, steer_planes
from roteq_core.jobs import Report
from roteq_core.serving.worker import Control, Outcome


def take_all(order):
    return [order.take() for _ in range(order.total)]


def test_planes_come_in_order_when_nobody_looks():
    order = PlaneOrder(range(4))
    assert take_all(order) == [0, 1, 2, 3]
    assert order.take() is None
    assert order.peek() is None


def test_the_plane_looked_at_comes_first_then_its_neighbors():
    order = PlaneOrder(range(5), focus=3)
    assert take_all(order) == [3, 2, 4, 1, 0]


def test_the_focus_may_move_and_may_be_a_plane_that_is_done():
    order = PlaneOrder(range(6))
    assert order.take() == 0
    order.look_at(5)
    assert [order.take(), order.take()] == [5, 4]
    order.look_at(0)
    assert order.peek() == 1
    assert order.take() == 1


def test_planes_of_time_series_have_tuples_as_indices():
    order = PlaneOrder([(t, z) for t in range(2) for z in range(3)], focus=(1, 2))
    assert order.take() == (1, 2)


def add_ten(plane):
    yield Report(1, 1, "adding")
    return Outcome(plane + 10)


def drained(steered):
    reports = []
    while True:
        try:
            reports.append(next(steered))
        except StopIteration as end:
            return reports, end.value


def test_every_plane_is_read_once_and_progress_counts_planes():
    was_read = []

    def read(index):
        was_read.append(index)
        return index

    steered = steer_planes(PlaneOrder(range(3)), read, add_ten, Control())
    reports, outcome = drained(steered)
    assert sorted(was_read) == [0, 1, 2]
    results = [report.values["result"] for report in reports if report.values]
    assert results == [10, 11, 12]
    assert [report.done for report in reports] == [0, 1, 1, 2, 2, 3]
    assert reports[0].text == "plane 1 of 3: adding"
    assert outcome == Outcome(None)


def test_a_stopped_plane_ends_the_stack_without_a_result():
    def stop(plane):
        yield Report(0, 1)
        control.stop()
        return Outcome(None, is_stopped=True)

    control = Control()
    reports, outcome = drained(steer_planes(PlaneOrder([0, 1]), int, stop, control))
    assert not any(report.values for report in reports)
    assert outcome.is_stopped
