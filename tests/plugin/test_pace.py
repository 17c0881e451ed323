import pytest

from napari_roteq._pace import Pace, spell_duration


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_time_left_follows_the_steps_and_leaves_out_the_start(clock):
    pace = Pace(clock)
    clock.now += 30  # loading a model
    pace.step(1, 5)
    assert pace.time_left() is None
    clock.now += 2
    pace.step(2, 5)
    assert pace.time_left() == pytest.approx(6)
    clock.now += 1
    assert pace.time_left() == pytest.approx(5)


def test_time_left_never_falls_below_zero(clock):
    pace = Pace(clock)
    pace.step(1, 3)
    clock.now += 1
    pace.step(2, 3)
    clock.now += 50
    assert pace.time_left() == 0


def test_nothing_is_estimated_without_a_total(clock):
    pace = Pace(clock)
    pace.step(1, 0)
    clock.now += 1
    pace.step(2, 0)
    assert pace.time_left() is None


def test_a_new_phase_starts_a_new_estimate(clock):
    pace = Pace(clock)
    for done in (1, 2):
        clock.now += 10
        pace.step(done, 2)
    pace.step(0, 4)
    assert pace.time_left() is None
    clock.now += 1
    pace.step(1, 4)
    assert pace.time_left() == pytest.approx(3)


def test_pauses_do_not_count(clock):
    pace = Pace(clock)
    clock.now += 2
    pace.pause()
    clock.now += 60
    pace.pause()
    assert pace.elapsed() == pytest.approx(2)
    pace.resume()
    pace.resume()
    clock.now += 3
    assert pace.elapsed() == pytest.approx(5)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (150, "2 min"), (4800, "1 h 20 min")],
)
def test_durations_are_spelled_for_people(seconds, text):
    assert spell_duration(seconds) == text
